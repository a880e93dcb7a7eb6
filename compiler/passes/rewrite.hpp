// Inside compiler/passes only: rebuilds a graph node by node while a pass looks at each node.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "compiler/graph/graph.hpp"

namespace systole::passes {

// The graph being built and what is known of its tensors.
class Rewriter {
 public:
  graph::Graph graph;

  [[nodiscard]] const graph::Tensor& tensor(graph::TensorId id) const { return graph.tensors[id]; }
  // The node that makes this tensor, if its operator is an O.
  template <class O>
  [[nodiscard]] const graph::Node* made_by(graph::TensorId id) const {
    const graph::Tensor& made = graph.tensors[id];
    if (made.kind != graph::TensorKind::intermediate) {
      return nullptr;
    }
    const graph::Node& node = graph.nodes[made.producer];
    return std::holds_alternative<O>(node.op) ? &node : nullptr;
  }
  [[nodiscard]] const graph::Node* made_by_map(graph::TensorId id,
                                               graph::MapFunction function) const;
  // At most one use (uses as an output of the graph count).
  [[nodiscard]] bool single_use(graph::TensorId id) const;

  void count_uses(graph::TensorId id, int more);

 private:
  std::vector<int> use_counts_;  // by tensor; never below the truth
};

// What a pass did with a node: nothing, changed it in place, or replaced its result by a tensor of
// the new graph.
struct Verdict {
  bool changed = false;
  graph::TensorId replacement;
};
inline Verdict keep() {
  return {};
}
inline Verdict changed() {
  return {true, {}};
}
inline Verdict replaced(graph::TensorId by) {
  return {true, by};
}

// Visits every node that some output depends on, in order, with its operands already those of the
// new graph. The visitor may change the node's operator, operands and origin (not the shape or type
// of its result), or add nodes to rewriter.graph and name the tensor that stands for the result.
// Returns the number of nodes for which it did something.
// If the visitor throws, the graph is lost.
std::int64_t rewrite(
    graph::Graph& graph,
    const std::function<Verdict(Rewriter&, graph::Node&, const graph::Tensor& output)>& visit);

// Origins joined by '+', each once.
std::string join_origins(const std::string& first, const std::string& second);

std::int64_t saturating_add(std::int64_t a, std::int64_t b);  // of numbers >= 0

// The value of all elements of a constant, if there is one.
std::optional<double> splat_value(const graph::Tensor& tensor);

}  // namespace systole::passes
