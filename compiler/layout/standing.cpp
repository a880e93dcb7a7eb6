#include "compiler/layout/standing.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <utility>
#include <vector>

#include "compiler/layout/tensor_classes.hpp"

namespace systole::layout {
namespace {

using graph::TensorId;

bool relabels(const graph::Op& op) {
  return std::holds_alternative<graph::Transpose>(op) || std::holds_alternative<graph::Reshape>(op);
}

bool can_host(const graph::Op& op) {
  return std::holds_alternative<graph::Contraction>(op) ||
         std::holds_alternative<graph::Convolution>(op) || std::holds_alternative<graph::Map>(op) ||
         std::holds_alternative<graph::Reduce>(op) || std::holds_alternative<graph::Window>(op);
}

// Functions of Scalar's table of one operand that lowering makes with one instruction.
bool is_looked_up(const graph::Node& node) {
  using F = graph::MapFunction;
  static constexpr std::array functions = {F::exp,      F::log,  F::sqrt, F::rsqrt,     F::sigmoid,
                                           F::tanh,     F::erf,  F::gelu, F::gelu_tanh, F::silu,
                                           F::softplus, F::mish, F::sin,  F::atan};
  const auto* map = std::get_if<graph::Map>(&node.op);
  return map != nullptr && std::ranges::find(functions, map->function) != functions.end();
}

std::int64_t sums_from(const graph::Node& node) {
  constexpr std::int64_t long_square = 513;
  const auto* map = std::get_if<graph::Map>(&node.op);
  const bool square = map != nullptr && map->function == graph::MapFunction::square;
  return square ? long_square : is_looked_up(node) ? 1 : 0;
}

// Of the operands that a map could follow, the one made last: the others are there by then.
void mark_passing(const graph::Graph& graph, IdVector<TensorId, Standing>& result) {
  IdVector<TensorId, int> uses(graph.tensors.size(), 0);
  for (const graph::Node& node : graph.nodes) {
    for (const TensorId input : node.inputs) {
      ++uses[input];
    }
  }
  for (const graph::Node& node : graph.nodes) {
    if (!std::holds_alternative<graph::Map>(node.op)) {
      continue;
    }
    TensorId last;
    for (const TensorId input : node.inputs) {
      const graph::Tensor& tensor = graph.tensors[input];
      if (result[input].boundary == Boundary::inside && uses[input] == 1 &&
          can_host(graph.nodes[tensor.producer].op) &&
          tensor.shape == graph.tensors[node.output].shape &&
          (!last.valid() || graph.tensors[last].producer < tensor.producer)) {
        last = input;
      }
    }
    if (last.valid()) {
      result[last].boundary = Boundary::passing;
      result[last].folds = is_looked_up(node);
    }
  }
}

void count_siblings(const graph::Graph& graph, IdVector<TensorId, Standing>& result) {
  std::map<std::pair<std::size_t, TensorId>, int> counts;
  const auto key = [](const graph::Node& node) {
    return std::pair{node.op.index(), node.inputs.front()};
  };
  for (const graph::Node& node : graph.nodes) {
    if (!node.inputs.empty()) {
      ++counts[key(node)];
    }
  }
  for (const graph::Node& node : graph.nodes) {
    if (!node.inputs.empty()) {
      result[node.output].siblings = counts.at(key(node));
    }
  }
}

}  // namespace

IdVector<TensorId, Standing> standings(const graph::Graph& graph) {
  // Relabellings share their operand's storage, so they share what ties it to HBM.
  TensorClasses roots(graph.tensors.size());
  for (const graph::Node& node : graph.nodes) {
    if (relabels(node.op)) {
      roots.join(node.inputs[0], node.output);
    }
  }
  std::vector<Boundary> by_root(graph.tensors.size(), Boundary::inside);
  for (const TensorId output : graph.outputs) {
    by_root[roots.find(output)] = Boundary::output;
  }
  for (const graph::Node& node : graph.nodes) {
    for (const TensorId input : node.inputs) {
      if (!relabels(node.op)) {  // what is read inside stays there as well
        by_root[roots.find(input)] = Boundary::inside;
      }
    }
  }
  for (const TensorId tensor : graph.tensors.ids()) {
    if (graph.tensors[tensor].kind != graph::TensorKind::intermediate) {
      by_root[roots.find(tensor)] = Boundary::source;
    }
  }
  IdVector<TensorId, Standing> result(graph.tensors.size());
  for (const TensorId tensor : graph.tensors.ids()) {
    result[tensor].boundary = by_root[roots.find(tensor)];
  }
  mark_passing(graph, result);
  count_siblings(graph, result);
  for (const graph::Node& node : graph.nodes) {
    result[node.output].sums_from = sums_from(node);
  }
  return result;
}

}  // namespace systole::layout
