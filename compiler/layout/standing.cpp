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

bool is_vector_work(const graph::Graph& graph, TensorId tensor) {
  const graph::Tensor& t = graph.tensors[tensor];
  if (t.kind != graph::TensorKind::intermediate) {
    return false;
  }
  const graph::Op& op = graph.nodes[t.producer].op;
  return std::holds_alternative<graph::Map>(op) || std::holds_alternative<graph::Reduce>(op);
}

bool is_product(const graph::Op& op) {
  return std::holds_alternative<graph::Contraction>(op) ||
         std::holds_alternative<graph::Convolution>(op);
}

void mark_reduced(const graph::Graph& graph, IdVector<TensorId, Standing>& result) {
  struct Group {
    bool fed = false, read = false, keeps_axes = true;
    std::uint32_t reduced = 0;
  };
  TensorClasses classes(graph.tensors.size());
  for (const graph::Node& node : graph.nodes) {
    for (const TensorId input : node.inputs) {
      if (is_vector_work(graph, node.output) && is_vector_work(graph, input)) {
        classes.join(node.output, input);
      }
    }
  }
  std::vector<Group> groups(graph.tensors.size());
  for (const graph::Node& node : graph.nodes) {
    Group& own = groups[classes.find(node.output)];
    for (const TensorId input : node.inputs) {
      const graph::Tensor& tensor = graph.tensors[input];
      if (is_product(node.op) && is_vector_work(graph, input)) {
        groups[classes.find(input)].read = true;
      }
      own.fed = own.fed || (tensor.kind == graph::TensorKind::intermediate &&
                            is_product(graph.nodes[tensor.producer].op));
    }
    if (const auto* reduce = std::get_if<graph::Reduce>(&node.op)) {
      own.keeps_axes = own.keeps_axes && reduce->keep;
      for (const int axis : reduce->axes) {
        own.reduced |= 1U << static_cast<unsigned>(axis);
      }
    }
  }
  for (const TensorId tensor : graph.tensors.ids()) {
    const Group& group = groups[classes.find(tensor)];
    if (is_vector_work(graph, tensor) && group.fed && group.read && group.keeps_axes) {
      result[tensor].reduced = group.reduced;
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
  mark_reduced(graph, result);
  count_siblings(graph, result);
  for (const graph::Node& node : graph.nodes) {
    result[node.output].sums_from = sums_from(node);
  }
  return result;
}

}  // namespace systole::layout
