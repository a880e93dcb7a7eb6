// The treewidth of a model's graph, under each convention of what a vertex is. Papers differ; so do the widths.
#pragma once

#include <string>

#include "compiler/graph/graph.hpp"

namespace systole::driver {

// One line per convention: a width, or an interval that contains it.
std::string widths_text(const graph::Graph& graph);

}  // namespace systole::driver
