#include <cmath>
#include <limits>

#include "compiler/passes/passes.hpp"
#include "compiler/passes/rewrite.hpp"

namespace systole::passes {
namespace {

using graph::Graph;
using graph::Map;
using graph::MapFunction;
using graph::Node;
using graph::Tensor;
using graph::TensorId;
using enum MapFunction;

constexpr double infinity = std::numeric_limits<double>::infinity();

struct Site {
  Rewriter& rewriter;
  Node& node;
  const Tensor& output;

  [[nodiscard]] TensorId operand(std::size_t i) const { return node.inputs[i]; }
  [[nodiscard]] bool has_result_shape(TensorId id) const {
    const Tensor& tensor = rewriter.tensor(id);
    return tensor.type == output.type && tensor.shape == output.shape;
  }
  [[nodiscard]] std::optional<double> value(std::size_t i) const {
    return splat_value(rewriter.tensor(operand(i)));
  }
  // The node becomes a map of one operand, if that has the result's shape.
  [[nodiscard]] Verdict become(Map map, TensorId operand_id) const {
    if (!has_result_shape(operand_id)) {
      return keep();
    }
    node.op = map;
    node.inputs = {operand_id};
    return changed();
  }
  [[nodiscard]] Verdict replace(TensorId by) const {
    return has_result_shape(by) ? replaced(by) : keep();
  }
};

bool is_commutative(MapFunction function) {
  return function == add || function == multiply || function == max || function == min;
}

// One operand is the same constant everywhere.
Verdict with_constant(const Site& site, MapFunction function, TensorId x, double c) {
  const bool real = graph::is_float(site.output.type);
  if (((function == add || function == subtract) && c == 0.0) ||
      ((function == multiply || function == divide || function == power) && c == 1.0)) {
    return site.replace(x);
  }
  if (function == power && c == 2.0) {
    return site.become({.function = square}, x);
  }
  if (function == max && c == 0.0) {
    return site.become({.function = relu}, x);
  }
  if (real && (function == max || function == min) && !std::isnan(c)) {
    return site.become({clip, function == max ? c : -infinity, function == max ? infinity : c}, x);
  }
  return keep();
}

Verdict simplify_binary(const Site& site, MapFunction function) {
  const TensorId a = site.operand(0);
  const TensorId b = site.operand(1);
  if (const auto right = site.value(1)) {
    return with_constant(site, function, a, *right);
  }
  if (const auto left = site.value(0)) {
    if (is_commutative(function)) {
      return with_constant(site, function, b, *left);
    }
    if (function == divide && *left == 1.0 && graph::is_float(site.output.type)) {
      return site.become({.function = reciprocal}, b);
    }
  }
  if (a == b && function == multiply) {
    return site.become({.function = square}, a);
  }
  if (a == b &&
      (function == max || function == min || function == logical_and || function == logical_or)) {
    return site.replace(a);
  }
  return keep();
}

Verdict simplify_unary(const Site& site, MapFunction function) {
  const TensorId x = site.operand(0);
  const Node* inner = site.rewriter.made_by<Map>(x);
  if (inner == nullptr) {
    return keep();
  }
  const MapFunction before = std::get<Map>(inner->op).function;
  if (function == before &&
      (function == negate || function == logical_not || function == bitwise_not)) {
    return site.replace(inner->inputs.front());
  }
  if (function == before && (function == relu || function == abs || function == sign ||
                             function == floor || function == ceil || function == round)) {
    return replaced(x);
  }
  if (function == reciprocal && before == sqrt) {
    site.node.origin = join_origins(inner->origin, site.node.origin);
    return site.become({.function = rsqrt}, inner->inputs.front());
  }
  return keep();
}

Verdict simplify_select(const Site& site) {
  const TensorId a = site.operand(1);
  const TensorId b = site.operand(2);
  if (a == b && site.has_result_shape(a)) {
    return replaced(a);
  }
  const auto condition = site.value(0);
  if (!condition.has_value()) {
    return keep();
  }
  const TensorId chosen = *condition != 0.0 ? a : b;
  return site.has_result_shape(chosen)
             ? replaced(chosen)
             : replaced(graph::add_expand(site.rewriter.graph, site.node.origin, chosen,
                                          site.output.shape));
}

}  // namespace

std::int64_t simplify_maps(Graph& graph, const Options&) {
  return rewrite(graph, [](Rewriter& rewriter, Node& node, const Tensor& output) {
    const auto* map = std::get_if<Map>(&node.op);
    if (map == nullptr) {
      return keep();
    }
    const Site site{rewriter, node, output};
    const MapFunction function = map->function;
    if (function == select) {
      return simplify_select(site);
    }
    return graph::operands_of(function) == 1 ? simplify_unary(site, function)
                                             : simplify_binary(site, function);
  });
}

}  // namespace systole::passes
