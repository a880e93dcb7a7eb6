// Constants and shape queries: all of these are known at compile time.

#include <algorithm>
#include <cmath>
#include <numbers>

#include <fmt/format.h>

#include "compiler/frontend/onnx/converters.hpp"
#include "compiler/frontend/onnx/importer.hpp"
#include "compiler/frontend/onnx/proto.hpp"
#include "compiler/frontend/onnx/tensor.hpp"

namespace systole::frontend {

Values convert_shape(Call& call) {
  const Shape& shape = call.shape(0);
  const auto rank = static_cast<std::int64_t>(shape.size());
  const auto clamp = [&](std::int64_t at) {
    return std::clamp<std::int64_t>(at < 0 ? std::max(at, -rank) + rank : at, 0, rank);
  };
  const std::int64_t start = clamp(call.integer("start", 0));
  const std::int64_t end = std::max(start, clamp(call.integer("end", rank)));
  return {call.build.integers(Integers(shape.begin() + start, shape.begin() + end))};
}

Values convert_size(Call& call) {
  Array size = graph::make_array(ElementType::i64, {});
  graph::set_integer(size, 0, call.build.count(call.input(0)));
  return {call.build.constant(std::move(size))};
}

Values convert_constant(Call& call) {
  Builder& build = call.build;
  if (const auto* value = call.attribute("value")) {
    if (!value->has_t()) {
      call.fail("attribute 'value' holds no tensor");
    }
    TensorContents contents = read_tensor(value->t(), build.origin(), call.importer.folder());
    if (!contents.value) {
      return {build.weight(build.origin(), contents.type, contents.shape)};
    }
    return {build.constant(build.origin(), std::move(*contents.value))};
  }
  if (const auto* value = call.attribute("value_float")) {
    return {build.scalar(static_cast<double>(value->f()), ElementType::f32)};
  }
  if (const auto* value = call.attribute("value_int")) {
    return {build.reshape(build.integers({value->i()}), {})};
  }
  if (const auto* value = call.attribute("value_ints")) {
    return {build.integers(Integers(value->ints().begin(), value->ints().end()))};
  }
  if (call.attribute("value_floats") != nullptr) {
    const std::vector<double> values = call.reals("value_floats");
    return {build.reals(values, ElementType::f32, {static_cast<std::int64_t>(values.size())})};
  }
  call.fail("only numeric, dense constants are supported");
}

Values convert_constant_of_shape(Call& call) {
  Builder& build = call.build;
  Shape shape;
  if (build.value(call.input(0)) == nullptr && call.stated_shape(0)) {
    shape = *call.stated_shape(0);
  } else {
    shape = call.integers_of(0, "shape");
  }
  const auto* value = call.attribute("value");
  if (value == nullptr) {
    return {build.filled(shape, 0, ElementType::f32)};
  }
  const TensorContents contents = read_tensor(value->t(), build.origin(), call.importer.folder());
  if (!contents.value || graph::elements(contents.shape) != 1) {
    call.fail("the fill value is not one element");
  }
  return {build.filled(shape, graph::get(*contents.value, 0), contents.type)};
}

// Hann, Hamming and Blackman: a0 - a1 cos(2 pi n / N) + a2 cos(4 pi n / N).
Values convert_window_function(Call& call) {
  Builder& build = call.build;
  const auto stated = call.is_known(0) ? std::nullopt : call.stated_shape(0);
  const std::int64_t size =
      stated && stated->size() == 1 ? (*stated)[0] : call.integer_of(0, "size");
  build.check_size({size});
  if (size > build.options().fold_elements * 64) {
    call.fail(fmt::format("a window of {} elements is too large", size));
  }
  const auto type =
      element_type_of(static_cast<int>(call.integer("output_datatype", 1)), build.origin());
  const bool hann = call.op() == "HannWindow";
  const bool hamming = call.op() == "HammingWindow";
  const double a0 = hann ? 0.5 : hamming ? 25.0 / 46.0 : 0.42;
  const double a1 = hann ? 0.5 : hamming ? 21.0 / 46.0 : 0.5;
  const double a2 = hann || hamming ? 0.0 : 0.08;
  const auto period = static_cast<double>(call.integer("periodic", 1) != 0 ? size : size - 1);
  std::vector<double> values;
  for (std::int64_t n = 0; n < size; ++n) {
    const double angle = 2.0 * std::numbers::pi * static_cast<double>(n) / period;
    values.push_back(a0 - a1 * std::cos(angle) + a2 * std::cos(2.0 * angle));
  }
  return {build.reals(values, type, {size})};
}

Values convert_range(Call& call) {
  Builder& build = call.build;
  const ElementType type = call.type(0);
  const bool known = call.is_known(0) && call.is_known(1) && call.is_known(2);
  if (const auto stated = call.stated_shape(0); !known && stated && stated->size() == 1) {
    // The length is stated; start and step may depend on data.
    const TensorId steps =
        build.multiply(build.iota((*stated)[0], type), build.reshape(call.input(2), {}));
    return {build.add(steps, build.reshape(call.input(0), {}))};
  }
  const double start = call.real_of(0, "start");
  const double limit = call.real_of(1, "limit");
  const double delta = call.real_of(2, "delta");
  const double count = delta == 0 ? -1 : std::max(0.0, std::ceil((limit - start) / delta));
  if (!(count >= 0) || count > static_cast<double>(build.options().tensor_elements)) {
    call.fail(fmt::format("a range from {} to {} by {} is not possible", start, limit, delta));
  }
  const auto extent = static_cast<std::int64_t>(count);
  const TensorId index = build.iota(extent, type);
  return {build.add(build.multiply(index, delta), start)};
}

Values convert_eye_like(Call& call) {
  Builder& build = call.build;
  const Shape shape = call.shape(0);
  if (shape.size() != 2) {
    call.fail("the operand is not a matrix");
  }
  const auto* asked = call.attribute("dtype");
  const ElementType type = asked == nullptr
                               ? call.type(0)
                               : element_type_of(static_cast<int>(asked->i()), build.origin());
  const std::int64_t k = call.integer("k", 0);
  Array eye = graph::make_array(type, shape);
  for (std::int64_t row = 0; row < shape[0]; ++row) {
    if (k >= -row && k < shape[1] - row) {
      graph::set_integer(eye, row * shape[1] + row + k, 1);
    }
  }
  return {build.constant(std::move(eye))};
}

Values convert_trilu(Call& call) {
  Builder& build = call.build;
  const TensorId x = call.input(0);
  const int rank = build.rank(x);
  if (rank < 2) {
    call.fail("the operand is not a matrix");
  }
  const bool upper = call.integer("upper", 1) != 0;
  const std::int64_t rows = build.extent(x, rank - 2);
  const std::int64_t columns = build.extent(x, rank - 1);
  TensorId diagonal = build.integers({0});
  if (call.has(1)) {
    diagonal = build.reshape(build.cast(call.input(1), ElementType::i64), {1});
  }
  // Upper: column - row >= k; lower: column - row <= k. k may depend on data.
  const TensorId row = build.insert_axis(build.iota(rows, ElementType::i64), 1);
  const TensorId column = build.insert_axis(build.iota(columns, ElementType::i64), 0);
  const TensorId kept = build.map(upper ? MapFunction::greater_equal : MapFunction::less_equal,
                                  {build.subtract(column, row), diagonal});
  return {build.select(kept, x, build.scalar(0, build.type(x)))};
}

}  // namespace systole::frontend
