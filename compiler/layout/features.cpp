#include "compiler/layout/features.hpp"

namespace systole::layout {

IdVector<graph::NodeId, Features> features(const graph::Graph& graph, const Statement& statement,
                                           const LaidGraph& laid) {
  IdVector<graph::NodeId, Features> out;
  out.reserve(laid.graph.nodes.size());
  for (const graph::NodeId id : laid.graph.nodes.ids()) {
    const graph::Node& node = laid.graph.nodes[id];
    const Layout& to = laid.layouts[node.output];
    if (std::holds_alternative<graph::Convert>(node.op)) {
      const graph::TensorId tensor = node.inputs[0];
      out.add(conversion_features(laid.mechanisms[id], laid.graph.tensors[tensor].shape,
                                  laid.storage[tensor], laid.layouts[tensor], to,
                                  statement.standing[tensor].boundary, statement.costs,
                                  statement.machine));
      continue;
    }
    Configuration configuration;
    configuration.mechanism = laid.mechanisms[id];
    configuration.output = to;
    for (const graph::TensorId input : node.inputs) {
      configuration.inputs.push_back(laid.layouts[input]);
    }
    // Tensors keep their ids, nodes do not.
    const graph::NodeId original = graph.tensors[node.output].producer;
    out.add(NodePricer(graph, statement.storage, statement.standing, original, statement.costs,
                       statement.machine)
                .features(configuration));
  }
  return out;
}

}  // namespace systole::layout
