#include "compiler/graph/graph.hpp"

#include <utility>

#include "compiler/graph/ops/ops.hpp"
#include "isa/base/error.hpp"

namespace systole::graph {
namespace {

std::string make_unique(std::map<std::string, std::int64_t>& taken, std::string name) {
  const auto [first, fresh] = taken.try_emplace(name, 1);
  if (fresh) {
    return name;
  }
  while (true) {
    std::string candidate = name + "." + std::to_string(first->second);
    ++first->second;
    if (taken.try_emplace(candidate, 1).second) {
      return candidate;
    }
  }
}

void require_shape(const std::string& name, const Shape& shape) {
  if (!checked_elements(shape).has_value()) {
    throw Error(name, "shape " + to_string(shape) + " has a negative extent or too many elements",
                "give extents of 0 or more whose product stays below 2^62");
  }
}

TensorId add_tensor(Graph& graph, Tensor tensor) {
  require_shape(tensor.name, tensor.shape);
  tensor.name = make_unique(graph.tensor_names, std::move(tensor.name));
  return graph.tensors.add(std::move(tensor));
}

TensorId add_requested(Graph& graph, std::string origin, Op op, std::vector<TensorId> inputs,
                       const TensorType& requested) {
  std::vector<TensorType> types;
  types.reserve(inputs.size());
  for (const TensorId input : inputs) {
    types.push_back(type_of(graph.tensors[input]));
  }
  TensorType result = infer(op, origin, types, requested);
  const std::string base = origin.empty() ? std::string(name_of(op)) : origin;
  Tensor tensor;
  tensor.name = base;
  tensor.type = result.type;
  tensor.shape = std::move(result.shape);
  tensor.producer = NodeId(graph.nodes.size());
  Node node;
  node.name = make_unique(graph.node_names, base);
  node.origin = std::move(origin);
  node.op = std::move(op);
  node.inputs = std::move(inputs);
  node.output = add_tensor(graph, std::move(tensor));
  const TensorId output = node.output;
  graph.nodes.add(std::move(node));
  return output;
}

}  // namespace

TensorType type_of(const Tensor& tensor) {
  return {tensor.type, tensor.shape};
}

TensorType infer(const Op& op, const std::string& origin, const std::vector<TensorType>& inputs,
                 const TensorType& requested) {
  TensorType result = ops::infer_any(op, {origin, inputs, requested});
  if (!checked_elements(result.shape).has_value()) {
    throw Error(origin,
                std::string(name_of(op)) + " gives shape " + to_string(result.shape) +
                    ", which has too many elements",
                "use smaller extents");
  }
  return result;
}

TensorId add_input(Graph& graph, std::string name, ElementType type, Shape shape) {
  Tensor tensor;
  tensor.name = std::move(name);
  tensor.type = type;
  tensor.shape = std::move(shape);
  tensor.kind = TensorKind::input;
  const TensorId id = add_tensor(graph, std::move(tensor));
  graph.inputs.push_back(id);
  return id;
}

TensorId add_constant(Graph& graph, std::string name, Array value) {
  Tensor tensor;
  tensor.name = std::move(name);
  tensor.type = value.type;
  tensor.shape = value.shape;
  tensor.kind = TensorKind::constant;
  tensor.data = std::make_shared<const Array>(std::move(value));
  return add_tensor(graph, std::move(tensor));
}

TensorId add_weight(Graph& graph, std::string name, ElementType type, Shape shape) {
  Tensor tensor;
  tensor.name = std::move(name);
  tensor.type = type;
  tensor.shape = std::move(shape);
  tensor.kind = TensorKind::constant;
  return add_tensor(graph, std::move(tensor));
}

TensorId add_node(Graph& graph, std::string origin, Op op, std::vector<TensorId> inputs) {
  TensorType requested;
  if (!inputs.empty()) {
    requested = type_of(graph.tensors[inputs.front()]);
  }
  return add_requested(graph, std::move(origin), std::move(op), std::move(inputs), requested);
}

TensorId add_node(Graph& graph, std::string origin, Op op, std::vector<TensorId> inputs,
                  const TensorType& requested) {
  return add_requested(graph, std::move(origin), std::move(op), std::move(inputs), requested);
}

TensorId add_cast(Graph& graph, std::string origin, TensorId input, ElementType type) {
  return add_requested(graph, std::move(origin), Map{.function = MapFunction::cast}, {input},
                       {type, graph.tensors[input].shape});
}

TensorId add_reshape(Graph& graph, std::string origin, TensorId input, Shape shape) {
  return add_requested(graph, std::move(origin), Reshape{}, {input},
                       {graph.tensors[input].type, std::move(shape)});
}

TensorId add_expand(Graph& graph, std::string origin, TensorId input, Shape shape) {
  return add_requested(graph, std::move(origin), Expand{}, {input},
                       {graph.tensors[input].type, std::move(shape)});
}

TensorId add_slice(Graph& graph, std::string origin, TensorId input,
                   std::vector<std::int64_t> starts, std::vector<std::int64_t> steps, Shape shape) {
  return add_requested(graph, std::move(origin), Slice{std::move(starts), std::move(steps)},
                       {input}, {graph.tensors[input].type, std::move(shape)});
}

void rename(Graph& graph, TensorId tensor, std::string name) {
  if (graph.tensors[tensor].name != name) {
    graph.tensors[tensor].name = make_unique(graph.tensor_names, std::move(name));
  }
}

IdVector<TensorId, std::vector<Use>> uses(const Graph& graph) {
  IdVector<TensorId, std::vector<Use>> result(graph.tensors.size());
  for (const NodeId id : graph.nodes.ids()) {
    const std::vector<TensorId>& inputs = graph.nodes[id].inputs;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      result[inputs[i]].push_back({id, static_cast<int>(i)});
    }
  }
  return result;
}

}  // namespace systole::graph
