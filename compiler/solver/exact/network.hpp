// A cost network: variables with small domains and dense tables over a few of them; minimise the sum of the tables.
//
// All table entries are non-negative. What the variables stand for is the business of residual.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "compiler/solver/cost.hpp"

namespace systole::solver::exact {

// Row-major over scope, last variable fastest.
struct Factor {
  std::vector<int> scope;
  std::vector<Cost> table;
};

struct Network {
  std::vector<int> domain;  // per variable
  std::vector<Factor> factors;
  Cost constant = 0;  // of all solutions

  int add_variable(int size) {
    domain.push_back(size);
    return static_cast<int>(domain.size()) - 1;
  }
};

// Entry of a factor under an assignment of all variables.
Cost value_at(const Network& network, const Factor& factor, const std::vector<int>& value);

// Subtracts every table's minimum and adds it to the constant.
void normalise(Network& network);

// Parts that share no variable, in order of their lowest variable. variables[i] of the part is the variable of the
// original network that its variable i stands for. Factors without variables go into the constant of the first part.
struct Part {
  Network network;
  std::vector<int> variables;
};
std::vector<Part> split(Network network);

}  // namespace systole::solver::exact
