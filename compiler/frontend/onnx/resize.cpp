// Resize and Upsample, axis by axis: nearest neighbours are a gather, linear and cubic interpolation a product with a
// [new extent, old extent] matrix. Coordinates are computed with graph operators, so that scales which depend on data stay in
// the graph and constant ones fold to constant indices and matrices.

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "compiler/frontend/onnx/converters.hpp"

namespace systole::frontend {

namespace {

struct Request {
  std::string mode, coordinates, rounding;
  Shape target;
  TensorId scales;          // [rank], floating point; invalid: new extent / old extent
  std::vector<double> roi;  // starts then ends, per axis
  double cubic_a = -0.75;
  bool exclude_outside = false;
  double outside_value = 0.0;
};

// Element types for coordinates: doubles fold exactly as the specification computes; what stays in the graph is single.
ElementType coordinate_type(const Builder& build, const Request& request) {
  const bool folds = !request.scales.valid() || build.value(request.scales) != nullptr;
  return folds ? ElementType::f64 : ElementType::f32;
}

TensorId scale_of(Builder& build, const Request& request, int axis, std::int64_t from,
                  ElementType type) {
  if (!request.scales.valid()) {
    const auto target = static_cast<double>(request.target[static_cast<std::size_t>(axis)]);
    return build.scalar(target / static_cast<double>(from), type);
  }
  return build.cast(build.reshape(build.slice_axis(request.scales, 0, axis, 1), {}), type);
}

// The old coordinate of every new position along an axis, [new extent].
TensorId coordinates(Call& call, const Request& request, int axis, std::int64_t from) {
  Builder& build = call.build;
  const ElementType type = coordinate_type(build, request);
  const std::int64_t to = request.target[static_cast<std::size_t>(axis)];
  const TensorId position = build.iota(to, type);
  const TensorId scale = scale_of(build, request, axis, from, type);
  const std::string& how = request.coordinates;
  const auto last = static_cast<double>(from - 1);
  if (how == "align_corners") {
    return build.multiply(position, to > 1 ? last / static_cast<double>(to - 1) : 0.0);
  }
  if (how == "asymmetric") {
    return build.divide(position, scale);
  }
  if (how == "tf_half_pixel_for_nn") {
    return build.divide(build.add(position, 0.5), scale);
  }
  if (how == "tf_crop_and_resize") {
    const auto rank = request.target.size();
    const auto a = static_cast<std::size_t>(axis);
    const double start = request.roi.at(a);
    const double end = request.roi.at(a + rank);
    if (to == 1) {
      return build.filled({1}, 0.5 * (start + end) * last, type);
    }
    return build.add(build.multiply(position, (end - start) * last / static_cast<double>(to - 1)),
                     start * last);
  }
  if (how == "pytorch_half_pixel" && to == 1) {
    return build.filled({1}, 0.0, type);
  }
  if (how != "half_pixel" && how != "pytorch_half_pixel" && how != "half_pixel_symmetric") {
    call.fail(fmt::format("coordinate_transformation_mode '{}' is unknown", how));
  }
  const TensorId plain = build.add(build.divide(build.add(position, 0.5), scale), -0.5);
  if (how != "half_pixel_symmetric") {
    return plain;
  }
  // Centres the picture when the new extent was rounded down.
  const TensorId exact = build.multiply(scale, static_cast<double>(from));
  const TensorId adjusted = build.divide(build.scalar(static_cast<double>(to), type), exact);
  const TensorId one = build.scalar(1.0, type);
  const TensorId offset =
      build.multiply(build.subtract(one, adjusted), static_cast<double>(from) / 2.0);
  return build.add(plain, offset);
}

TensorId nearest_index(Call& call, const Request& request, TensorId coordinate, std::int64_t from) {
  Builder& build = call.build;
  TensorId index;
  if (request.rounding == "floor") {
    index = build.map(MapFunction::floor, {coordinate});
  } else if (request.rounding == "ceil") {
    index = build.map(MapFunction::ceil, {coordinate});
  } else if (request.rounding == "round_prefer_ceil") {
    index = build.map(MapFunction::floor, {build.add(coordinate, 0.5)});
  } else {
    index = build.map(MapFunction::ceil, {build.add(coordinate, -0.5)});
  }
  const auto last = static_cast<double>(from - 1);
  return build.cast(build.map(MapFunction::clip, {index}, 0.0, last), ElementType::i64);
}

// A gather, or the cheaper movement that a constant index list amounts to: every element repeated equally often, or
// every n-th element.
TensorId pick(Builder& build, TensorId x, TensorId index, int axis) {
  const std::int64_t from = build.extent(x, axis);
  const std::int64_t to = build.count(index);
  const Array* known = build.value(index);
  if (known == nullptr || from == 0) {
    return build.gather(x, index, axis);
  }
  const auto all = [&](auto&& expected) {
    bool same = true;
    for (std::int64_t i = 0; same && i < to; ++i) {
      same = graph::get_integer(*known, i) == expected(i);
    }
    return same;
  };
  const std::int64_t times = to / from;
  if (to % from == 0 && all([&](std::int64_t i) { return i / times; })) {
    Shape wide = build.shape(x);
    Shape target = wide;
    wide.insert(wide.begin() + axis + 1, times);
    target[static_cast<std::size_t>(axis)] = to;
    return build.reshape(build.expand(build.insert_axis(x, axis + 1), wide), target);
  }
  const std::int64_t start = to > 0 ? graph::get_integer(*known, 0) : 0;
  const std::int64_t step = to > 1 ? graph::get_integer(*known, 1) - start : 1;
  if (step != 0 && all([&](std::int64_t i) { return start + i * step; })) {
    return build.slice_axis(x, axis, start, to, step);
  }
  return build.gather(x, index, axis);
}

// [new, old]: 1 - |c - i| where positive, c clamped to the axis.
TensorId linear_matrix(Builder& build, TensorId coordinate, std::int64_t from) {
  const ElementType type = build.type(coordinate);
  const TensorId c = build.map(MapFunction::clip, {coordinate}, 0.0, static_cast<double>(from - 1));
  const TensorId distance = build.map(
      MapFunction::abs,
      {build.subtract(build.insert_axis(c, 1), build.insert_axis(build.iota(from, type), 0))});
  return build.map(MapFunction::relu, {build.subtract(build.scalar(1.0, type), distance)});
}

// The weight of the neighbour at distance |d|: Keys' cubic convolution with parameter a.
TensorId cubic_weight(Builder& build, TensorId distance, double a) {
  const ElementType type = build.type(distance);
  const TensorId d = build.map(MapFunction::abs, {distance});
  const auto polynomial = [&](double c3, double c2, double c1, double c0) {
    TensorId value = build.add(build.multiply(d, c3), c2);
    value = build.add(build.multiply(value, d), c1);
    return build.add(build.multiply(value, d), c0);
  };
  const TensorId near = polynomial(a + 2, -(a + 3), 0, 1);
  const TensorId far = polynomial(a, -5 * a, 8 * a, -4 * a);
  const TensorId is_near = build.map(MapFunction::less_equal, {d, build.scalar(1.0, type)});
  const TensorId is_far = build.map(MapFunction::less, {d, build.scalar(2.0, type)});
  return build.select(is_near, near, build.select(is_far, far, build.scalar(0.0, type)));
}

// [new, old]: four neighbours, those beyond the edge repeating it, or left out and the rest scaled to sum 1.
TensorId cubic_matrix(Builder& build, const Request& request, TensorId coordinate,
                      std::int64_t from) {
  const ElementType type = build.type(coordinate);
  const auto last = static_cast<double>(from - 1);
  const TensorId base = build.map(MapFunction::floor, {coordinate});
  const TensorId columns = build.insert_axis(build.iota(from, type), 0);
  TensorId matrix = build.scalar(0.0, type);
  for (const double k : {-1.0, 0.0, 1.0, 2.0}) {
    const TensorId place = build.add(base, k);
    const TensorId weight = cubic_weight(build, build.subtract(coordinate, place), request.cubic_a);
    const TensorId at =
        request.exclude_outside ? place : build.map(MapFunction::clip, {place}, 0.0, last);
    const TensorId hit =
        build.cast(build.map(MapFunction::equal, {build.insert_axis(at, 1), columns}), type);
    matrix = build.add(matrix, build.multiply(hit, build.insert_axis(weight, 1)));
  }
  if (request.exclude_outside) {
    matrix = build.divide(matrix, build.reduce(ReduceFunction::sum, matrix, {1}, true));
  }
  return matrix;
}

TensorId along_axis(Builder& build, TensorId x, TensorId matrix, int axis) {
  const int rank = build.rank(x);
  graph::Contraction op;
  op.lhs.resize(static_cast<std::size_t>(rank));
  std::iota(op.lhs.begin(), op.lhs.end(), 0);
  op.rhs = {rank, axis};
  op.out = op.lhs;
  op.out[static_cast<std::size_t>(axis)] = rank;
  return build.contract(x, build.cast(matrix, build.type(x)), op);
}

// Positions whose coordinate leaves the axis take the extrapolation value.
TensorId extrapolated(Builder& build, const Request& request, TensorId x, TensorId coordinate,
                      int axis, std::int64_t from) {
  const ElementType type = build.type(coordinate);
  const TensorId below = build.map(MapFunction::less, {coordinate, build.scalar(0.0, type)});
  const TensorId above = build.map(MapFunction::greater,
                                   {coordinate, build.scalar(static_cast<double>(from - 1), type)});
  Shape shape(static_cast<std::size_t>(build.rank(x)), 1);
  shape[static_cast<std::size_t>(axis)] = build.count(coordinate);
  const TensorId outside = build.reshape(build.map(MapFunction::logical_or, {below, above}), shape);
  return build.select(outside, build.scalar(request.outside_value, build.type(x)), x);
}

bool is_unchanged(const Builder& build, const Request& request, int axis, std::int64_t from) {
  if (request.coordinates == "tf_crop_and_resize" ||
      request.target[static_cast<std::size_t>(axis)] != from) {
    return false;
  }
  if (!request.scales.valid()) {
    return true;
  }
  const Array* known = build.value(request.scales);
  return known != nullptr && graph::get(*known, axis) == 1.0;
}

Values resized(Call& call, const Request& request) {
  Builder& build = call.build;
  TensorId x = call.input(0);
  build.check_size(request.target);
  std::vector<TensorId> coordinate(request.target.size());
  const Shape original = build.shape(x);
  for (int axis = 0; axis < build.rank(x); ++axis) {
    const auto a = static_cast<std::size_t>(axis);
    if (is_unchanged(build, request, axis, original[a])) {
      continue;
    }
    if (original[a] == 0 || request.target[a] == 0) {
      call.fail("an empty axis cannot be resized");
    }
    if (original[a] > (std::int64_t{1} << 26U) / request.target[a] && request.mode != "nearest") {
      call.fail(fmt::format("interpolation from {} to {} elements is too large", original[a],
                            request.target[a]));
    }
    coordinate[a] = coordinates(call, request, axis, original[a]);
    if (request.mode == "nearest") {
      x = pick(build, x, nearest_index(call, request, coordinate[a], original[a]), axis);
    } else if (request.mode == "linear" || request.mode == "bilinear") {
      x = along_axis(build, x, linear_matrix(build, coordinate[a], original[a]), axis);
    } else if (request.mode == "cubic") {
      x = along_axis(build, x, cubic_matrix(build, request, coordinate[a], original[a]), axis);
    } else {
      call.fail(fmt::format("mode '{}' is unknown", request.mode));
    }
  }
  for (int axis = 0; request.coordinates == "tf_crop_and_resize" && axis < build.rank(x); ++axis) {
    const auto a = static_cast<std::size_t>(axis);
    x = extrapolated(build, request, x, coordinate[a], axis, original[a]);
  }
  return {x};
}

// Scales as a vector over all axes; those given for `axes` only are placed among ones.
TensorId spread_over_axes(Call& call, TensorId given, const std::vector<int>& axes) {
  Builder& build = call.build;
  const auto rank = static_cast<std::size_t>(call.rank(0));
  std::vector<TensorId> parts(rank, build.filled({1}, 1.0, build.type(given)));
  for (std::size_t i = 0; i < axes.size(); ++i) {
    parts[static_cast<std::size_t>(axes[i])] =
        build.slice_axis(given, 0, static_cast<std::int64_t>(i), 1);
  }
  return build.concat(parts, 0);
}

Shape scaled_shape(Call& call, TensorId scales) {
  const Array* known = call.build.value(scales);
  if (known == nullptr) {
    if (const auto stated = call.stated_shape(0)) {
      return *stated;
    }
    call.fail(
        "the scales depend on the values of a graph input and the model does not state the "
        "output's shape",
        "make them constant");
  }
  Shape target = call.shape(0);
  for (std::size_t a = 0; a < target.size(); ++a) {
    const double extent = std::floor(
        static_cast<double>(target[a]) *
        static_cast<double>(static_cast<float>(graph::get(*known, static_cast<std::int64_t>(a)))));
    if (!(extent >= 0) || extent > static_cast<double>(call.build.options().tensor_elements)) {
      call.fail("a scale is not possible");
    }
    target[a] = static_cast<std::int64_t>(extent);
  }
  return target;
}

std::vector<int> resized_axes(const Call& call) {
  std::vector<int> axes;
  if (const auto given = call.integers("axes")) {
    for (const std::int64_t axis : *given) {
      axes.push_back(call.axis(axis, call.rank(0)));
    }
    return axes;
  }
  axes.resize(static_cast<std::size_t>(call.rank(0)));
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

// The target from `sizes`, aspect ratio kept where asked; sets the scales that go with it.
void target_from_sizes(Call& call, Request& request, const std::vector<int>& axes) {
  request.target = call.shape(0);
  const Array* known = call.build.value(call.input(3));
  if (known == nullptr && call.stated_shape(0)) {
    request.target = *call.stated_shape(0);
    return;
  }
  const Integers sizes = call.integers_of(3, "sizes");
  const std::string policy = call.text("keep_aspect_ratio_policy", "stretch");
  if (sizes.size() != axes.size()) {
    call.fail(fmt::format("{} sizes for {} axes", sizes.size(), axes.size()));
  }
  double common = policy == "not_larger" ? INFINITY : 0.0;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto a = static_cast<std::size_t>(axes[i]);
    const double ratio = static_cast<double>(sizes[i]) /
                         static_cast<double>(std::max<std::int64_t>(1, request.target[a]));
    common = policy == "not_larger" ? std::min(common, ratio) : std::max(common, ratio);
  }
  std::vector<double> scales(request.target.size(), 1.0);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto a = static_cast<std::size_t>(axes[i]);
    if (policy == "stretch") {
      request.target[a] = sizes[i];
    } else {
      scales[a] = common;
      request.target[a] = static_cast<std::int64_t>(
          std::floor(common * static_cast<double>(request.target[a]) + 0.5));
    }
  }
  if (policy != "stretch") {
    request.scales =
        call.build.reals(scales, ElementType::f64, {static_cast<std::int64_t>(scales.size())});
  }
}

void read_roi(Call& call, Request& request, const std::vector<int>& axes) {
  const Array& given = call.value_of(1, "the region of interest");
  const std::size_t rank = request.target.size();
  request.roi.assign(2 * rank, 0.0);
  std::fill(request.roi.begin() + static_cast<std::ptrdiff_t>(rank), request.roi.end(), 1.0);
  if (graph::elements(given.shape) != static_cast<std::int64_t>(2 * axes.size())) {
    call.fail("the region of interest does not fit the axes");
  }
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto a = static_cast<std::size_t>(axes[i]);
    request.roi[a] = graph::get(given, static_cast<std::int64_t>(i));
    request.roi[a + rank] = graph::get(given, static_cast<std::int64_t>(i + axes.size()));
  }
}

