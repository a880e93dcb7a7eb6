// (e / s) V = (e V) / s if s does not vary along what the product sums over: the shares of a softmax are made on its
// (small) result instead of on every weight. Only for shares that lie between 0 and 1, e = exp(x - max x) and s = sum e,
// where the undivided product cannot overflow what the divided one did not; and only where the weights are so much more
// than the result that it pays to tie three operators into a ring.
#include <algorithm>
#include <optional>

#include "compiler/passes/passes.hpp"
#include "compiler/passes/rewrite.hpp"

namespace systole::passes {
namespace {

using graph::Contraction;
using graph::Graph;
using graph::Map;
using graph::MapFunction;
using graph::Node;
using graph::Reduce;
using graph::ReduceFunction;
using graph::Shape;
using graph::Tensor;
using graph::TensorId;

constexpr std::int64_t least_ratio = 6;

bool is_softmax_share(const Rewriter& rewriter, const Node& division) {
  const Node* exp = rewriter.made_by_map(division.inputs[0], MapFunction::exp);
  const Node* sum = rewriter.made_by<Reduce>(division.inputs[1]);
  if (exp == nullptr || sum == nullptr || sum->inputs[0] != division.inputs[0] ||
      std::get<Reduce>(sum->op).function != ReduceFunction::sum) {
    return false;
  }
  const Node* shifted = rewriter.made_by_map(exp->inputs[0], MapFunction::subtract);
  const Node* largest = shifted == nullptr ? nullptr : rewriter.made_by<Reduce>(shifted->inputs[1]);
  return largest != nullptr && largest->inputs[0] == shifted->inputs[0] &&
         std::get<Reduce>(largest->op) == Reduce{ReduceFunction::max,
                                                 std::get<Reduce>(sum->op).axes,
                                                 std::get<Reduce>(largest->op).keep};
}

// The shape of the divisor seen from the product's result, if only axes of extent 1 come or go: `shape` is its own,
// aligned with the operand that has `labels`.
std::optional<Shape> shape_in_result(Shape shape, const std::vector<int>& labels,
                                     const std::vector<int>& out) {
  shape.insert(shape.begin(), labels.size() - shape.size(), 1);
  Shape result(out.size(), 1);
  std::ptrdiff_t last = -1;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (shape[i] == 1) {
      continue;
    }
    const std::ptrdiff_t place = std::ranges::find(out, labels[i]) - out.begin();
    if (place == static_cast<std::ptrdiff_t>(out.size()) || place < last) {
      return std::nullopt;  // summed over, or in another order
    }
    last = place;
    result[static_cast<std::size_t>(place)] = shape[i];
  }
  return result;
}

}  // namespace

std::int64_t delay_divisions(Graph& graph, const Options&) {
  return rewrite(graph, [](Rewriter& rewriter, Node& node, const Tensor& output) {
    const auto* product = std::get_if<Contraction>(&node.op);
    for (std::size_t i = 0; product != nullptr && i < 2; ++i) {
      const Node* found = rewriter.made_by_map(node.inputs[i], MapFunction::divide);
      if (found == nullptr || !rewriter.single_use(node.inputs[i]) ||
          graph::elements(rewriter.tensor(node.inputs[i]).shape) <
              least_ratio * graph::elements(output.shape) ||
          !is_softmax_share(rewriter, *found)) {
        continue;
      }
      const Node division = *found;
      const Shape own = rewriter.tensor(division.inputs[1]).shape;
      const std::optional<Shape> shape =
          shape_in_result(own, i == 0 ? product->lhs : product->rhs, product->out);
      if (!shape) {
        continue;
      }
      std::vector<TensorId> operands = node.inputs;
      operands[i] = division.inputs[0];
      const TensorId whole = graph::add_node(rewriter.graph, node.origin, *product, operands);
      const TensorId divisor = *shape == own ? division.inputs[1]
                                             : graph::add_reshape(rewriter.graph, division.origin,
                                                                  division.inputs[1], *shape);
      return replaced(graph::add_node(rewriter.graph, division.origin, Map{MapFunction::divide},
                                      {whole, divisor}));
    }
    return keep();
  });
}

}  // namespace systole::passes
