// The reference evaluator: the values that every simulated output is compared with. Independent of
// layouts, machines and lowering; contraction and convolution through Eigen. Floating point in fp32
// with reductions accumulated in double.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "compiler/graph/graph.hpp"

namespace systole::graph {

// One operator on values. Throws Error naming the node for data-dependent faults (index out of
// range).
[[nodiscard]] Array evaluate(const Graph& graph, const Node& node,
                             const std::vector<const Array*>& inputs);

// The same outside a graph; `output` is what infer answers for the operands.
[[nodiscard]] Array evaluate(const Op& op, const std::string& origin,
                             const std::vector<const Array*>& inputs, const TensorType& output);

// The whole graph; inputs by tensor name. Constants without data are a user's mistake (Error).
// Intermediates are freed after their last use.
[[nodiscard]] std::vector<Array> evaluate(const Graph& graph,
                                          const std::map<std::string, Array>& inputs);

// Seeded values for an input or an absent weight, deterministic in (seed, name, shape, type).
// Floats are normal(0, 1). For weights they are scaled by 1/sqrt(fan-in), where the fan-in is taken
// from the shape: the smaller extent of a matrix, axis 1 of rank 3, all axes but the first above;
// vectors (one extent above 1: biases, scales, variances) are uniform in [0.5, 1.5) so that none is
// negative or near 0. Integers are 0 or 1: valid indices of any table with two rows.
[[nodiscard]] Array random_array(const Tensor& tensor, std::uint64_t seed, bool weight);

}  // namespace systole::graph
