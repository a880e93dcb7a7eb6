#include <algorithm>

#include "tests/support/random_builder.hpp"

namespace systole::test {
namespace {

using graph::ElementType;
using graph::MapFunction;
using graph::Shape;
using graph::TensorId;
using enum MapFunction;

struct Guarded {  // a function and the range that its operand is clipped to; equal bounds: no clip
  MapFunction function;
  double low, high;
};

bool add_unary(RandomBuilder& b) {
  const auto x = b.pick(0, b.options.max_rank);
  if (!x.has_value()) {
    return false;
  }
  static const std::vector<Guarded> functions = {{copy, 0, 0},
                                                 {negate, 0, 0},
                                                 {MapFunction::abs, 0, 0},
                                                 {relu, 0, 0},
                                                 {sigmoid, 0, 0},
                                                 {MapFunction::tanh, 0, 0},
                                                 {MapFunction::erf, 0, 0},
                                                 {gelu, 0, 0},
                                                 {gelu_tanh, 0, 0},
                                                 {silu, 0, 0},
                                                 {softplus, 0, 0},
                                                 {mish, 0, 0},
                                                 {MapFunction::exp, -4, 4},
                                                 {MapFunction::log, 0.1, 10},
                                                 {MapFunction::sqrt, 0.1, 10},
                                                 {rsqrt, 0.1, 10},
                                                 {reciprocal, 0.5, 4},
                                                 {square, -4, 4},
                                                 {MapFunction::sin, -3, 3},
                                                 {MapFunction::cos, -3, 3},
                                                 {MapFunction::tan, -1, 1},
                                                 {MapFunction::asin, -0.9, 0.9},
                                                 {MapFunction::acos, -0.9, 0.9},
                                                 {MapFunction::atan, 0, 0},
                                                 {MapFunction::sinh, -3, 3},
                                                 {MapFunction::cosh, -3, 3},
                                                 {MapFunction::asinh, 0, 0},
                                                 {MapFunction::acosh, 1.5, 9},
                                                 {MapFunction::atanh, -0.9, 0.9}};
  if (b.chance(15)) {
    b.map(b.chance(50) ? leaky_relu : elu, {*x}, 0.25);
    return true;
  }
  const Guarded chosen = b.one_of(functions);
  const TensorId operand =
      chosen.low < chosen.high ? b.map(clip, {*x}, chosen.low, chosen.high) : *x;
  b.map(chosen.function, {operand});
  return true;
}

bool broadcasts(const Shape& a, const Shape& b) {
  for (std::size_t i = 1; i <= std::min(a.size(), b.size()); ++i) {
    const std::int64_t x = a[a.size() - i];
    const std::int64_t y = b[b.size() - i];
    if (x != y && x != 1 && y != 1) {
      return false;
    }
  }
  return true;
}

bool result_fits(const RandomBuilder& b, const Shape& x, const Shape& y) {
  Shape shape = x.size() > y.size() ? x : y;
  const Shape& other = x.size() > y.size() ? y : x;
  for (std::size_t i = 0; i < other.size(); ++i) {
    std::int64_t& extent = shape[shape.size() - other.size() + i];
    extent = extent == 1 ? other[i] : extent;
  }
  return b.fits(shape);
}

// A shape that broadcasts with `shape`: a suffix of it with some extents 1, or the whole of it.
Shape partner(RandomBuilder& b, const Shape& shape) {
  const auto skip = b.chance(50) ? 0 : b.random.integer(0, static_cast<std::int64_t>(shape.size()));
  Shape result(shape.begin() + skip, shape.end());
  for (std::int64_t& extent : result) {
    extent = b.chance(30) ? 1 : extent;
  }
  return result;
}

TensorId second_operand(RandomBuilder& b, TensorId x) {
  for (int attempt = 0; attempt < 4; ++attempt) {
    const auto y = b.pick(0, b.options.max_rank);
    if (y.has_value() && broadcasts(b.shape_of(x), b.shape_of(*y)) &&
        result_fits(b, b.shape_of(x), b.shape_of(*y))) {
      return *y;
    }
  }
  return b.operand(partner(b, b.shape_of(x)));
}

bool add_binary(RandomBuilder& b) {
  const auto x = b.pick(0, b.options.max_rank);
  if (!x.has_value()) {
    return false;
  }
  TensorId y = second_operand(b, *x);
  const MapFunction function =
      b.one_of<MapFunction>({add, subtract, multiply, divide, max, min, power});
  TensorId left = *x;
  if (function == divide) {
    y = b.map(clip, {y}, 0.5, 4);
  } else if (function == power) {
    left = b.map(clip, {*x}, 0.5, 2);
    y = b.map(clip, {y}, -2, 2);
  } else if (function == multiply) {
    left = b.map(clip, {*x}, -8, 8);
  }
  if (function != power && b.chance(30)) {
    std::swap(left, y);  // the operand of lower rank may come first
  }
  b.map(function, {left, y});
  return true;
}

bool add_select(RandomBuilder& b) {
  const auto x = b.pick(0, b.options.max_rank);
  if (!x.has_value()) {
    return false;
  }
  const TensorId y = second_operand(b, *x);
  TensorId condition = b.map(
      b.one_of<MapFunction>({equal, not_equal, less, less_equal, greater, greater_equal}), {*x, y});
  if (b.chance(40)) {
    condition = b.map(logical_not, {condition});
  }
  if (b.chance(30)) {
    condition = b.map(b.one_of<MapFunction>({logical_and, logical_or, logical_xor}),
                      {condition, condition});
  }
  b.map(select, {condition, *x, y});
  return true;
}

bool add_integer(RandomBuilder& b) {
  auto x = b.pick(0, b.options.max_rank, ElementType::i32);
  if (!x.has_value() || b.chance(30)) {
    const auto real = b.pick(0, b.options.max_rank);
    if (!real.has_value()) {
      return false;
    }
    const TensorId whole =
        b.map(b.one_of<MapFunction>({MapFunction::floor, MapFunction::ceil, MapFunction::round}),
              {b.map(clip, {*real}, -50, 50)});
    x = graph::add_cast(b.graph, b.name("to_integer"), whole, ElementType::i32);
  }
  const MapFunction function = b.one_of<MapFunction>(
      {add, subtract, multiply, max, min, negate, MapFunction::abs, sign, divide, modulo});
  if (graph::operands_of(function) == 1) {
    x = b.map(function, {*x});
  } else {
    graph::Array array = graph::make_array(ElementType::i32, partner(b, b.shape_of(*x)));
    for (std::int64_t i = 0; i < graph::elements(array.shape); ++i) {
      graph::set_integer(array, i, b.random.integer(1, 9) * (b.chance(30) ? -1 : 1));
    }
    x = b.map(function, {*x, graph::add_constant(b.graph, b.name("integers"), std::move(array))});
  }
  x = b.map(clip, {*x}, -1000, 1000);
  if (b.chance(60)) {
    graph::add_cast(b.graph, b.name("to_real"), *x, ElementType::f32);
  }
  return true;
}

}  // namespace

bool add_elementwise(RandomBuilder& b, Family family) {
  if (family == Family::unary) {
    return add_unary(b);
  }
  if (family == Family::binary) {
    return add_binary(b);
  }
  return family == Family::select ? add_select(b) : add_integer(b);
}

}  // namespace systole::test
