// Normalisations and softmax, in the pieces that the paper counts: reductions and element-wise maps.

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "compiler/frontend/onnx/converters.hpp"
#include "compiler/frontend/onnx/tensor.hpp"

namespace systole::frontend {

namespace {

std::vector<int> axes_from(int first, int rank) {
  std::vector<int> axes(static_cast<std::size_t>(std::max(0, rank - first)));
  std::iota(axes.begin(), axes.end(), first);
  return axes;
}

struct Normalised {
  TensorId value, mean, inverse_deviation;
};

// (x - mean) / sqrt(variance + epsilon) over `axes`.
Normalised normalise(Builder& build, TensorId x, const std::vector<int>& axes, double epsilon) {
  Normalised out;
  out.mean = build.reduce(ReduceFunction::mean, x, axes, true);
  const TensorId centred = build.subtract(x, out.mean);
  const TensorId square = build.map(MapFunction::square, {centred});
  const TensorId variance = build.reduce(ReduceFunction::mean, square, axes, true);
  out.inverse_deviation = build.map(MapFunction::rsqrt, {build.add(variance, epsilon)});
  out.value = build.multiply(centred, out.inverse_deviation);
  return out;
}

// A vector over axis 1 of a tensor of this rank.
TensorId per_channel(Builder& build, TensorId vector, int rank) {
  Shape shape(static_cast<std::size_t>(std::max(1, rank - 1)), 1);
  shape[0] = build.count(vector);
  return build.reshape(vector, shape);
}

TensorId scaled(Call& call, TensorId x, int scale, int bias) {
  if (call.has(scale)) {
    x = call.build.multiply(x, call.input(scale));
  }
  return call.has(bias) ? call.build.add(x, call.input(bias)) : x;
}

// The type that statistics are computed in.
ElementType stash_type(const Call& call) {
  return element_type_of(static_cast<int>(call.integer("stash_type", 1)), call.build.origin());
}

}  // namespace

Values convert_softmax(Call& call) {
  Builder& build = call.build;
  const TensorId x = call.input(0);
  const bool flattens = call.opset < 13;
  const int axis = call.axis(call.integer("axis", flattens ? 1 : -1), std::max(1, call.rank(0)));
  if (call.rank(0) == 0) {
    const bool logarithm = call.op() == "LogSoftmax";
    return {build.filled({}, logarithm ? 0.0 : 1.0, build.type(x))};
  }
  // Before opset 13 all axes from `axis` on are one.
  const std::vector<int> axes = flattens ? axes_from(axis, call.rank(0)) : std::vector<int>{axis};
  const TensorId shifted = build.subtract(x, build.reduce(ReduceFunction::max, x, axes, true));
  const TensorId powers = build.map(MapFunction::exp, {shifted});
  const TensorId sum = build.reduce(ReduceFunction::sum, powers, axes, true);
  if (call.op() == "LogSoftmax") {
    return {build.subtract(shifted, build.map(MapFunction::log, {sum}))};
  }
  return {build.divide(powers, sum)};
}

Values convert_batch_normalization(Call& call) {
  Builder& build = call.build;
  const TensorId x = call.input(0);
  if (call.integer("training_mode", 0) != 0) {
    return batch_normalization_training(call);
  }
  if (call.opset < 9 && call.integer("spatial", 1) == 0) {
    call.fail("spatial = 0 is not supported", "convert the model to opset 9");
  }
  const ElementType type = build.type(x);
  const double epsilon = call.real("epsilon", 1e-5);
  const TensorId scale = build.cast(call.input(1), type);
  const TensorId bias = build.cast(call.input(2), type);
  const TensorId mean = build.cast(call.input(3), type);
  const TensorId variance = build.cast(call.input(4), type);
  const TensorId deviation = build.map(MapFunction::sqrt, {build.add(variance, epsilon)});
  const TensorId factor = build.divide(scale, deviation);
  const TensorId offset = build.subtract(bias, build.multiply(mean, factor));
  const TensorId product = build.multiply(x, per_channel(build, factor, call.rank(0)));
  return {build.add(product, per_channel(build, offset, call.rank(0)))};
}

Values batch_normalization_training(Call& call) {
  Builder& build = call.build;
  const TensorId x = call.input(0);
  const int rank = call.rank(0);
  std::vector<int> axes = axes_from(1, rank);
  if (!axes.empty()) {
    axes[0] = 0;  // all but the channels
  }
  const double momentum = call.real("momentum", 0.9);
  const Normalised n = normalise(build, x, axes, call.real("epsilon", 1e-5));
  const TensorId value = build.add(build.multiply(n.value, per_channel(build, call.input(1), rank)),
                                   per_channel(build, call.input(2), rank));
  const TensorId centred = build.subtract(x, n.mean);
  const TensorId variance =
      build.reduce(ReduceFunction::mean, build.map(MapFunction::square, {centred}), axes, true);
  const auto running = [&](TensorId old, TensorId current) {
    const TensorId flat = build.reshape(current, build.shape(old));
    return build.add(build.multiply(old, momentum), build.multiply(flat, 1.0 - momentum));
  };
  return {value, running(call.input(3), n.mean), running(call.input(4), variance)};
}

Values convert_instance_normalization(Call& call) {
  Builder& build = call.build;
  const int rank = call.rank(0);
  const TensorId value =
      normalise(build, call.input(0), axes_from(2, rank), call.real("epsilon", 1e-5)).value;
  return {build.add(build.multiply(value, per_channel(build, call.input(1), rank)),
                    per_channel(build, call.input(2), rank))};
}

Values convert_group_normalization(Call& call) {
  Builder& build = call.build;
  const Shape shape = call.shape(0);
  const std::int64_t groups = call.integer("num_groups", 0);
  if (shape.size() < 2 || groups < 1 || shape[1] % groups != 0) {
    call.fail(
        fmt::format("{} groups do not divide the channels of {}", groups, graph::to_string(shape)));
  }
  const std::int64_t inside = shape[1] / groups;
  Shape split = {shape[0], groups, inside};
  split.insert(split.end(), shape.begin() + 2, shape.end());
  const TensorId x = build.reshape(call.input(0), split);
  const int rank = static_cast<int>(split.size());
  TensorId value = normalise(build, x, axes_from(2, rank), call.real("epsilon", 1e-5)).value;
  // Opset 18 has one scale per group, opset 21 one per channel.
  const bool by_group = build.count(call.input(1)) == groups && inside != 1;
  if (!by_group) {
    value = build.reshape(value, shape);
  }
  const int scaled_rank = by_group ? rank : call.rank(0);
  value = build.add(build.multiply(value, per_channel(build, call.input(1), scaled_rank)),
                    per_channel(build, call.input(2), scaled_rank));
  return {build.reshape(value, shape)};
}

Values convert_layer_normalization(Call& call) {
  Builder& build = call.build;
  const ElementType type = call.type(0);
  const TensorId x = build.cast(call.input(0), stash_type(call));
  const int axis = call.axis(call.integer("axis", -1), call.rank(0));
  const Normalised n =
      normalise(build, x, axes_from(axis, call.rank(0)), call.real("epsilon", 1e-5));
  return {scaled(call, build.cast(n.value, type), 1, 2), n.mean, n.inverse_deviation};
}

Values convert_rms_normalization(Call& call) {
  Builder& build = call.build;
  const ElementType type = call.type(0);
  const TensorId x = build.cast(call.input(0), stash_type(call));
  const int axis = call.axis(call.integer("axis", -1), call.rank(0));
  const TensorId square = build.map(MapFunction::square, {x});
  const TensorId mean =
      build.reduce(ReduceFunction::mean, square, axes_from(axis, call.rank(0)), true);
  const TensorId inverse =
      build.map(MapFunction::rsqrt, {build.add(mean, call.real("epsilon", 1e-5))});
  return {scaled(call, build.cast(build.multiply(x, inverse), type), 1, 2)};
}

// x / (bias + alpha / size * sum of squares of `size` neighbouring channels)^beta. The neighbours are a sliding window
// along the channels, seen as a spatial axis.
Values convert_local_response_normalization(Call& call) {
  Builder& build = call.build;
  const TensorId x = call.input(0);
  const Shape shape = build.shape(x);
  const std::int64_t size = call.integer("size", 0);
  if (shape.size() < 2 || size < 1 || size > (std::int64_t{1} << 31U)) {
    call.fail(fmt::format("size {} does not fit {}", size, graph::to_string(shape)));
  }
  const std::int64_t plane = graph::elements(Shape(shape.begin() + 2, shape.end()));
  const TensorId square = build.map(MapFunction::square, {x});
  graph::Window op;
  op.function = ReduceFunction::sum;
  op.kernel = {size, 1};
  op.strides = {1, 1};
  op.dilations = {1, 1};
  op.pads_low = {(size - 1) / 2, 0};
  op.pads_high = {size - 1 - (size - 1) / 2, 0};
  const TensorId sums = build.window(build.reshape(square, {shape[0], 1, shape[1], plane}), op);
  const double alpha = call.real("alpha", 1e-4) / static_cast<double>(size);
  const TensorId base =
      build.add(build.multiply(build.reshape(sums, shape), alpha), call.real("bias", 1.0));
  const double beta = call.real("beta", 0.75);
  const TensorId exponent = build.scalar(-beta, build.type(x));
  return {build.multiply(x, build.map(MapFunction::power, {base, exponent}))};
}

Values convert_lp_normalization(Call& call) {
  Builder& build = call.build;
  const TensorId x = call.input(0);
  const int axis = call.axis(call.integer("axis", -1), call.rank(0));
  if (call.integer("p", 2) == 1) {
    const TensorId sum =
        build.reduce(ReduceFunction::sum, build.map(MapFunction::abs, {x}), {axis}, true);
    return {build.divide(x, sum)};
  }
  const TensorId sum =
      build.reduce(ReduceFunction::sum, build.map(MapFunction::square, {x}), {axis}, true);
  return {build.divide(x, build.map(MapFunction::sqrt, {sum}))};
}

Values convert_mean_variance_normalization(Call& call) {
  Builder& build = call.build;
  const TensorId x = call.input(0);
  const std::vector<int> axes =
      call.axes(call.integers("axes").value_or(Integers{0, 2, 3}), call.rank(0));
  const TensorId mean = build.reduce(ReduceFunction::mean, x, axes, true);
  const TensorId centred = build.subtract(x, mean);
  const TensorId variance =
      build.reduce(ReduceFunction::mean, build.map(MapFunction::square, {centred}), axes, true);
  return {build.divide(centred, build.add(build.map(MapFunction::sqrt, {variance}), 1e-9))};
}

}  // namespace systole::frontend
