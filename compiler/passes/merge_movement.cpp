// Measure: the sum over all nodes of the length of the chain of equal movements that ends there.
// Every rewrite makes one chain shorter by one and none longer, so the pass and its repetition end.
#include "compiler/passes/passes.hpp"
#include "compiler/passes/rewrite.hpp"

namespace systole::passes {
namespace {

using graph::Graph;
using graph::Node;
using graph::Tensor;

// Composition of `outer` after `inner`, in place; false if it is not one operator of this kind.
bool compose(graph::Transpose& outer, const graph::Transpose& inner, const Tensor&) {
  for (int& axis : outer.perm) {
    axis = inner.perm[static_cast<std::size_t>(axis)];
  }
  return true;
}
bool compose(graph::Reshape&, const graph::Reshape&, const Tensor&) {
  return true;
}
bool compose(graph::Expand&, const graph::Expand&, const Tensor&) {
  return true;
}
bool compose(graph::Slice& outer, const graph::Slice& inner, const Tensor& output) {
  graph::Slice merged = outer;
  for (std::size_t i = 0; i < outer.starts.size(); ++i) {
    if (output.shape[i] == 0) {
      merged.starts[i] = 0;  // nothing is read; the numbers need not lie within the operand
      merged.steps[i] = 1;
      continue;
    }
    merged.starts[i] = inner.starts[i] + outer.starts[i] * inner.steps[i];
    if (output.shape[i] == 1) {
      merged.steps[i] = 1;
    } else if (__builtin_mul_overflow(outer.steps[i], inner.steps[i], &merged.steps[i])) {
      return false;
    }
  }
  outer = merged;
  return true;
}

template <class O>
bool merge(Rewriter& rewriter, Node& node, const Tensor& output) {
  auto* outer = std::get_if<O>(&node.op);
  if (outer == nullptr) {
    return false;
  }
  const Node* inner = rewriter.made_by<O>(node.inputs.front());
  if (inner == nullptr || !compose(*outer, std::get<O>(inner->op), output)) {
    return false;
  }
  node.origin = join_origins(inner->origin, node.origin);
  node.inputs = inner->inputs;
  return true;
}

}  // namespace

std::int64_t merge_movement(Graph& graph, const Options&) {
  return rewrite(graph, [](Rewriter& rewriter, Node& node, const Tensor& output) {
    const bool merged = merge<graph::Transpose>(rewriter, node, output) ||
                        merge<graph::Reshape>(rewriter, node, output) ||
                        merge<graph::Expand>(rewriter, node, output) ||
                        merge<graph::Slice>(rewriter, node, output);
    return merged ? changed() : keep();
  });
}

}  // namespace systole::passes
