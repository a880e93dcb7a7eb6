// Convolutions. The core convolution has no bias; a transposed one is a convolution of the spread operand with the
// flipped kernel.

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "compiler/frontend/onnx/converters.hpp"
#include "compiler/frontend/onnx/convolve.hpp"
#include "compiler/frontend/onnx/spatial.hpp"

namespace systole::frontend {

namespace {

Integers kernel_of(const Call& call, const Shape& weights) {
  if (weights.size() < 3) {
    call.fail(fmt::format("the weights {} have no spatial axes", graph::to_string(weights)));
  }
  const Integers kernel(weights.begin() + 2, weights.end());
  const auto stated = call.integers("kernel_shape");
  if (stated && !stated->empty() && *stated != kernel) {
    call.fail(fmt::format("kernel_shape {} is not that of the weights {}",
                          graph::to_string(*stated), graph::to_string(weights)));
  }
  return kernel;
}

TensorId with_bias(Call& call, TensorId x, int operand) {
  if (!call.has(operand)) {
    return x;
  }
  Shape per_channel(static_cast<std::size_t>(call.build.rank(x) - 1), 1);
  per_channel[0] = call.build.extent(x, 1);
  return call.build.add(x, call.build.reshape(call.input(operand), per_channel));
}

std::int64_t checked_groups(const Call& call, const Shape& x, const Shape& w, bool transposed) {
  const std::int64_t groups = call.integer("group", 1);
  const std::int64_t channels = transposed ? w[0]
                                : groups >= 1 && w[1] <= (std::int64_t{1} << 40U) / groups
                                    ? w[1] * groups
                                    : -1;
  if (groups < 1 || x.size() != w.size() || channels != x[1] || w[0] % groups != 0) {
    call.fail(fmt::format("weights {} with {} groups do not fit the operand {}",
                          graph::to_string(w), groups, graph::to_string(x)));
  }
  return groups;
}

// w [C, O/g, k...] to the core's [O, C/g, k...], flipped along the kernel axes.
TensorId flipped_weights(Builder& build, TensorId w, std::int64_t groups) {
  const Shape shape = build.shape(w);
  Integers starts(shape.size(), 0);
  Integers steps(shape.size(), 1);
  for (std::size_t a = 2; a < shape.size(); ++a) {
    starts[a] = std::max<std::int64_t>(0, shape[a] - 1);
    steps[a] = shape[a] > 1 ? -1 : 1;
  }
  w = build.slice(w, starts, steps, shape);
  Shape split = {groups, shape[0] / groups, shape[1]};
  Shape merged = {groups * shape[1], shape[0] / groups};
  std::vector<int> perm = {0, 2, 1};
  for (std::size_t a = 2; a < shape.size(); ++a) {
    split.push_back(shape[a]);
    merged.push_back(shape[a]);
    perm.push_back(static_cast<int>(a) + 1);
  }
  return build.reshape(build.transpose(build.reshape(w, split), perm), merged);
}

// Padding of the transposed convolution: from `pads`, `output_shape` or `auto_pad`, per the specification.
void resolve_transposed_padding(const Call& call, const Shape& x, SpatialWindow& window,
                                const Integers& extra) {
  const auto asked = call.integers("output_shape");
  const std::string mode = call.text("auto_pad", "NOTSET");
  const bool same = mode == "SAME_UPPER" || mode == "SAME_LOWER";
  if (!asked && !same) {
    return;
  }
  const std::size_t rank = window.kernel.size();
  const std::size_t skip =
      asked && asked->size() == rank + 2 ? 2 : 0;  // may include batch and channels
  if (asked && asked->size() != rank + skip) {
    call.fail("output_shape does not fit the spatial rank");
  }
  for (std::size_t a = 0; a < rank; ++a) {
    const std::int64_t effective = (window.kernel[a] - 1) * window.dilations[a] + 1;
    const std::int64_t full = window.strides[a] * (x[a + 2] - 1) + extra[a] + effective;
    const std::int64_t target = asked ? (*asked)[a + skip] : x[a + 2] * window.strides[a];
    if (target < 1 || target > call.build.options().tensor_elements) {
      call.fail(fmt::format("output extent {} is not possible", target));
    }
    const std::int64_t total = full - target;
    // A larger output than the operands fill grows at its end.
    window.low[a] = total < 0 ? 0 : mode == "SAME_UPPER" ? total / 2 : total - total / 2;
    window.high[a] = total - window.low[a];
  }
}

// A filter many strides long over few channels (audio read by a window as a convolution) fills few rows of a matrix engine
// and has more taps than a partition holds. The positions within a stride become channels: x [n, c, s * m] to
// [n, c * s, m], w [o, c, k] to [o, c * s, ceil(k / s)], which moves by one. Zeros fill up both.
void strides_to_channels(Builder& build, TensorId& x, TensorId& w, graph::Convolution& op) {
  constexpr std::int64_t few_channels = 4;
  constexpr std::int64_t long_stride = 8;
  if (build.rank(x) < 3 || op.groups != 1 || !build.is_constant(w)) {
    return;
  }
  const std::size_t last = op.strides.size() - 1;
  const std::size_t axis = last + 2;
  const std::int64_t stride = op.strides[last];
  const std::int64_t channels = build.extent(x, 1);
  const std::int64_t taps = build.shape(w)[axis];
  if (channels > few_channels || stride < long_stride || taps < 2 * stride ||
      op.dilations[last] != 1 || build.count(w) != build.extent(w, 0) * channels * taps) {
    return;
  }
  const std::int64_t padded = build.shape(x)[axis] + op.pads_low[last] + op.pads_high[last];
  const std::int64_t blocks = (taps + stride - 1) / stride;
  const std::int64_t turns = (padded - taps) / stride + 1;
  if (padded < taps) {
    return;
  }
  const auto split = [&](TensorId t, std::int64_t low, std::int64_t count) {
    graph::Pad fill{Integers(axis + 1, 0), Integers(axis + 1, 0), Integers(axis + 1, 0), 0.0};
    fill.low[axis] = low;
    fill.high[axis] = count * stride - low - build.shape(t)[axis];
    Shape apart = build.shape(t);
    apart[axis] = count;
    apart.push_back(stride);
    std::vector<int> perm(apart.size());
    std::iota(perm.begin(), perm.end(), 0);
    perm.pop_back();
    perm.insert(perm.begin() + 2, static_cast<int>(axis) + 1);
    Shape merged = build.shape(t);
    merged[1] = channels * stride;
    merged[axis] = count;
    return build.reshape(build.transpose(build.reshape(build.pad(t, fill), apart), perm), merged);
  };
  x = split(x, op.pads_low[last], turns - 1 + blocks);
  w = split(w, 0, blocks);
  op.strides[last] = 1;
  op.pads_low[last] = op.pads_high[last] = 0;
}

// A filter as large as the operand is one product over channels and taps (patches given one by one).
void taps_to_channels(Builder& build, TensorId& x, TensorId& w, graph::Convolution& op) {
  const Shape from = build.shape(x);
  const Shape filter = build.shape(w);
  const auto padded = [](std::int64_t pad) { return pad != 0; };
  const auto spread = [](std::int64_t dilation) { return dilation != 1; };
  if (op.groups != 1 || std::any_of(op.dilations.begin(), op.dilations.end(), spread) ||
      !std::equal(from.begin() + 1, from.end(), filter.begin() + 1) ||
      std::any_of(op.pads_low.begin(), op.pads_low.end(), padded) ||
      std::any_of(op.pads_high.begin(), op.pads_high.end(), padded)) {
    return;
  }
  const std::size_t rank = op.strides.size();
  const auto flat = [&](TensorId t, std::int64_t rows) {
    Shape shape(rank + 2, 1);
    shape[0] = rows;
    shape[1] = graph::elements(Shape(from.begin() + 1, from.end()));
    return build.reshape(t, shape);
  };
  x = flat(x, from[0]);
  w = flat(w, filter[0]);
  op.strides.assign(rank, 1);
}

}  // namespace

TensorId convolve(Call& call, TensorId x, TensorId w) {
  const SpatialWindow window =
      spatial_window(call, call.build.shape(x), kernel_of(call, call.build.shape(w)));
  graph::Convolution op;
  op.strides = window.strides;
  op.dilations = window.dilations;
  op.pads_low = window.low;
  op.pads_high = window.high;
  op.groups = checked_groups(call, call.build.shape(x), call.build.shape(w), false);
  taps_to_channels(call.build, x, w, op);
  strides_to_channels(call.build, x, w, op);
  return call.build.convolve(x, w, op);
}

Values convert_convolution(Call& call) {
  return {with_bias(call, convolve(call, call.input(0), call.input(1)), 2)};
}

Values convert_transposed_convolution(Call& call) {
  Builder& build = call.build;
  const TensorId x = call.input(0);
  const Shape shape = build.shape(x);
  const std::int64_t groups = checked_groups(call, shape, call.shape(1), true);
  SpatialWindow window = spatial_window(call, shape, kernel_of(call, call.shape(1)));
  const std::size_t rank = window.kernel.size();
  const Integers extra = call.integers("output_padding").value_or(Integers(rank, 0));
  if (extra.size() != rank ||
      std::any_of(extra.begin(), extra.end(), [](auto e) { return e < 0 || e > 65536; })) {
    call.fail("output_padding does not fit");
  }
  resolve_transposed_padding(call, shape, window, extra);
  graph::Pad spread{Integers(rank + 2, 0), Integers(rank + 2, 0), Integers(rank + 2, 0), 0.0};
  graph::Convolution op;
  op.strides.assign(rank, 1);
  op.dilations = window.dilations;
  op.groups = groups;
  for (std::size_t a = 0; a < rank; ++a) {
    const std::int64_t reach = (window.kernel[a] - 1) * window.dilations[a];
    const std::int64_t low = reach - window.low[a];
    const std::int64_t high = reach - window.high[a] + extra[a];
    spread.interior[a + 2] = window.strides[a] - 1;
    spread.low[a + 2] =
        std::min<std::int64_t>(low, 0);  // a crop; growth is the convolution's own padding
    spread.high[a + 2] = std::min<std::int64_t>(high, 0);
    op.pads_low.push_back(std::max<std::int64_t>(low, 0));
    op.pads_high.push_back(std::max<std::int64_t>(high, 0));
  }
  const TensorId w = flipped_weights(build, call.input(1), groups);
  return {with_bias(call, build.convolve(build.pad(x, spread), w, op), 2)};
}

}  // namespace systole::frontend
