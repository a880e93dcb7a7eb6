// 0/1 linear programs, as CPLEX LP text (CBC, GLPK) and OPB text (clasp, minisat+).
//
// The strong formulation: a 0/1 variable per row; per tensor and pair of layouts (from, to) one that pays for the
// conversion. Reading layout l' needs the tensor produced in l' or converted to it; converting from l needs it produced
// in l. The linear relaxation of this form is as tight as the bound `exact` starts from.
#pragma once

#include <string>
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
  int row_variables = 0;                        // the first ones; the others follow from them
  std::vector<std::pair<Cost, int>> objective;  // minimised
  std::vector<LinearConstraint> constraints;
};

LinearProgram linear_program_of(const Problem& problem);
std::string print_lp(const LinearProgram& program);
std::string print_opb(const LinearProgram& program);

}  // namespace systole::solver::formats
