// The counts of work behind the prices of a laid-out graph: what calibration fits coefficients to.
#pragma once

#include "compiler/layout/laid_graph.hpp"
#include "compiler/layout/state.hpp"

namespace systole::layout {

// By node of `laid.graph`, conversions included. `laid` is the result of apply(graph, statement, ...).
[[nodiscard]] IdVector<graph::NodeId, Features> features(const graph::Graph& graph,
                                                         const Statement& statement,
                                                         const LaidGraph& laid);

}  // namespace systole::layout
