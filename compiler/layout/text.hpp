// Printed stages, for people (--dump-after).
#pragma once

#include <string>

#include "compiler/layout/laid_graph.hpp"
#include "compiler/layout/state.hpp"

namespace systole::layout {

// The problem file of the statement (it reads back as a problem), each operator followed by what its rows mean: all
// layouts with those of constants, mechanism, and the terms of the price, as comments.
[[nodiscard]] std::string to_text(const Statement& statement, const graph::Graph& graph);
// The graph text with layout, element type, mechanism and predicted cycles behind every tensor.
[[nodiscard]] std::string to_text(const LaidGraph& laid);
// The same for Graphviz.
[[nodiscard]] std::string to_dot(const LaidGraph& laid);
// "column 120, vector_element 40 (total 190)": terms that are not 0.
[[nodiscard]] std::string to_string(const Price& price);

}  // namespace systole::layout
