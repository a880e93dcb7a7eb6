// Problems for tests: random ones, the paper's figures, and its hardness constructions.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "compiler/solver/problem.hpp"
#include "isa/base/random.hpp"

namespace systole::solver::test {

struct Shape {
  int operators = 6;
  int most_inputs = 3;
  int most_layouts = 4;
  int most_rows = 6;
  Cost most_cost = 20;
  int impossible_percent = 0;  // rows and conversions of infinite cost
};

// Every operator reads up to most_inputs earlier tensors, the same one possibly twice.
Problem random_problem(Random& random, const Shape& shape);

// Operators in a grid: each reads its neighbours above and to the left. Random rows and conversions.
Problem grid_problem(Random& random, int width, int operators, int layouts, int rows);

// Figure 1: A, B inputs; C = matmul(A, B); D = reduce(C); R = add(D, B). Layouts RM, CM. strided: cost of the
// row-major reduce; transpose: cost of converting R.
Problem figure1(Cost strided, Cost transpose);

// Figure 2: `branches` pairs Conv -> BatchNorm reading one input, all feeding one Add. Layouts NHWC, NCHW.
Problem figure2(int branches);

using Clause = std::vector<std::pair<int, bool>>;  // variable, sign
// Theorem 1: optimum 0 exactly when the formula is satisfiable.
Problem three_sat(int variables, const std::vector<Clause>& clauses);
// Theorem 3: optimum is the size of a least odd cycle transversal.
Problem odd_cycle_transversal(int vertices, const std::vector<std::pair<int, int>>& edges);

Tensor tensor_with(int layouts, Cost conversion);
Operator source(TensorId output, std::vector<Cost> costs);

// Folder of instances shared outside the repository, or empty; announces loudly when it is missing.
std::string shared_folder();

}  // namespace systole::solver::test
