#include "compiler/lower/fusion.hpp"

#include <algorithm>
#include <optional>

namespace systole::lower {
namespace {

using graph::NodeId;
using graph::TensorId;

class Planner {
 public:
  Planner(const layout::LaidGraph& laid, const IdVector<TensorId, TensorId>& roots,
          const isa::Machine& machine)
      : laid_(laid),
        roots_(roots),
        machine_(machine),
        uses_(graph::uses(laid.graph)),
        fusion_(no_fusion(laid)) {
    is_output_.resize(laid.graph.tensors.size(), 0);
    for (const TensorId output : laid.graph.outputs) {
      is_output_[output] = 1;
    }
  }

  Fusion run() {
    for (const NodeId node : laid_.graph.nodes.ids()) {
      if (turns_in_product(node)) {
        const TensorId turned = laid_.graph.nodes[node].output;
        fusion_.host[node] = uses_[turned][0].node;
        fusion_.inlined[turned] = 1;
      }
    }
    for (const NodeId node : laid_.graph.nodes.ids()) {
      if (fusion_.host[node] == node && can_host(node)) {
        const TensorId last = grow(node, node);
        if (std::holds_alternative<graph::Map>(laid_.graph.nodes[node].op)) {
          add_reducers(node, last);
        }
      }
    }
    return std::move(fusion_);
  }

 private:
  // A conversion by the array, of a matrix, that one product alone reads: contracted axis on the
  // partitions instead of the product's own axis.
  [[nodiscard]] bool turns_in_product(NodeId node) const {
    const graph::Node& n = laid_.graph.nodes[node];
    if (laid_.mechanisms[node] != layout::Mechanism::array_transpose ||
        !std::holds_alternative<graph::Convert>(n.op) || is_output_[n.output] != 0 ||
        uses_[n.output].size() != 1 || !tiles_turn_whole()) {
      return false;
    }
    const graph::Use& use = uses_[n.output][0];
    const auto* product = std::get_if<graph::Contraction>(&laid_.graph.nodes[use.node].op);
    const std::vector<TensorId>& operands = laid_.graph.nodes[use.node].inputs;
    if (product == nullptr || std::ranges::any_of(operands, [this](TensorId operand) {
          return !isa::is_float(laid_.storage[operand]);
        })) {
      return false;
    }
    const std::optional<int> own = matrix_row(n.inputs[0]);
    const std::optional<int> contracted = matrix_row(n.output);
    if (!own || !contracted || *own == *contracted) {
      return false;
    }
    const std::vector<int>& labels = use.argument == 0 ? product->lhs : product->rhs;
    const std::vector<int>& others = use.argument == 0 ? product->rhs : product->lhs;
    const auto has = [&labels](const std::vector<int>& list, int axis) {
      return std::ranges::find(list, labels[static_cast<std::size_t>(axis)]) != list.end();
    };
    return has(product->out, *own) && !has(others, *own) && has(others, *contracted) &&
           !has(product->out, *contracted);
  }

  // Whether one pass of the array transposes a tile of all partitions.
  [[nodiscard]] bool tiles_turn_whole() const {
    const std::int64_t partitions = machine_.partitions;
    return machine_.array_rows >= partitions && machine_.array_columns >= partitions &&
           machine_.moving_max >= partitions &&
           machine_.psum_bank_bytes / isa::size_of(isa::DType::f32) >= machine_.moving_max;
  }

  // The one long axis on the partitions of a tensor that has one more, free.
  [[nodiscard]] std::optional<int> matrix_row(TensorId tensor) const {
    const layout::Layout& layout = laid_.layouts[tensor];
    const graph::Shape& shape = laid_.graph.tensors[tensor].shape;
    std::vector<int> across;
    std::vector<int> along;
    for (std::size_t i = 0; i < layout.order.size(); ++i) {
      const int axis = layout.order[i];
      if (shape[static_cast<std::size_t>(axis)] != 1) {
        (i < static_cast<std::size_t>(layout.split) ? across : along).push_back(axis);
      }
    }
    return across.size() == 1 && along.size() == 1 ? std::optional(across[0]) : std::nullopt;
  }

  [[nodiscard]] bool can_host(NodeId node) const {
    const graph::Node& n = laid_.graph.nodes[node];
    const bool stores_by_pieces = std::holds_alternative<graph::Contraction>(n.op) ||
                                  std::holds_alternative<graph::Convolution>(n.op) ||
                                  std::holds_alternative<graph::Window>(n.op) ||
                                  std::holds_alternative<graph::Map>(n.op) ||
                                  std::holds_alternative<graph::Reduce>(n.op);
    return stores_by_pieces && graph::elements(laid_.graph.tensors[n.output].shape) > 0 &&
           isa::is_float(laid_.storage[n.inputs[0]]);
  }

