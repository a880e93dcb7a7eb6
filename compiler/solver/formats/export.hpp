// A problem in any of the forms that other solvers read, by name.
//
// text, json, ls: ours; wcnf, wcnf-old: MaxSAT; wcsp, cfn: weighted constraints; lp, opb: linear; gr: the operator graph (PACE);
// td: a tree decomposition of it.
// Throws Error for another name.
#pragma once

#include <string>

#include "compiler/solver/problem.hpp"

namespace systole::solver::formats {

std::string exported(const Problem& problem, const std::string& format);

}  // namespace systole::solver::formats
