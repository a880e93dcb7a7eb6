// 0/1 linear programs, as CPLEX LP text (CBC, GLPK) and OPB text (clasp, minisat+).
//
// The strong formulation: a 0/1 variable per row; per tensor and pair of layouts (from, to) one that pays for the
// conversion. Reading layout l' needs the tensor produced in l' or converted to it; converting from l needs it produced
// in l. The linear relaxation of this form is as tight as the bound `exact` starts from.
//
// Read back: programs with whole numbers in which every variable is 0/1 and which are minimised. Errors: parse_lp and
// parse_opb throw Error with line numbers; problem_of throws it for negative prices and for constraints whose partial
// sums are too many for a table.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/solver/problem.hpp"

namespace systole::solver::formats {

struct LinearConstraint {
  std::vector<std::pair<Cost, int>> terms;  // coefficient, variable
  bool equality = false;                    // == right instead of >= right
  Cost right = 0;
};

struct LinearProgram {
  int variables = 0;                            // all 0/1
  std::vector<std::pair<Cost, int>> objective;  // minimised
  std::vector<LinearConstraint> constraints;
};

LinearProgram linear_program_of(const Problem& problem);
std::string print_lp(const LinearProgram& program);
std::string print_opb(const LinearProgram& program);
LinearProgram parse_lp(std::string_view text, std::string_view name);
LinearProgram parse_opb(std::string_view text, std::string_view name);

// A program as Layout Selection: a variable is a tensor with layouts 0 and 1 whose conversions are impossible, a
// constraint one operator or a chain of them.
Problem problem_of(const LinearProgram& program);

}  // namespace systole::solver::formats
