// Weighted MaxSAT, the paper's encoding, as WCNF text.
//
// Old dialect: "p wcnf VARIABLES CLAUSES TOP", hard clauses weigh TOP. New dialect (evaluations since 2022): no header,
// hard clauses start with 'h'. Literals as in DIMACS, clauses end with 0, comment lines start with 'c'.
// Errors: parse_wcnf throws Error with line numbers.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/solver/problem.hpp"

namespace systole::solver::formats {

struct Wcnf {
  int variables = 0;
  std::vector<std::vector<int>> hard;
  std::vector<std::pair<Cost, std::vector<int>>> soft;  // weight > 0, paid when no literal is true
  bool operator==(const Wcnf&) const = default;
};

// Variable of row r of operator o is row_variable[o][r] (0: impossible row, has none).
struct WcnfOfProblem {
  Wcnf formula;
  IdVector<OperatorId, std::vector<int>> row_variable;
};
WcnfOfProblem wcnf_of(const Problem& problem);

enum class WcnfDialect { old_header, new_marks };
std::string print_wcnf(const Wcnf& formula, WcnfDialect dialect);
Wcnf parse_wcnf(std::string_view text, std::string_view name);  // either dialect

// A formula as Layout Selection: a variable is a tensor with layouts F and T whose conversions are impossible, a clause
// an operator that reads its variables. The optimum is the least weight of violated soft clauses. Clauses longer than
// 8 literals become chains of auxiliary operators.
Problem problem_of(const Wcnf& formula);

}  // namespace systole::solver::formats
