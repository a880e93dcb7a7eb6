// The reference evaluator: the values that every simulated output is compared with. Independent of layouts, machines and
// lowering; contraction and convolution through Eigen. Floating point in fp32 with reductions accumulated in double.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "compiler/graph/graph.hpp"

namespace systole::graph {

// One operator on values. Throws Error naming the node for data-dependent faults (index out of range).
[[nodiscard]] Array evaluate(const Graph& graph, const Node& node, const std::vector<const Array*>& inputs);

// The whole graph; inputs by tensor name. Constants without data are a user's mistake (Error). Intermediates are freed
// after their last use.
[[nodiscard]] std::vector<Array> evaluate(const Graph& graph, const std::map<std::string, Array>& inputs);

// Seeded values for an input or an absent weight: floats normal(0, 1) scaled by 1/sqrt(fan-in) for weights; integers small
// and non-negative; deterministic in (seed, name, shape, type).
[[nodiscard]] Array random_array(const Tensor& tensor, std::uint64_t seed, bool weight);

}  // namespace systole::graph
