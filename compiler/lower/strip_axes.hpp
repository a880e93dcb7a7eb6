// Where the iterator that strips are cut along lies in the operands of one node.
#pragma once

#include <optional>
#include <vector>

#include "compiler/graph/graph.hpp"

namespace systole::lower {

// Its axis in each of the node's inputs and in its output (-1: lacks it), given the axis in one of them. Nothing if it does
// not reach the output.
[[nodiscard]] std::optional<std::vector<int>> axes_along(const graph::Graph& graph,
                                                         graph::NodeId node, graph::TensorId known,
                                                         int axis);

// The axis of `from` that the outermost part of is this axis of `to` under a reshape: an element of it is that many of
// the other, neighbours. -1: none.
struct Stretched {
  int axis = -1;
  std::int64_t factor = 1;
};
[[nodiscard]] Stretched before_reshape(const graph::Shape& from, const graph::Shape& to, int axis);

}  // namespace systole::lower
