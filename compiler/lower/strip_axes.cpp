#include "compiler/lower/strip_axes.hpp"

#include <algorithm>
#include <numeric>

#include "compiler/layout/iteration_space.hpp"

namespace systole::lower {
namespace {

using graph::TensorId;

std::size_t at(int i) {
  return static_cast<std::size_t>(i);
}

std::int64_t outside(const graph::Shape& shape, std::size_t end) {
  return std::accumulate(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(end),
                         std::int64_t{1}, std::multiplies<>());
}

// The axis of `to` that is this axis of `from` under a reshape: same extent, same elements outside it. -1: none.
int reshaped_axis(const graph::Shape& from, int axis, const graph::Shape& to) {
  for (std::size_t i = 0; i < to.size(); ++i) {
    if (to[i] == from[at(axis)] && outside(to, i) == outside(from, at(axis))) {
      return static_cast<int>(i);
    }
  }
  return -1;
}

}  // namespace

std::optional<std::vector<int>> axes_along(const graph::Graph& graph, graph::NodeId node,
                                           TensorId known, int axis) {
  const graph::Node& n = graph.nodes[node];
  const auto shape = [&graph](TensorId tensor) -> const graph::Shape& {
    return graph.tensors[tensor].shape;
  };
  if (std::holds_alternative<graph::Reshape>(n.op)) {
    const bool forward = known == n.inputs[0];
    const int other = reshaped_axis(shape(known), axis, shape(forward ? n.output : n.inputs[0]));
    if (other < 0) {
      return std::nullopt;
    }
    return forward ? std::vector{axis, other} : std::vector{other, axis};
  }
  const layout::IterationSpace space = layout::iteration_space(graph, n);
  std::vector<TensorId> operands = n.inputs;
  operands.push_back(n.output);
  int iterator = -1;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (operands[i] == known) {
      if (iterator >= 0 && space.operands[i][at(axis)] != iterator) {
        return std::nullopt;  // the same tensor twice, in different roles
      }
      iterator = space.operands[i][at(axis)];
    }
  }
  std::vector<int> out;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const auto& own = space.operands[i];
    const auto found = std::ranges::find(own, iterator);
    const int place = found == own.end() ? -1 : static_cast<int>(found - own.begin());
    const bool there = place >= 0 && shape(operands[i])[at(place)] == shape(known)[at(axis)];
    out.push_back(there ? place : -1);
  }
  if (out.back() < 0) {
    return std::nullopt;
  }
  if (const auto* reduce = std::get_if<graph::Reduce>(&n.op)) {
    if (std::ranges::find(reduce->axes, out.front()) != reduce->axes.end()) {
      return std::nullopt;
    }
  }
  return out;
}

Stretched before_reshape(const graph::Shape& from, const graph::Shape& to, int axis) {
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (from[i] > 1 && from[i] % to[at(axis)] == 0 && outside(from, i) == outside(to, at(axis))) {
      return {static_cast<int>(i), from[i] / to[at(axis)]};
    }
  }
  return {};
}

}  // namespace systole::lower
