// Facts about nodes that need no cost model. Counts saturate at the largest int64.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "compiler/graph/graph.hpp"

namespace systole::graph {

// Multiplications with accumulation of a contraction or convolution (padding counted); 0 for all
// other operators.
[[nodiscard]] std::int64_t multiply_accumulates(const Graph& graph, const Node& node);

[[nodiscard]] std::int64_t multiply_accumulates(const Graph& graph);

// Arithmetic operations: two per multiply-accumulate; one per result element of a Map (casts and
// copies none); one per element read of reductions; kernel elements per result of a Window; one per
// update of a combining scatter; 0 for movement.
[[nodiscard]] std::int64_t flops(const Graph& graph, const Node& node);

// Elements of all constants that some node reads or that are outputs, each counted once.
[[nodiscard]] std::int64_t parameters(const Graph& graph);

// The dataflow graph as a graph of operators: an edge (producer, consumer) by node index for every intermediate that a node
// reads. Neither inputs nor constants are vertices.
[[nodiscard]] std::vector<std::pair<int, int>> operator_edges(const Graph& graph);

// Whether the operator only moves, selects by index or relabels: no arithmetic on its elements.
[[nodiscard]] bool is_movement(const Op& op);

}  // namespace systole::graph
