// y = conv(x, W) * c = conv(x, W * c) if c varies along output channels only; the same for a
// contraction and the axes of the result that come from its constant operand. (y + d) * c = y * c +
// d * c lets a scale pass an addition of a constant.
#include <algorithm>

#include "compiler/graph/evaluate.hpp"
#include "compiler/passes/passes.hpp"
#include "compiler/passes/rewrite.hpp"

namespace systole::passes {
namespace {

using graph::Array;
using graph::Contraction;
using graph::Convolution;
using graph::Graph;
using graph::Map;
using graph::MapFunction;
using graph::Node;
using graph::Shape;
using graph::Tensor;
using graph::TensorId;
using graph::TensorType;

bool has_values(const Tensor& tensor) {
  return tensor.kind == graph::TensorKind::constant && tensor.data != nullptr &&
         graph::is_float(tensor.type);
}

Array apply(MapFunction function, const Array& a, const Array& b) {
  const graph::Op op = Map{.function = function};
  const TensorType type =
      graph::infer(op, "fold_scales", {{a.type, a.shape}, {b.type, b.shape}}, {});
  return graph::evaluate(op, "fold_scales", {&a, &b}, type);
}

// `factor`, aligned from the right with a result of this rank, as an array whose axes are those in
// `axes` (axes of the result, or -1 for extent 1). Nothing if it varies along another axis.
std::optional<Array> lay_along(const Array& factor, std::size_t rank,
                               const std::vector<int>& axes) {
  Array aligned = factor;
  aligned.shape.insert(aligned.shape.begin(), rank - factor.shape.size(), 1);
  graph::Transpose order;
  Shape shape;
  for (const int axis : axes) {
    shape.push_back(axis < 0 ? 1 : aligned.shape[static_cast<std::size_t>(axis)]);
    if (axis >= 0) {
      order.perm.push_back(axis);
    }
  }
  Shape moved;
  for (std::size_t i = 0; i < rank; ++i) {
    if (std::find(axes.begin(), axes.end(), static_cast<int>(i)) == axes.end()) {
      if (aligned.shape[i] != 1) {
        return std::nullopt;
      }
      order.perm.push_back(static_cast<int>(i));
    }
  }
  for (const int axis : order.perm) {
    moved.push_back(aligned.shape[static_cast<std::size_t>(axis)]);
  }
  Array result = graph::evaluate(order, "fold_scales", {&aligned}, {aligned.type, moved});
  result.shape = shape;
  return result;
}

// Which operand is the constant, and which axis of the result each of its axes is (-1: none).
struct Weights {
  std::size_t operand = 0;
  std::vector<int> axes;
};

std::optional<Weights> weights_of(const Rewriter& rewriter, const Node& node) {
  if (std::holds_alternative<Convolution>(node.op) && has_values(rewriter.tensor(node.inputs[1]))) {
    Weights weights{1, std::vector<int>(rewriter.tensor(node.inputs[1]).shape.size(), -1)};
    weights.axes[0] = 1;
    return weights;
  }
  if (const auto* contraction = std::get_if<Contraction>(&node.op)) {
    for (const std::size_t operand : {std::size_t{1}, std::size_t{0}}) {
      if (!has_values(rewriter.tensor(node.inputs[operand]))) {
        continue;
      }
      Weights weights{operand, {}};
      for (const int label : operand == 1 ? contraction->rhs : contraction->lhs) {
        const auto found = std::find(contraction->out.begin(), contraction->out.end(), label);
        weights.axes.push_back(found == contraction->out.end()
                                   ? -1
                                   : static_cast<int>(found - contraction->out.begin()));
      }
      return weights;
    }
  }
  return std::nullopt;
}

// A new product like `made`'s with weights scaled by `factor`, or nothing if `made` is no such
// product.
std::optional<TensorId> scale_product(Rewriter& rewriter, TensorId made, MapFunction function,
                                      const Array& factor, const std::string& origin) {
  const Tensor& result = rewriter.tensor(made);
  if (result.kind != graph::TensorKind::intermediate || !rewriter.single_use(made)) {
    return std::nullopt;
  }
  Node product = rewriter.graph.nodes[result.producer];
  const std::optional<Weights> weights = weights_of(rewriter, product);
  if (!weights.has_value() || factor.shape.size() > result.shape.size()) {
    return std::nullopt;
  }
  const std::optional<Array> along = lay_along(factor, result.shape.size(), weights->axes);
  if (!along.has_value()) {
    return std::nullopt;
  }
  const Tensor old = rewriter.tensor(product.inputs[weights->operand]);
  product.inputs[weights->operand] =
      graph::add_constant(rewriter.graph, old.name, apply(function, *old.data, *along));
  return graph::add_node(rewriter.graph, join_origins(product.origin, origin), product.op,
                         product.inputs);
}

struct Operands {  // of a map with one constant operand
  TensorId value, constant;
  bool constant_first = false;
};

std::optional<Operands> split_operands(const Rewriter& rewriter, const Node& node,
                                       const Tensor& output) {
  for (const bool first : {false, true}) {
    const Operands operands{node.inputs[first ? 1 : 0], node.inputs[first ? 0 : 1], first};
    const Tensor& value = rewriter.tensor(operands.value);
    if (has_values(rewriter.tensor(operands.constant)) && value.shape == output.shape &&
        value.kind == graph::TensorKind::intermediate) {
      return operands;
    }
  }
  return std::nullopt;
}

bool is_function(const Node& node, MapFunction function) {
  const auto* map = std::get_if<Map>(&node.op);
  return map != nullptr && map->function == function;
}

Verdict fold_factor(Rewriter& rewriter, const Node& node, const Operands& operands,
                    MapFunction function) {
  const Array factor = *rewriter.tensor(operands.constant).data;
  if (const auto product = scale_product(rewriter, operands.value, function, factor, node.origin)) {
    return replaced(*product);
  }
  const Tensor sum = rewriter.tensor(operands.value);
  if (!rewriter.single_use(operands.value)) {
    return keep();
  }
  const Node addition = rewriter.graph.nodes[sum.producer];
  if (!is_function(addition, MapFunction::add) && !is_function(addition, MapFunction::subtract)) {
    return keep();
  }
  const std::optional<Operands> inner = split_operands(rewriter, addition, sum);
  if (!inner.has_value()) {
    return keep();
  }
  const auto product = scale_product(rewriter, inner->value, function, factor, node.origin);
  if (!product.has_value()) {
    return keep();
  }
  const Tensor offset = rewriter.tensor(inner->constant);
  const TensorId scaled =
      graph::add_constant(rewriter.graph, offset.name, apply(function, *offset.data, factor));
  std::vector<TensorId> inputs{*product, scaled};
  if (inner->constant_first) {
    std::swap(inputs[0], inputs[1]);
  }
  return replaced(graph::add_node(rewriter.graph, join_origins(addition.origin, node.origin),
                                  addition.op, inputs));
}

// (z +- d) +- e = z + (+-d +- e).
Verdict fold_offset(Rewriter& rewriter, Node& node, const Operands& operands) {
  const bool minus = is_function(node, MapFunction::subtract);
  if ((minus && operands.constant_first) || !rewriter.single_use(operands.value)) {
    return keep();
  }
  const Tensor sum = rewriter.tensor(operands.value);
  const Node inner = rewriter.graph.nodes[sum.producer];
  const bool inner_minus = is_function(inner, MapFunction::subtract);
  if (!inner_minus && !is_function(inner, MapFunction::add)) {
    return keep();
  }
  const std::optional<Operands> below = split_operands(rewriter, inner, sum);
  if (!below.has_value() || (inner_minus && below->constant_first)) {
    return keep();
  }
  const Tensor first = rewriter.tensor(below->constant);
  const Array& second = *rewriter.tensor(operands.constant).data;
  // The sign of the first constant goes in front of both: z + (d +- e) or z - (d -+ e).
  const Array both =
      apply(inner_minus == minus ? MapFunction::add : MapFunction::subtract, *first.data, second);
  node.op = Map{.function = inner_minus ? MapFunction::subtract : MapFunction::add};
  node.inputs = {below->value, graph::add_constant(rewriter.graph, first.name, both)};
  node.origin = join_origins(inner.origin, node.origin);
  return changed();
}

}  // namespace

std::int64_t fold_scales(Graph& graph, const Options&) {
  return rewrite(graph, [](Rewriter& rewriter, Node& node, const Tensor& output) {
    const bool adds =
        is_function(node, MapFunction::add) || is_function(node, MapFunction::subtract);
    const bool divides = is_function(node, MapFunction::divide);
    if (!adds && !divides && !is_function(node, MapFunction::multiply)) {
      return keep();
    }
    const std::optional<Operands> operands = split_operands(rewriter, node, output);
    if (!operands.has_value() || (divides && operands->constant_first)) {
      return keep();
    }
    return adds ? fold_offset(rewriter, node, *operands)
                : fold_factor(rewriter, node, *operands,
                              divides ? MapFunction::divide : MapFunction::multiply);
  });
}

}  // namespace systole::passes
