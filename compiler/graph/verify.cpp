#include <fmt/format.h>

#include <set>

#include "compiler/graph/graph.hpp"
#include "isa/base/error.hpp"

namespace systole::graph {
namespace {

using Faults = std::vector<std::string>;

bool in_range(const Graph& graph, TensorId id) {
  return id.valid() && id.index() < graph.tensors.size();
}

void verify_tensor(const Graph& graph, TensorId id, Faults& faults) {
  const Tensor& tensor = graph.tensors[id];
  if (!checked_elements(tensor.shape).has_value()) {
    faults.push_back(
        fmt::format("tensor {}: shape {} is not possible", tensor.name, to_string(tensor.shape)));
  }
  const bool made = tensor.kind == TensorKind::intermediate;
  if (made != tensor.producer.valid()) {
    faults.push_back(fmt::format("tensor {}: {}", tensor.name,
                                 made ? "no producer" : "an input or constant has a producer"));
  } else if (made && (tensor.producer.index() >= graph.nodes.size() ||
                      graph.nodes[tensor.producer].output != id)) {
    faults.push_back(fmt::format("tensor {}: its producer makes another tensor", tensor.name));
  }
  if (tensor.data == nullptr) {
    return;
  }
  if (tensor.kind != TensorKind::constant) {
    faults.push_back(fmt::format("tensor {}: data, but not a constant", tensor.name));
  }
  if (tensor.data->type != tensor.type || tensor.data->shape != tensor.shape) {
    faults.push_back(fmt::format("tensor {}: data is {}{}, declared {}{}", tensor.name,
                                 name_of(tensor.data->type), to_string(tensor.data->shape),
                                 name_of(tensor.type), to_string(tensor.shape)));
  }
}

void verify_node(const Graph& graph, NodeId id, Faults& faults) {
  const Node& node = graph.nodes[id];
  const std::string where = fmt::format("node {} ({})", node.name, name_of(node.op));
  std::vector<TensorType> types;
  for (const TensorId input : node.inputs) {
    if (!in_range(graph, input)) {
      faults.push_back(where + ": an operand does not exist");
      return;
    }
    const Tensor& tensor = graph.tensors[input];
    if (tensor.kind == TensorKind::intermediate && !(tensor.producer < id)) {
      faults.push_back(fmt::format("{}: operand {} is made later", where, tensor.name));
    }
    types.push_back(type_of(tensor));
  }
  if (!in_range(graph, node.output)) {
    faults.push_back(where + ": its output does not exist");
    return;
  }
  const Tensor& output = graph.tensors[node.output];
  if (output.kind != TensorKind::intermediate || output.producer != id) {
    faults.push_back(fmt::format("{}: output {} is not its own", where, output.name));
  }
  try {
    const TensorType inferred = infer(node.op, node.name, types, type_of(output));
    if (inferred != type_of(output)) {
      faults.push_back(fmt::format("{}: output {} is {}{}, inferred {}{}", where, output.name,
                                   name_of(output.type), to_string(output.shape),
                                   name_of(inferred.type), to_string(inferred.shape)));
    }
  } catch (const Error& error) {
    faults.push_back(error.what());
  }
}

void verify_boundary(const Graph& graph, Faults& faults) {
  std::set<TensorId> listed;
  for (const TensorId id : graph.inputs) {
    if (!in_range(graph, id)) {
      faults.push_back("a graph input does not exist");
    } else if (graph.tensors[id].kind != TensorKind::input || !listed.insert(id).second) {
      faults.push_back(fmt::format(
          "graph input {}: {}", graph.tensors[id].name,
          graph.tensors[id].kind == TensorKind::input ? "listed twice" : "not of kind input"));
    }
  }
  for (const TensorId id : graph.tensors.ids()) {
    if (graph.tensors[id].kind == TensorKind::input && !listed.contains(id)) {
      faults.push_back(
          fmt::format("tensor {}: an input that the graph does not list", graph.tensors[id].name));
    }
  }
  for (const TensorId id : graph.outputs) {
    if (!in_range(graph, id)) {
      faults.push_back("a graph output does not exist");
    }
  }
  if (graph.outputs.size() != graph.output_names.size()) {
    faults.push_back(fmt::format("{} outputs, {} output names", graph.outputs.size(),
                                 graph.output_names.size()));
  }
}

}  // namespace

std::vector<std::string> verify(const Graph& graph) {
  Faults faults;
  std::set<std::string> names;
  for (const TensorId id : graph.tensors.ids()) {
    if (!names.insert(graph.tensors[id].name).second) {
      faults.push_back(fmt::format("two tensors are called {}", graph.tensors[id].name));
    }
    verify_tensor(graph, id, faults);
  }
  names.clear();
  for (const NodeId id : graph.nodes.ids()) {
    if (!names.insert(graph.nodes[id].name).second) {
      faults.push_back(fmt::format("two nodes are called {}", graph.nodes[id].name));
    }
    verify_node(graph, id, faults);
  }
  verify_boundary(graph, faults);
  return faults;
}

}  // namespace systole::graph
