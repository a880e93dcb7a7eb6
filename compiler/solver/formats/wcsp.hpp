// Cost-function networks (weighted CSP), as .wcsp and .cfn text for toulbar2.
//
// Variables: one per operator (its possible rows) and, for tensors read by two or more operators, one whose values are
// sets of layouts made available (or, for many layouts, one yes/no variable per layout). Functions have at most two
// variables. Forbidden tuples cost `top`.
// Errors: parse_wcsp throws Error with line numbers, parse_cfn with the name of the function. Read of .cfn: minimisation,
// listed domains, cost tables; no negative or fractional costs and no global functions.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/solver/problem.hpp"

namespace systole::solver::formats {

struct CostFunction {
  std::vector<int> scope;
  Cost otherwise = 0;  // cost of tuples not listed
  std::vector<std::pair<std::vector<int>, Cost>> tuples;
  bool operator==(const CostFunction&) const = default;
};

struct Wcsp {
  std::vector<int> domains;
  std::vector<CostFunction> functions;
  Cost top = 1;  // costs at or above it are forbidden
  bool operator==(const Wcsp&) const = default;
};

// Needs an assignment of finite cost to be possible per operator; rows of infinite cost are left out.
Wcsp wcsp_of(const Problem& problem);

std::string print_wcsp(const Wcsp& network, std::string_view title);
std::string print_cfn(const Wcsp& network, std::string_view title);
Wcsp parse_wcsp(std::string_view text, std::string_view name);
Wcsp parse_cfn(std::string_view text, std::string_view name);

// A network as Layout Selection: a variable is a tensor whose conversions are impossible, a function an operator that
// reads its variables.
Problem problem_of(const Wcsp& network);

}  // namespace systole::solver::formats