void check_antialias(const Call& call, const Request& request) {
  for (std::size_t a = 0; call.integer("antialias", 0) != 0 && a < request.target.size(); ++a) {
    if (request.target[a] < call.shape(0)[a]) {
      call.fail("antialiased downsampling is not supported", "export without antialias");
    }
  }
}

}  // namespace

Values convert_resize(Call& call) {
  Request request;
  request.mode = call.text("mode", "nearest");
  request.coordinates =
      call.text("coordinate_transformation_mode", call.opset < 11 ? "asymmetric" : "half_pixel");
  request.rounding = call.text("nearest_mode", call.opset < 11 ? "floor" : "round_prefer_floor");
  request.cubic_a = call.real("cubic_coeff_a", -0.75);
  request.exclude_outside = call.integer("exclude_outside", 0) != 0;
  request.outside_value = call.real("extrapolation_value", 0.0);
  const std::vector<int> axes = resized_axes(call);
  const int scales = call.opset < 11 ? 1 : 2;
  if (call.opset >= 11 && call.has(3) && call.build.count(call.input(3)) > 0) {
    target_from_sizes(call, request, axes);
  } else {
    if (!call.has(scales) ||
        call.build.count(call.input(scales)) != static_cast<std::int64_t>(axes.size())) {
      call.fail("neither sizes nor scales fit the operand");
    }
    request.scales =
        call.build.cast(spread_over_axes(call, call.input(scales), axes), ElementType::f32);
    request.target = scaled_shape(call, request.scales);
  }
  if (request.target.size() != call.shape(0).size()) {
    call.fail("the target has another rank than the operand");
  }
  if (request.coordinates == "tf_crop_and_resize") {
    read_roi(call, request, axes);
  }
  check_antialias(call, request);
  return resized(call, request);
}

Values convert_upsample(Call& call) {
  Request request;
  request.mode = call.text("mode", "nearest");
  request.coordinates = "asymmetric";
  request.rounding = "floor";
  const auto rank = static_cast<std::int64_t>(call.rank(0));
  if (call.has(1)) {
    request.scales = call.input(1);
  } else {
    std::vector<double> scales = call.reals("scales");
    if (scales.empty() && rank == 4) {  // opset 1
      scales = {1.0, 1.0, call.real("height_scale", 1.0), call.real("width_scale", 1.0)};
    }
    if (static_cast<std::int64_t>(scales.size()) != rank) {
      call.fail("the scales do not fit the operand");
    }
    request.scales = call.build.reals(scales, ElementType::f32, {rank});
  }
  if (call.build.count(request.scales) != rank) {
    call.fail("the scales do not fit the operand");
  }
  request.target = scaled_shape(call, request.scales);
  return resized(call, request);
}

}  // namespace systole::frontend
