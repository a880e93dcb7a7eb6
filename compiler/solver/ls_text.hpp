// The plain .ls text (numbers only). Public entry points are parse_problem and print_ls in text.hpp.
#pragma once

#include <string_view>

#include "compiler/solver/problem.hpp"

namespace systole::solver {

Problem parse_ls(std::string_view text, std::string_view name);

}  // namespace systole::solver
