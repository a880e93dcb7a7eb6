// (a b) * 2^n + m = ((a * 2^n) b) + m: a sum out of PSUM takes Vector as long as a copy, but not with a scale before it. So
// the power of two behind a product that a tensor is added to (a mask to scores) goes to the smaller operand, and past
// movements to where that is made. Powers of two change no digit.
#include <cmath>

#include "compiler/passes/passes.hpp"
#include "compiler/passes/rewrite.hpp"

namespace systole::passes {
namespace {

using graph::Contraction;
using graph::Graph;
using graph::Map;
using graph::MapFunction;
using graph::Node;
using graph::Reshape;
using graph::Tensor;
using graph::TensorId;
using graph::Transpose;

constexpr std::int64_t least_ratio = 2;  // elements of the product to those of its operand
constexpr int largest_exponent = 16;

// The scale, if it is such a power of two.
bool is_power(const Tensor& tensor) {
  if (tensor.kind != graph::TensorKind::constant || tensor.data == nullptr ||
      !graph::is_float(tensor.type) || graph::elements(tensor.shape) != 1) {
    return false;
  }
  int exponent = 0;
  return std::frexp(graph::get(*tensor.data, 0), &exponent) == 0.5 &&
         std::abs(exponent) <= largest_exponent;
}

const Node* movement(const Rewriter& rewriter, TensorId tensor) {
  const Node* transpose = rewriter.made_by<Transpose>(tensor);
  return transpose != nullptr ? transpose : rewriter.made_by<Reshape>(tensor);
}

// The scaled tensor, as the same movements of what they move, scaled.
TensorId scaled(Rewriter& rewriter, TensorId tensor, const Node& scale, TensorId factor) {
  const Node* found = rewriter.single_use(tensor) ? movement(rewriter, tensor) : nullptr;
  if (found == nullptr) {
    return graph::add_node(rewriter.graph, scale.origin, scale.op, {tensor, factor});
  }
  const Node moved = *found;
  const graph::Shape shape = rewriter.tensor(tensor).shape;
  const TensorId inner = scaled(rewriter, moved.inputs[0], scale, factor);
  if (std::holds_alternative<Reshape>(moved.op)) {
    return graph::add_reshape(rewriter.graph, moved.origin, inner, shape);
  }
  return graph::add_node(rewriter.graph, moved.origin, moved.op, {inner});
}

}  // namespace

std::int64_t advance_scales(Graph& graph, const Options&) {
  return rewrite(graph, [](Rewriter& rewriter, Node& node, const Tensor& output) {
    const auto* sum = std::get_if<Map>(&node.op);
    if (sum == nullptr || sum->function != MapFunction::add) {
      return keep();
    }
    for (std::size_t i = 0; i < 2; ++i) {
      const Node* found = rewriter.made_by_map(node.inputs[i], MapFunction::multiply);
      if (found == nullptr || !rewriter.single_use(node.inputs[i]) ||
          graph::elements(rewriter.tensor(node.inputs[1 - i]).shape) == 1) {
        continue;
      }
      const Node scale = *found;
      const std::size_t factor = is_power(rewriter.tensor(scale.inputs[1])) ? 1 : 0;
      const TensorId value = scale.inputs[1 - factor];
      const Node* product = rewriter.made_by<Contraction>(value);
      if (!is_power(rewriter.tensor(scale.inputs[factor])) || product == nullptr ||
          !rewriter.single_use(value) || rewriter.tensor(value).shape != output.shape) {
        continue;
      }
      const Contraction op = std::get<Contraction>(product->op);
      const std::string origin = product->origin;
      std::vector<TensorId> operands = product->inputs;
      const auto elements = [&](std::size_t operand) {
        return graph::elements(rewriter.tensor(operands[operand]).shape);
      };
      const std::size_t smaller = elements(1) < elements(0) ? 1 : 0;
      const Tensor& small = rewriter.tensor(operands[smaller]);
      if (least_ratio * elements(smaller) > graph::elements(output.shape) ||
          small.kind != graph::TensorKind::intermediate ||
          !rewriter.tensor(scale.inputs[factor]).shape.empty()) {
        continue;
      }
      operands[smaller] = scaled(rewriter, operands[smaller], scale, scale.inputs[factor]);
      node.inputs[i] = graph::add_node(rewriter.graph, origin, op, operands);
      return changed();
    }
    return keep();
  });
}

}  // namespace systole::passes