  // Adds what follows `first`, which runs inside `host`; returns the last value.
  TensorId grow(NodeId first, NodeId host) {
    TensorId value = laid_.graph.nodes[first].output;
    while (true) {
      const NodeId next = follower_of(value, host);
      if (!next.valid()) {
        return value;
      }
      fusion_.host[next] = host;
      fusion_.followers[first].push_back(next);
      fusion_.inlined[value] = 1;
      value = laid_.graph.nodes[next].output;
    }
  }

  void add_reducers(NodeId host, TensorId value) {
    for (const graph::Use& use : uses_[value]) {
      if (fusion_.host[use.node] == use.node && reduces_partitions(use.node, value)) {
        fusion_.host[use.node] = host;
        fusion_.reducers[host].push_back(use.node);
        (void)grow(use.node, host);
      }
    }
    const bool only_reduced = !uses_[value].empty() && is_output_[value] == 0 &&
                              uses_[value].size() == fusion_.reducers[host].size();
    fusion_.inlined[value] = only_reduced ? 1 : 0;
  }

  // Whether the node gives one number for each index of the value's partitions and outer free axes, from all that lies
  // inside them.
  [[nodiscard]] bool reduces_partitions(NodeId node, TensorId value) const {
    const auto* reduce = std::get_if<graph::Reduce>(&laid_.graph.nodes[node].op);
    if (reduce == nullptr || laid_.mechanisms[node] != layout::Mechanism::standard ||
        reduce->function == graph::ReduceFunction::product ||
        !isa::is_float(laid_.storage[value]) ||
        !isa::is_float(laid_.storage[laid_.graph.nodes[node].output])) {
      return false;
    }
    const layout::Layout& layout = laid_.layouts[value];
    const graph::Shape& shape = laid_.graph.tensors[value].shape;
    bool kept = false;    // there is a free axis that is not reduced
    bool inside = false;  // a reduced axis has been met
    for (std::size_t i = 0; i < layout.order.size(); ++i) {
      const int axis = layout.order[i];
      if (shape[static_cast<std::size_t>(axis)] == 1) {
        continue;
      }
      const bool reduced = std::ranges::find(reduce->axes, axis) != reduce->axes.end();
      const bool across = i < static_cast<std::size_t>(layout.split);
      if (across ? reduced : inside && !reduced) {
        return false;
      }
      inside = inside || reduced;
      kept = kept || (!across && !reduced);
    }
    return inside || !kept;
  }

  [[nodiscard]] NodeId follower_of(TensorId value, NodeId host) const {
    const std::vector<graph::Use>& uses = uses_[value];
    if (uses.size() != 1 || is_output_[value] != 0) {
      return {};
    }
    const NodeId node = uses[0].node;
    const graph::Node& n = laid_.graph.nodes[node];
    const bool same = std::holds_alternative<graph::Map>(n.op) &&
                      laid_.graph.tensors[n.output].shape == laid_.graph.tensors[value].shape &&
                      laid_.layouts[n.output] == laid_.layouts[value];
    if (!same || !isa::is_float(laid_.storage[value])) {
      return {};
    }
    const bool ready = std::ranges::all_of(n.inputs, [&](TensorId input) {
      const graph::Tensor& stored = laid_.graph.tensors[roots_[input]];
      return input == value || stored.kind != graph::TensorKind::intermediate ||
             fusion_.host[stored.producer] < host;
    });
    return ready ? node : NodeId();
  }

  const layout::LaidGraph& laid_;
  const IdVector<TensorId, TensorId>& roots_;
  const isa::Machine& machine_;
  IdVector<TensorId, std::vector<graph::Use>> uses_;
  IdVector<TensorId, std::uint8_t> is_output_;
  Fusion fusion_;
};

}  // namespace

Fusion no_fusion(const layout::LaidGraph& laid) {
  Fusion out;
  out.host = IdVector<NodeId, NodeId>(laid.graph.nodes.size());
  for (const NodeId node : laid.graph.nodes.ids()) {
    out.host[node] = node;
  }
  out.followers.resize(laid.graph.nodes.size());
  out.reducers.resize(laid.graph.nodes.size());
  out.inlined = IdVector<TensorId, std::uint8_t>(laid.graph.tensors.size(), 0);
  return out;
}

Fusion plan_fusion(const layout::LaidGraph& laid, const IdVector<TensorId, TensorId>& roots,
                   const isa::Machine& machine) {
  return Planner(laid, roots, machine).run();
}

}  // namespace systole::lower
