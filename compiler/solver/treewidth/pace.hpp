// PACE formats: graphs (.gr) and tree decompositions (.td), vertices and bags numbered from 1.
//
//   p tw <vertices> <edges>          s td <bags> <largest bag> <vertices>
//   <u> <v>                          b <bag> <vertices...>
//                                    <bag> <bag>
// Lines starting with 'c' are comments. Reading throws Error with line numbers.
#pragma once

#include <string>
#include <string_view>

#include "compiler/solver/treewidth/graph.hpp"

namespace systole::solver::treewidth {

std::string print_gr(const Graph& graph);
Graph parse_gr(std::string_view text, std::string_view name);
std::string print_td(const Graph& graph, const Decomposition& decomposition);
Decomposition parse_td(std::string_view text, std::string_view name);

}  // namespace systole::solver::treewidth
