// Quantised operators, decomposed exactly: 8-bit integers minus their zero points are exact in bf16 and fp32, and sums of
// their products are exact in fp32 up to 2^24, so products are contractions of floats over pieces short enough for that,
// added as 32-bit integers.

#include <algorithm>

#include <fmt/format.h>

#include "compiler/frontend/onnx/converters.hpp"
#include "compiler/frontend/onnx/convolve.hpp"
#include "compiler/frontend/onnx/products.hpp"

namespace systole::frontend {

namespace {

// Longest sum of products of two numbers in [-255, 255] that stays below 2^24.
constexpr std::int64_t exact_terms = 256;

// A per-axis parameter, [n] or one element, placed on `axis` of a tensor of this rank.
TensorId on_axis(Builder& build, TensorId parameter, int axis, int rank) {
  if (build.count(parameter) == 1) {
    return build.reshape(parameter, {});
  }
  Shape shape(static_cast<std::size_t>(rank), 1);
  shape[static_cast<std::size_t>(axis)] = build.count(parameter);
  return build.reshape(parameter, shape);
}

struct Range {
  double low = 0, high = 0;
};

Range range_of(const Call& call, ElementType type) {
  switch (type) {
    case ElementType::u8:
      return {0, 255};
    case ElementType::i8:
      return {-128, 127};
    case ElementType::u16:
      return {0, 65535};
    case ElementType::i16:
      return {-32768, 32767};
    case ElementType::f32:
    case ElementType::f64:
    case ElementType::f16:
    case ElementType::bf16:
    case ElementType::i64:
    case ElementType::i32:
    case ElementType::u64:
    case ElementType::u32:
    case ElementType::boolean:
      break;
  }
  call.fail(fmt::format("quantisation to {} is not supported", graph::name_of(type)));
}

// round(x / scale) + zero point, saturated.
TensorId quantise(Call& call, TensorId x, TensorId scale, TensorId zero, ElementType type) {
  Builder& build = call.build;
  const Range range = range_of(call, type);
  const TensorId rounded = build.map(MapFunction::round, {build.divide(x, scale)});
  const TensorId moved =
      zero.valid() ? build.add(rounded, build.cast(zero, build.type(rounded))) : rounded;
  return build.cast(build.map(MapFunction::clip, {moved}, range.low, range.high), type);
}

// A tensor minus its zero point, as floats.
TensorId centred(Builder& build, TensorId x, TensorId zero) {
  const TensorId value = build.cast(x, ElementType::f32);
  return zero.valid() ? build.subtract(value, build.cast(zero, ElementType::f32)) : value;
}

// The integer product [.., m, n], as i32.
TensorId integer_matmul(Builder& build, TensorId a, TensorId b) {
  const int a_axis = build.rank(a) - 1;
  const int b_axis = std::max(0, build.rank(b) - 2);
  const std::int64_t depth = build.extent(a, a_axis);
  TensorId total;
  for (std::int64_t start = 0; start < depth || start == 0; start += exact_terms) {
    const std::int64_t size = std::min(exact_terms, depth - start);
    const TensorId part = build.cast(matmul(build, build.slice_axis(a, a_axis, start, size),
                                            build.slice_axis(b, b_axis, start, size)),
                                     ElementType::i32);
    total = total.valid() ? build.add(total, part) : part;
  }
  return total;
}

// The integer convolution, as i32; long sums are split over input channels.
TensorId integer_convolution(Call& call, TensorId x, TensorId w) {
  Builder& build = call.build;
  const Shape weights = build.shape(w);
  const std::int64_t kernel =
      std::max<std::int64_t>(1, graph::elements(Shape(weights.begin() + 2, weights.end())));
  const std::int64_t channels = weights.size() > 1 ? weights[1] : 0;
  if (channels * kernel <= exact_terms) {
    return build.cast(convolve(call, x, w), ElementType::i32);
  }
  if (call.integer("group", 1) != 1 || kernel > exact_terms) {
    call.fail("sums of more than 256 products in a grouped integer convolution are not exact");
  }
  const std::int64_t step = std::max<std::int64_t>(1, exact_terms / kernel);
  TensorId total;
  for (std::int64_t start = 0; start < channels; start += step) {
    const std::int64_t size = std::min(step, channels - start);
    const TensorId part = build.cast(
        convolve(call, build.slice_axis(x, 1, start, size), build.slice_axis(w, 1, start, size)),
        ElementType::i32);
    total = total.valid() ? build.add(total, part) : part;
  }
  return total;
}

// Zero point of the second operand of a product: per column.
TensorId column_zero(Builder& build, TensorId zero, TensorId b) {
  return zero.valid() && build.count(zero) > 1
             ? on_axis(build, zero, build.rank(b) - 1, build.rank(b))
             : zero;
}

TensorId row_zero(Builder& build, TensorId zero, TensorId a) {
  return zero.valid() && build.count(zero) > 1 && build.rank(zero) == 1
             ? on_axis(build, zero, std::max(0, build.rank(a) - 2), build.rank(a))
             : zero;
}

TensorId channel_zero(Builder& build, TensorId zero, TensorId w) {
  return zero.valid() ? on_axis(build, zero, 0, build.rank(w)) : zero;
}

}  // namespace

Values convert_quantize(Call& call) {
  Builder& build = call.build;
  const TensorId x = build.cast(call.input(0), ElementType::f32);
  const int rank = call.rank(0);
  const bool per_axis = build.count(call.input(1)) != 1;
  const int axis = per_axis ? call.axis(call.integer("axis", 1), rank) : 0;
  if (call.integer("block_size", 0) != 0) {
    call.fail("blocked quantisation is not supported");
  }
  const TensorId scale = build.cast(on_axis(build, call.input(1), axis, rank), ElementType::f32);
  const TensorId zero = call.has(2) ? on_axis(build, call.input(2), axis, rank) : TensorId{};
  return {quantise(call, x, scale, zero, zero.valid() ? build.type(zero) : ElementType::u8)};
}

Values convert_dequantize(Call& call) {
  Builder& build = call.build;
  const int rank = call.rank(0);
  const bool per_axis = build.count(call.input(1)) != 1;
  const int axis = per_axis ? call.axis(call.integer("axis", 1), rank) : 0;
  if (call.integer("block_size", 0) != 0) {
    call.fail("blocked quantisation is not supported");
  }
  const TensorId zero = call.has(2) ? on_axis(build, call.input(2), axis, rank) : TensorId{};
  const TensorId scale = on_axis(build, call.input(1), axis, rank);
  if (call.type(0) == ElementType::i32) {  // 32 bits do not fit a float: subtract first
    TensorId value = call.input(0);
    value = zero.valid() ? build.subtract(value, zero) : value;
    return {build.multiply(build.cast(value, build.type(scale)), scale)};
  }
  return {
      build.multiply(build.cast(centred(build, call.input(0), zero), build.type(scale)), scale)};
}

Values convert_dynamic_quantize(Call& call) {
  Builder& build = call.build;
  const TensorId x = call.input(0);
  std::vector<int> axes;
  for (int a = 0; a < call.rank(0); ++a) {
    axes.push_back(a);
  }
  const TensorId zero = build.scalar(0, ElementType::f32);
  const TensorId low =
      build.map(MapFunction::min, {build.reduce(ReduceFunction::min, x, axes, false), zero});
  const TensorId high =
      build.map(MapFunction::max, {build.reduce(ReduceFunction::max, x, axes, false), zero});
  const TensorId scale =
      build.divide(build.subtract(high, low), build.scalar(255, ElementType::f32));
  const TensorId start = build.divide(build.map(MapFunction::negate, {low}), scale);
  const TensorId point =
      build.cast(build.map(MapFunction::clip, {build.map(MapFunction::round, {start})}, 0.0, 255.0),
                 ElementType::u8);
  return {quantise(call, x, scale, point, ElementType::u8), scale, point};
}

Values convert_matmul_integer(Call& call) {
  Builder& build = call.build;
  const TensorId a =
      centred(build, call.input(0), row_zero(build, call.input_or(2, {}), call.input(0)));
  const TensorId b =
      centred(build, call.input(1), column_zero(build, call.input_or(3, {}), call.input(1)));
  return {integer_matmul(build, a, b)};
}

Values convert_convolution_integer(Call& call) {
  Builder& build = call.build;
  const TensorId x = centred(build, call.input(0), call.input_or(2, {}));
  const TensorId w =
      centred(build, call.input(1), channel_zero(build, call.input_or(3, {}), call.input(1)));
  return {integer_convolution(call, x, w)};
}

// Operands: a, its scale and zero point, b, its scale and zero point, the result's scale and zero point.
Values convert_qlinear_matmul(Call& call) {
  Builder& build = call.build;
  const TensorId a = centred(build, call.input(0), row_zero(build, call.input(2), call.input(0)));
  const TensorId b =
      centred(build, call.input(3), column_zero(build, call.input(5), call.input(3)));
  const TensorId product = build.cast(integer_matmul(build, a, b), ElementType::f32);
  const TensorId scale = build.multiply(
      build.cast(row_zero(build, call.input(1), call.input(0)), ElementType::f32),
      build.cast(column_zero(build, call.input(4), call.input(3)), ElementType::f32));
  const TensorId value = build.multiply(product, scale);
  return {quantise(call, value, build.cast(call.input(6), ElementType::f32), call.input(7),
                   call.type(7))};
}

Values convert_qlinear_convolution(Call& call) {
  Builder& build = call.build;
  const TensorId x = centred(build, call.input(0), build.reshape(call.input(2), {}));
  const TensorId w =
      centred(build, call.input(3), channel_zero(build, call.input(5), call.input(3)));
  TensorId sum = integer_convolution(call, x, w);
  if (call.has(8)) {
    sum = build.add(sum, on_axis(build, call.input(8), 1, build.rank(sum)));
  }
  const TensorId scale = build.multiply(build.reshape(call.input(1), {}),
                                        on_axis(build, call.input(4), 1, build.rank(sum)));
  const TensorId value = build.multiply(build.cast(sum, ElementType::f32), scale);
  return {quantise(call, value, build.reshape(call.input(6), {}), build.reshape(call.input(7), {}),
                   call.type(7))};
}

}  // namespace systole::frontend
