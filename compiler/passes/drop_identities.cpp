#include <algorithm>
#include <cmath>

#include "compiler/passes/passes.hpp"
#include "compiler/passes/rewrite.hpp"

namespace systole::passes {
namespace {

using graph::Graph;
using graph::MapFunction;
using graph::Node;
using graph::Tensor;
using graph::TensorId;

bool all_are(const std::vector<std::int64_t>& values, std::int64_t value) {
  return std::all_of(values.begin(), values.end(),
                     [&](std::int64_t each) { return each == value; });
}

// Whether the result is the first operand, bit for bit. One overload per operator that can be.
bool is_identity(const graph::Map& op, const Tensor& input, const Tensor& output) {
  if (op.function == MapFunction::clip) {
    return graph::is_float(input.type) && std::isinf(op.alpha) && op.alpha < 0 &&
           std::isinf(op.beta) && op.beta > 0;
  }
  return op.function == MapFunction::copy ||
         (op.function == MapFunction::cast && input.type == output.type);
}
bool is_identity(const graph::Transpose& op, const Tensor&, const Tensor&) {
  return std::is_sorted(op.perm.begin(), op.perm.end());
}
bool is_identity(const graph::Reshape&, const Tensor& input, const Tensor& output) {
  return input.shape == output.shape;
}
bool is_identity(const graph::Expand&, const Tensor& input, const Tensor& output) {
  return input.shape == output.shape;
}
bool is_identity(const graph::Slice& op, const Tensor& input, const Tensor& output) {
  // Of one element any step is the same; starts within the operand then are 0.
  for (std::size_t i = 0; i < op.steps.size(); ++i) {
    if (input.shape[i] != output.shape[i] || (input.shape[i] > 1 && op.steps[i] != 1)) {
      return false;
    }
  }
  return true;
}
bool is_identity(const graph::Pad& op, const Tensor& input, const Tensor&) {
  for (std::size_t i = 0; i < op.interior.size(); ++i) {
    if (op.interior[i] != 0 && input.shape[i] > 1) {
      return false;
    }
  }
  return all_are(op.low, 0) && all_are(op.high, 0);
}
template <class O>
bool is_identity(const O&, const Tensor&, const Tensor&) {
  return false;
}

// A reduction of single elements keeps them: sum, product, mean, maximum and minimum alike.
bool reduces_nothing(const graph::Reduce& op, const Tensor& input) {
  return std::all_of(op.axes.begin(), op.axes.end(),
                     [&](int axis) { return input.shape[static_cast<std::size_t>(axis)] == 1; });
}

Verdict drop_parts(Rewriter& rewriter, const graph::Concat& op, Node& node) {
  std::vector<TensorId> parts;
  for (const TensorId input : node.inputs) {
    if (rewriter.tensor(input).shape[static_cast<std::size_t>(op.axis)] != 0) {
      parts.push_back(input);
    }
  }
  if (parts.empty()) {
    parts.push_back(node.inputs.front());
  }
  if (parts.size() == 1) {
    return replaced(parts.front());
  }
  const bool fewer = parts.size() < node.inputs.size();
  node.inputs = std::move(parts);
  return fewer ? changed() : keep();
}

}  // namespace

std::int64_t drop_identities(Graph& graph, const Options&) {
  return rewrite(graph, [](Rewriter& rewriter, Node& node, const Tensor& output) {
    if (node.inputs.empty()) {
      return keep();
    }
    const TensorId first = node.inputs.front();
    const Tensor input = rewriter.tensor(first);
    if (std::visit([&](const auto& op) { return is_identity(op, input, output); }, node.op)) {
      return replaced(first);
    }
    if (const auto* reduce = std::get_if<graph::Reduce>(&node.op)) {
      if (reduces_nothing(*reduce, input)) {
        return reduce->keep
                   ? replaced(first)
                   : replaced(graph::add_reshape(rewriter.graph, node.origin, first, output.shape));
      }
    }
    if (const auto* concat = std::get_if<graph::Concat>(&node.op)) {
      return drop_parts(rewriter, *concat, node);
    }
    return keep();
  });
}

}  // namespace systole::passes
