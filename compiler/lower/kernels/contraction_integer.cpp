#include "compiler/lower/kernels/contraction_integer.hpp"

#include <algorithm>
#include <cmath>

namespace systole::lower {
namespace {

constexpr std::int64_t unbounded = std::int64_t{1} << 31;  // of an i32
constexpr std::int64_t exact_factor = 256;                 // bf16
constexpr std::int64_t exact_sum = std::int64_t{1} << 24;  // fp32
constexpr std::int64_t digit_max = 255;
constexpr int depth_max = 16;

std::int64_t bound_of_type(graph::ElementType type) {
  switch (type) {
    case graph::ElementType::boolean:
      return 1;
    case graph::ElementType::u8:
      return 255;
    case graph::ElementType::i8:
      return 128;
    case graph::ElementType::u16:
      return 65535;
    case graph::ElementType::i16:
      return 32768;
    case graph::ElementType::f32:
    case graph::ElementType::f64:
    case graph::ElementType::f16:
    case graph::ElementType::bf16:
    case graph::ElementType::i64:
    case graph::ElementType::i32:
    case graph::ElementType::u64:
    case graph::ElementType::u32:
      return unbounded;
  }
  return unbounded;
}

std::int64_t largest_value(const graph::Array& array) {
  std::int64_t largest = 0;
  for (std::int64_t i = 0; i < graph::elements(array.shape); ++i) {
    largest = std::max(largest, std::min(unbounded, std::abs(graph::get_integer(array, i))));
  }
  return largest;
}

bool moves_data(const graph::Op& op) {
  return std::holds_alternative<graph::Transpose>(op) ||
         std::holds_alternative<graph::Reshape>(op) || std::holds_alternative<graph::Slice>(op) ||
         std::holds_alternative<graph::Expand>(op) || std::holds_alternative<graph::Gather>(op) ||
         std::holds_alternative<graph::GatherElements>(op) ||
         std::holds_alternative<graph::Convert>(op);
}

std::int64_t bound(const graph::Graph& graph, graph::TensorId id, int depth);

std::int64_t bound_of_map(const graph::Graph& graph, const graph::Node& node, const graph::Map& map,
                          int depth) {
  const auto of = [&](std::size_t argument) { return bound(graph, node.inputs[argument], depth); };
  using enum graph::MapFunction;
  const auto is_one_of = [&map](std::initializer_list<graph::MapFunction> functions) {
    return std::find(functions.begin(), functions.end(), map.function) != functions.end();
  };
  if (is_one_of({cast, copy, negate, abs, relu})) {
    return of(0);
  }
  if (is_one_of({add, subtract})) {
    return of(0) + of(1);
  }
  if (map.function == multiply) {
    const std::int64_t a = of(0);
    const std::int64_t b = of(1);
    return b > 0 && a > unbounded / b ? unbounded : a * b;
  }
  if (is_one_of({max, min})) {
    return std::max(of(0), of(1));
  }
  return map.function == select ? std::max(of(1), of(2)) : unbounded;
}

std::int64_t bound(const graph::Graph& graph, graph::TensorId id, int depth) {
  const graph::Tensor& tensor = graph.tensors[id];
  std::int64_t limit = bound_of_type(tensor.type);
  if (tensor.data != nullptr && !graph::is_float(tensor.type)) {
    return std::min(limit, largest_value(*tensor.data));
  }
  if (tensor.kind != graph::TensorKind::intermediate || depth == 0 ||
      graph::is_float(tensor.type)) {
    return limit;
  }
  const graph::Node& node = graph.nodes[tensor.producer];
  if (moves_data(node.op)) {
    limit = std::min(limit, bound(graph, node.inputs[0], depth - 1));
  } else if (const auto* map = std::get_if<graph::Map>(&node.op)) {
    limit = std::min(limit, bound_of_map(graph, node, *map, depth - 1));
  } else if (const auto* pad = std::get_if<graph::Pad>(&node.op)) {
    const auto value = static_cast<std::int64_t>(std::ceil(std::min(std::abs(pad->value), 0x1p31)));
    limit = std::min(limit, std::max(value, bound(graph, node.inputs[0], depth - 1)));
  }
  return limit;
}

int digits_of(std::int64_t bound) {
  if (bound <= exact_factor) {
    return 1;
  }
  int digits = 1;
  for (std::int64_t rest = bound / 256; rest > 0; rest /= 256) {
    ++digits;
  }
  return digits;
}

}  // namespace

std::int64_t magnitude_bound(const graph::Graph& graph, graph::TensorId tensor) {
  return bound(graph, tensor, depth_max);
}

Arithmetic whole_number_arithmetic(std::int64_t stationary_bound, std::int64_t moving_bound,
                                   std::int64_t k, std::int64_t rows) {
  Arithmetic arithmetic;
  arithmetic.dtype = isa::DType::bf16;
  arithmetic.whole_numbers = true;
  arithmetic.stationary_digits = digits_of(stationary_bound);
  arithmetic.moving_digits = digits_of(moving_bound);
  const std::int64_t stationary = arithmetic.stationary_digits == 1 ? stationary_bound : digit_max;
  const std::int64_t moving = arithmetic.moving_digits == 1 ? moving_bound : digit_max;
  const std::int64_t product = std::max<std::int64_t>(1, stationary * moving);
  if (k > exact_sum / product) {
    arithmetic.k_steps_max = std::max<std::int64_t>(1, exact_sum / (product * rows));
  }
  return arithmetic;
}

}  // namespace systole::lower
