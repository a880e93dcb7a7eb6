#include "compiler/frontend/compact.hpp"

#include <vector>

#include <fmt/format.h>

namespace systole::frontend {

namespace {

using graph::Graph;
using graph::NodeId;
using graph::TensorId;

// The first free name of `wanted`, `wanted.1`, ...; remembers it as the graph's building functions do.
std::string take_name(std::map<std::string, std::int64_t>& taken, const std::string& wanted) {
  const auto [first, fresh] = taken.try_emplace(wanted, 1);
  std::string name = wanted;
  while (!fresh) {
    name = fmt::format("{}.{}", wanted, first->second++);
    if (taken.try_emplace(name, 1).second) {
      break;
    }
  }
  return name;
}

std::vector<bool> needed_tensors(const Graph& graph) {
  std::vector<bool> needed(graph.tensors.size(), false);
  for (const TensorId id : graph.outputs) {
    needed[id.index()] = true;
  }
  for (std::size_t i = graph.nodes.size(); i-- > 0;) {
    const graph::Node& node = graph.nodes[NodeId(i)];
    if (needed[node.output.index()]) {
      for (const TensorId id : node.inputs) {
        needed[id.index()] = true;
      }
    }
  }
  for (const TensorId id : graph.inputs) {
    needed[id.index()] = true;
  }
  return needed;
}

}  // namespace

Graph compact(const Graph& graph, const std::map<TensorId, std::string>& names) {
  const std::vector<bool> needed = needed_tensors(graph);
  Graph out;
  out.name = graph.name;
  std::vector<TensorId> moved(graph.tensors.size());
  // Inputs first: the user addresses them by name, so no other tensor may take it.
  for (const TensorId id : graph.inputs) {
    take_name(out.tensor_names, graph.tensors[id].name);
  }
  for (const TensorId id : graph.tensors.ids()) {
    if (!needed[id.index()]) {
      continue;
    }
    graph::Tensor tensor = graph.tensors[id];
    if (tensor.kind != graph::TensorKind::input) {
      const auto found = names.find(id);
      const bool named = found != names.end() && tensor.kind == graph::TensorKind::intermediate;
      tensor.name = take_name(out.tensor_names, named ? found->second : tensor.name);
    }
    moved[id.index()] = out.tensors.add(std::move(tensor));
  }
  for (const graph::Node& original : graph.nodes) {
    if (!needed[original.output.index()]) {
      continue;
    }
    graph::Node node = original;
    node.name = take_name(out.node_names, node.origin.empty() ? node.name : node.origin);
    for (TensorId& id : node.inputs) {
      id = moved[id.index()];
    }
    node.output = moved[node.output.index()];
    out.tensors[node.output].producer = out.nodes.add(node);
  }
  for (const TensorId id : graph.inputs) {
    out.inputs.push_back(moved[id.index()]);
  }
  for (const TensorId id : graph.outputs) {
    out.outputs.push_back(moved[id.index()]);
  }
  out.output_names = graph.output_names;
  return out;
}

}  // namespace systole::frontend
