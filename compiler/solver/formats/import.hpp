// A problem from any form that is read, told apart by the file's ending.
//
// .json: json.hpp. .wcnf, .wcsp, .cfn, .lp, .opb: as problem_of in wcnf.hpp, wcsp.hpp and linear.hpp says. Any other ending: our own texts
// (text.hpp). Throws Error with the place of the mistake.
#pragma once

#include <string>

#include "compiler/solver/problem.hpp"

namespace systole::solver::formats {

Problem imported(const std::string& path);

}  // namespace systole::solver::formats
