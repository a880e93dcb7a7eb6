// A copy of a graph without what no output needs.
#pragma once

#include <map>
#include <string>

#include "compiler/graph/graph.hpp"

namespace systole::frontend {

// Graph inputs stay, in order, used or not; nodes keep their order. `names` gives tensors the model's own names; all
// names are made unique.
[[nodiscard]] graph::Graph compact(const graph::Graph& graph,
                                   const std::map<graph::TensorId, std::string>& names);

}  // namespace systole::frontend
