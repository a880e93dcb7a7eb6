#include "compiler/lower/recognise.hpp"

#include <cmath>
#include <numbers>
#include <optional>

namespace systole::lower {
namespace {

using graph::Map;
using graph::MapFunction;
using graph::Node;
using graph::NodeId;
using graph::TensorId;

class Recogniser {
 public:
  explicit Recogniser(layout::LaidGraph& laid) : laid_(laid), uses_(graph::uses(laid.graph)) {}

  // Returns how many it found.
  int run() {
    int found = 0;
    for (const NodeId id : laid_.graph.nodes.ids()) {
      Node& node = laid_.graph.nodes[id];
      if (const std::optional<TensorId> x = gelu_of(node)) {
        node.op = Map{MapFunction::gelu};
        node.inputs = {*x};
        ++found;
      }
    }
    return found;
  }

 private:
  [[nodiscard]] std::optional<double> number(TensorId id) const {
    const graph::Tensor& tensor = laid_.graph.tensors[id];
    return tensor.kind == graph::TensorKind::constant && tensor.data != nullptr &&
                   graph::elements(tensor.shape) == 1
               ? std::optional(graph::get(*tensor.data, 0))
               : std::nullopt;
  }

  // The map that makes this value, if it lies as `like` does.
  [[nodiscard]] const Node* maker(TensorId id, MapFunction function, TensorId like) const {
    const graph::Tensor& tensor = laid_.graph.tensors[id];
    if (tensor.kind != graph::TensorKind::intermediate || !lies_as(id, like)) {
      return nullptr;
    }
    const Node& node = laid_.graph.nodes[tensor.producer];
    const auto* map = std::get_if<Map>(&node.op);
    return map != nullptr && map->function == function ? &node : nullptr;
  }

  [[nodiscard]] bool lies_as(TensorId id, TensorId like) const {
    return laid_.graph.tensors[id].shape == laid_.graph.tensors[like].shape &&
           laid_.layouts[id] == laid_.layouts[like] && laid_.storage[id] == laid_.storage[like];
  }

  // The factors of a product of maps: numbers multiplied, other values listed. Products that others read are one factor,
  // and so is what is nested deeper than a GELU needs.
  void factors(TensorId id, TensorId like, double& scale, std::vector<TensorId>& values,
               int levels = 4) const {
    if (const std::optional<double> c = number(id)) {
      scale *= *c;
      return;
    }
    const bool alone = levels > 0 && (id == like || uses_[id].size() == 1);
    if (const Node* product = maker(id, MapFunction::multiply, like); product != nullptr && alone) {
      factors(product->inputs[0], like, scale, values, levels - 1);
      factors(product->inputs[1], like, scale, values, levels - 1);
      return;
    }
    const Node* quotient = maker(id, MapFunction::divide, like);
    const std::optional<double> c =
        quotient != nullptr && alone ? number(quotient->inputs[1]) : std::nullopt;
    if (c && *c != 0.0) {
      scale /= *c;
      factors(quotient->inputs[0], like, scale, values, levels - 1);
      return;
    }
    values.push_back(id);
  }

  [[nodiscard]] std::optional<TensorId> gelu_of(const Node& node) const {
    const auto* map = std::get_if<Map>(&node.op);
    if (map == nullptr ||
        (map->function != MapFunction::multiply && map->function != MapFunction::divide) ||
        !isa::is_float(laid_.storage[node.output])) {
      return std::nullopt;
    }
    double scale = 1.0;
    std::vector<TensorId> values;
    factors(node.output, node.output, scale, values);
    if (values.size() != 2 || !near(scale, 0.5)) {
      return std::nullopt;
    }
    for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
      const TensorId x = values[1 - i];
      if (lies_as(x, node.output) && is_one_and_erf(values[i], x, node.output)) {
        return x;
      }
    }
    return std::nullopt;
  }

  // 1 + erf(x / sqrt 2)
  [[nodiscard]] bool is_one_and_erf(TensorId id, TensorId x, TensorId like) const {
    const Node* sum = maker(id, MapFunction::add, like);
    if (sum == nullptr || uses_[id].size() != 1) {
      return false;
    }
    const std::optional<double> left = number(sum->inputs[0]);
    const std::optional<double> one = left ? left : number(sum->inputs[1]);
    const Node* erf = maker(sum->inputs[left ? 1 : 0], MapFunction::erf, like);
    if (!one || *one != 1.0 || erf == nullptr) {
      return false;
    }
    double scale = 1.0;
    std::vector<TensorId> values;
    factors(erf->inputs[0], like, scale, values);
    return values.size() == 1 && values[0] == x && near(scale, 1.0 / std::numbers::sqrt2);
  }

  [[nodiscard]] static bool near(double a, double b) { return std::abs(a - b) <= 1e-6 * b; }

  layout::LaidGraph& laid_;
  IdVector<TensorId, std::vector<graph::Use>> uses_;
};

// Without nodes that no output needs.
layout::LaidGraph without_dead(const layout::LaidGraph& laid) {
  IdVector<TensorId, std::uint8_t> needed(laid.graph.tensors.size(), 0);
  for (const TensorId output : laid.graph.outputs) {
    needed[output] = 1;
  }
  for (std::size_t i = laid.graph.nodes.size(); i-- > 0;) {
    const Node& node = laid.graph.nodes[NodeId(i)];
    for (const TensorId input : node.inputs) {
      needed[input] = needed[node.output] != 0 ? 1 : needed[input];
    }
  }
  layout::LaidGraph out;
  out.graph.name = laid.graph.name;
  out.graph.output_names = laid.graph.output_names;
  out.graph.tensor_names = laid.graph.tensor_names;
  out.graph.node_names = laid.graph.node_names;
  IdVector<TensorId, TensorId> fresh(laid.graph.tensors.size());
  const auto renamed = [&fresh](std::vector<TensorId> ids) {
    for (TensorId& id : ids) {
      id = fresh[id];
    }
    return ids;
  };
  for (const TensorId id : laid.graph.tensors.ids()) {
    const graph::Tensor& tensor = laid.graph.tensors[id];
    if (tensor.kind != graph::TensorKind::intermediate || needed[id] != 0) {
      fresh[id] = out.graph.tensors.add(tensor);
      out.layouts.add(laid.layouts[id]);
      out.storage.add(laid.storage[id]);
    }
  }
  for (const NodeId id : laid.graph.nodes.ids()) {
    Node node = laid.graph.nodes[id];
    if (needed[node.output] == 0) {
      continue;
    }
    node.inputs = renamed(std::move(node.inputs));
    node.output = fresh[node.output];
    out.graph.tensors[node.output].producer = NodeId(out.graph.nodes.size());
    out.graph.nodes.add(std::move(node));
    out.mechanisms.add(laid.mechanisms[id]);
    out.predicted.add(laid.predicted[id]);
  }
  out.graph.inputs = renamed(laid.graph.inputs);
  out.graph.outputs = renamed(laid.graph.outputs);
  return out;
}

}  // namespace

layout::LaidGraph with_whole_functions(layout::LaidGraph laid) {
  return Recogniser(laid).run() == 0 ? laid : without_dead(laid);
}

}  // namespace systole::lower
