#include "compiler/lower/fusion.hpp"

#include <algorithm>

namespace systole::lower {
namespace {

using graph::NodeId;
using graph::TensorId;

class Planner {
 public:
  Planner(const layout::LaidGraph& laid, const IdVector<TensorId, TensorId>& roots)
      : laid_(laid), roots_(roots), uses_(graph::uses(laid.graph)), fusion_(no_fusion(laid)) {
    is_output_.resize(laid.graph.tensors.size(), 0);
    for (const TensorId output : laid.graph.outputs) {
      is_output_[output] = 1;
    }
  }

  Fusion run() {
    for (const NodeId node : laid_.graph.nodes.ids()) {
      if (fusion_.host[node] == node && can_host(node)) {
        grow(node);
      }
    }
    return std::move(fusion_);
  }

 private:
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

  void grow(NodeId host) {
    TensorId value = laid_.graph.nodes[host].output;
    while (true) {
      const NodeId next = follower_of(value, host);
      if (!next.valid()) {
        return;
      }
      fusion_.host[next] = host;
      fusion_.followers[host].push_back(next);
      fusion_.inlined[value] = 1;
      value = laid_.graph.nodes[next].output;
    }
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
  out.inlined = IdVector<TensorId, std::uint8_t>(laid.graph.tensors.size(), 0);
  return out;
}

Fusion plan_fusion(const layout::LaidGraph& laid, const IdVector<TensorId, TensorId>& roots) {
  return Planner(laid, roots).run();
}

}  // namespace systole::lower
