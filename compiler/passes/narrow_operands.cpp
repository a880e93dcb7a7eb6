// Maps broadcast by themselves: an operand that was expanded first is read unexpanded, and a
// constant that is the same everywhere is read as a scalar, as long as the other operands still
// give the result its shape.
#include <algorithm>

#include "compiler/passes/passes.hpp"
#include "compiler/passes/rewrite.hpp"

namespace systole::passes {
namespace {

using graph::Graph;
using graph::Node;
using graph::Shape;
using graph::Tensor;
using graph::TensorId;

// The shape that the operands broadcast to (they do), with operand `i` read as `shape` instead.
Shape broadcast_with(const Rewriter& rewriter, const Node& node, std::size_t i,
                     const Shape& shape) {
  Shape result;
  for (std::size_t j = 0; j < node.inputs.size(); ++j) {
    const Shape& own = j == i ? shape : rewriter.tensor(node.inputs[j]).shape;
    if (own.size() > result.size()) {
      result.insert(result.begin(), own.size() - result.size(), 1);
    }
    for (std::size_t axis = 0; axis < own.size(); ++axis) {
      std::int64_t& extent = result[result.size() - own.size() + axis];
      extent = extent == 1 ? own[axis] : extent;
    }
  }
  return result;
}

graph::Array scalar_of(const Tensor& tensor) {
  graph::Array scalar = graph::make_array(tensor.type, {});
  std::copy_n(tensor.data->data.begin(), scalar.data.size(), scalar.data.begin());
  return scalar;
}

bool narrow(Rewriter& rewriter, Node& node, std::size_t i, const Tensor& output) {
  const TensorId operand = node.inputs[i];
  if (const Node* expand = rewriter.made_by<graph::Expand>(operand)) {
    const TensorId before = expand->inputs.front();
    if (broadcast_with(rewriter, node, i, rewriter.tensor(before).shape) == output.shape) {
      node.inputs[i] = before;
      return true;
    }
  }
  const Tensor tensor = rewriter.tensor(operand);
  if (!tensor.shape.empty() && splat_value(tensor).has_value() &&
      broadcast_with(rewriter, node, i, {}) == output.shape) {
    node.inputs[i] = graph::add_constant(rewriter.graph, tensor.name, scalar_of(tensor));
    return true;
  }
  return false;
}

}  // namespace

std::int64_t narrow_operands(Graph& graph, const Options&) {
  return rewrite(graph, [](Rewriter& rewriter, Node& node, const Tensor& output) {
    bool any = false;
    if (std::holds_alternative<graph::Map>(node.op)) {
      for (std::size_t i = 0; i < node.inputs.size(); ++i) {
        any = narrow(rewriter, node, i, output) || any;
      }
    }
    return any ? changed() : keep();
  });
}

}  // namespace systole::passes
