#include "compiler/graph/facts.hpp"

#include <limits>
#include <map>

namespace systole::graph {
namespace {

std::int64_t times(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? std::numeric_limits<std::int64_t>::max()
                                                : product;
}

std::int64_t product_of(const Shape& shape, std::size_t first = 0) {
  std::int64_t product = 1;
  for (std::size_t i = first; i < shape.size(); ++i) {
    product = times(product, shape[i]);
  }
  return product;
}

const Shape& operand(const Graph& graph, const Node& node, std::size_t i) {
  return graph.tensors[node.inputs[i]].shape;
}

std::int64_t contracted(const Graph& graph, const Node& node, const Contraction& op) {
  std::map<int, std::int64_t> extents;
  for (std::size_t i = 0; i < op.lhs.size(); ++i) {
    extents[op.lhs[i]] = operand(graph, node, 0)[i];
  }
  for (std::size_t i = 0; i < op.rhs.size(); ++i) {
    extents[op.rhs[i]] = operand(graph, node, 1)[i];
  }
  std::int64_t product = 1;
  for (const auto& [label, extent] : extents) {
    product = times(product, extent);
  }
  return product;
}

}  // namespace

std::int64_t multiply_accumulates(const Graph& graph, const Node& node) {
  if (const auto* contraction = std::get_if<Contraction>(&node.op)) {
    return contracted(graph, node, *contraction);
  }
  if (std::holds_alternative<Convolution>(node.op)) {
    return times(product_of(graph.tensors[node.output].shape),
                 product_of(operand(graph, node, 1), 1));
  }
  return 0;
}

std::int64_t flops(const Graph& graph, const Node& node) {
  const std::int64_t results = product_of(graph.tensors[node.output].shape);
  if (std::holds_alternative<Contraction>(node.op) ||
      std::holds_alternative<Convolution>(node.op)) {
    return times(2, multiply_accumulates(graph, node));
  }
  if (const auto* map = std::get_if<Map>(&node.op)) {
    return map->function == MapFunction::cast || map->function == MapFunction::copy ? 0 : results;
  }
  if (std::holds_alternative<Reduce>(node.op) || std::holds_alternative<ArgReduce>(node.op)) {
    return product_of(operand(graph, node, 0));
  }
  if (const auto* window = std::get_if<Window>(&node.op)) {
    return times(results, product_of(window->kernel));
  }
  if (const auto* scatter = std::get_if<ScatterND>(&node.op)) {
    return scatter->mode == ScatterMode::assign ? 0 : product_of(operand(graph, node, 2));
  }
  return 0;
}

std::int64_t parameters(const Graph& graph) {
  IdVector<TensorId, char> counted(graph.tensors.size(), 0);
  std::int64_t total = 0;
  const auto count = [&](TensorId id) {
    if (graph.tensors[id].kind == TensorKind::constant && counted[id] == 0) {
      counted[id] = 1;
      const std::int64_t more = product_of(graph.tensors[id].shape);
      total = __builtin_add_overflow(total, more, &total) ? std::numeric_limits<std::int64_t>::max()
                                                          : total;
    }
  };
  for (const Node& node : graph.nodes) {
    for (const TensorId input : node.inputs) {
      count(input);
    }
  }
  for (const TensorId output : graph.outputs) {
    count(output);
  }
  return total;
}

bool is_movement(const Op& op) {
  if (const auto* map = std::get_if<Map>(&op)) {
    return map->function == MapFunction::copy;
  }
  if (const auto* scatter = std::get_if<ScatterND>(&op)) {
    return scatter->mode == ScatterMode::assign;
  }
  return std::holds_alternative<Transpose>(op) || std::holds_alternative<Reshape>(op) ||
         std::holds_alternative<Slice>(op) || std::holds_alternative<Concat>(op) ||
         std::holds_alternative<Pad>(op) || std::holds_alternative<Expand>(op) ||
         std::holds_alternative<Gather>(op) || std::holds_alternative<GatherElements>(op) ||
         std::holds_alternative<Convert>(op);
}

std::int64_t multiply_accumulates(const Graph& graph) {
  std::int64_t sum = 0;
  for (const Node& node : graph.nodes) {
    const std::int64_t more = multiply_accumulates(graph, node);
    if (__builtin_add_overflow(sum, more, &sum)) {
      return std::numeric_limits<std::int64_t>::max();
    }
  }
  return sum;
}

std::vector<std::pair<int, int>> operator_edges(const Graph& graph) {
  std::vector<std::pair<int, int>> edges;
  for (const NodeId id : graph.nodes.ids()) {
    for (const TensorId input : graph.nodes[id].inputs) {
      if (graph.tensors[input].kind == TensorKind::intermediate) {
        edges.emplace_back(static_cast<int>(graph.tensors[input].producer.index()),
                           static_cast<int>(id.index()));
      }
    }
  }
  return edges;
}

}  // namespace systole::graph
