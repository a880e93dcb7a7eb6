// Pooling: windows for maxima and sums; averages divide by a count that shapes alone decide.

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "compiler/frontend/onnx/converters.hpp"
#include "compiler/frontend/onnx/proto.hpp"
#include "compiler/frontend/onnx/spatial.hpp"

namespace systole::frontend {

namespace {

struct Pool {
  SpatialWindow window;  // padding as the model gives it
  graph::Window op;      // high padding adjusted so that the core's count is the model's
  Integers counts;       // windows per spatial axis
};

Pool pool_of(Call& call) {
  const Shape& x = call.shape(0);
  const auto kernel = call.integers("kernel_shape");
  if (!kernel) {
    call.fail("no kernel_shape");
  }
  Pool pool;
  pool.window = spatial_window(call, x, *kernel);
  pool.op.kernel = pool.window.kernel;
  pool.op.strides = pool.window.strides;
  pool.op.dilations = pool.window.dilations;
  pool.op.pads_low = pool.window.low;
  pool.op.pads_high = pool.window.high;
  const bool up = call.integer("ceil_mode", 0) != 0;
  for (std::size_t a = 0; a < kernel->size(); ++a) {
    const std::int64_t count = window_count(pool.window, a, x[a + 2], up);
    const std::int64_t effective = (pool.op.kernel[a] - 1) * pool.op.dilations[a] + 1;
    const std::int64_t needed = (count - 1) * pool.op.strides[a] + effective;
    if (count < 1) {
      call.fail(fmt::format("the window does not fit the operand {}", graph::to_string(x)));
    }
    pool.op.pads_high[a] = std::max(pool.op.pads_high[a], needed - x[a + 2] - pool.window.low[a]);
    pool.counts.push_back(count);
  }
  return pool;
}

// Maxima and sums of a large window are taken axis by axis: fewer elements are read, and one window's span, which its
// dilations may stretch over the whole image, need not fit a partition.
TensorId pooled(Builder& build, TensorId x, const graph::Window& op) {
  constexpr std::int64_t large_window = 256;
  if (graph::elements(op.kernel) <= large_window) {
    return build.window(x, op);
  }
  const std::size_t rank = op.kernel.size();
  for (std::size_t a = rank; a-- > 0;) {
    const Integers ones(rank, 1);
    const Integers zeros(rank, 0);
    graph::Window one{op.function, ones, ones, zeros, zeros, ones};
    one.kernel[a] = op.kernel[a];
    one.strides[a] = op.strides[a];
    one.dilations[a] = op.dilations[a];
    one.pads_low[a] = op.pads_low[a];
    one.pads_high[a] = op.pads_high[a];
    x = build.window(x, one);
  }
  return x;
}

// How many elements window i of an axis averages over.
std::int64_t covered(const Pool& pool, std::size_t axis, std::int64_t extent, std::int64_t i,
                     bool with_padding) {
  const std::int64_t start = i * pool.op.strides[axis] - pool.window.low[axis];
  const std::int64_t first = with_padding ? -pool.window.low[axis] : 0;
  const std::int64_t end = with_padding ? extent + pool.window.high[axis] : extent;
  std::int64_t count = 0;
  for (std::int64_t k = 0; k < pool.op.kernel[axis]; ++k) {
    const std::int64_t at = start + k * pool.op.dilations[axis];
    count += at >= first && at < end ? 1 : 0;
  }
  return count;
}

// The divisor of each window, [spatial...], or one number where all agree.
TensorId divisor(Call& call, const Pool& pool, bool with_padding, ElementType type) {
  Builder& build = call.build;
  const Shape& x = call.shape(0);
  TensorId total = build.scalar(1, type);
  for (std::size_t a = 0; a < pool.counts.size(); ++a) {
    std::vector<double> counts;
    for (std::int64_t i = 0; i < pool.counts[a]; ++i) {
      counts.push_back(static_cast<double>(covered(pool, a, x[a + 2], i, with_padding)));
    }
    if (std::adjacent_find(counts.begin(), counts.end(), std::not_equal_to<>()) == counts.end()) {
      counts.resize(1);
    }
    Shape shape(pool.counts.size() - a, 1);
    shape[0] = static_cast<std::int64_t>(counts.size());
    const bool uniform = counts.size() == 1;
    total = build.multiply(total, build.reals(counts, type, uniform ? Shape{} : shape));
  }
  return total;
}

std::vector<int> spatial_axes(const Call& call) {
  std::vector<int> axes(static_cast<std::size_t>(std::max(0, call.rank(0) - 2)));
  std::iota(axes.begin(), axes.end(), 2);
  return axes;
}

// |x|^p, and its inverse on the sum.
TensorId power_of(Builder& build, TensorId x, double p) {
  if (p == 1.0) {
    return build.map(MapFunction::abs, {x});
  }
  if (p == 2.0) {
    return build.map(MapFunction::square, {x});
  }
  return build.map(MapFunction::power,
                   {build.map(MapFunction::abs, {x}), build.scalar(p, build.type(x))});
}

TensorId root_of(Builder& build, TensorId x, double p) {
  if (p == 1.0) {
    return x;
  }
  if (p == 2.0) {
    return build.map(MapFunction::sqrt, {x});
  }
  return build.map(MapFunction::power, {x, build.scalar(1.0 / p, build.type(x))});
}

double norm_order(const Call& call) {
  const auto* p = call.attribute("p");
  return p == nullptr ? 2.0
         : p->has_f() ? static_cast<double>(p->f())
                      : static_cast<double>(p->i());
}

// Positions of every element in its [spatial...] plane, counted over the whole tensor as MaxPool numbers them.
TensorId flat_positions(Builder& build, const Shape& shape) {
  return build.reshape(build.iota(graph::elements(shape), ElementType::f32), shape);
}

// The index output of MaxPool: the smallest flat position in the window whose element equals the maximum, taken window
// offset by window offset from the last to the first.
TensorId max_positions(Call& call, const Pool& pool, TensorId maxima) {
  Builder& build = call.build;
  const TensorId x = call.input(0);
  const Shape shape = build.shape(x);
  if (call.integer("storage_order", 0) != 0 && shape.size() > 4) {
    call.fail("column-major indices above rank 4 are not supported");
  }
  TensorId positions = flat_positions(build, shape);
  if (call.integer("storage_order", 0) != 0 && shape.size() == 4) {
    const TensorId swapped = flat_positions(build, {shape[0], shape[1], shape[3], shape[2]});
    positions = build.transpose(swapped, {0, 1, 3, 2});
  }
  graph::Pad pad{Integers(shape.size(), 0), Integers(shape.size(), 0), Integers(shape.size(), 0),
                 0.0};
  std::int64_t offsets = 1;
  for (std::size_t a = 0; a < pool.counts.size(); ++a) {
    pad.low[a + 2] = pool.op.pads_low[a];
    pad.high[a + 2] = pool.op.pads_high[a];
    offsets *= pool.op.kernel[a];
  }
  const TensorId padded_x = build.pad(x, pad);
  pad.value = -1.0;  // marks padding, whose value may equal the maximum
  const TensorId padded_positions = build.pad(positions, pad);
  TensorId result = build.filled(build.shape(maxima), 0, ElementType::f32);
  for (std::int64_t offset = offsets - 1; offset >= 0; --offset) {
    Integers starts(shape.size(), 0);
    Integers steps(shape.size(), 1);
    std::int64_t rest = offset;
    for (std::size_t a = pool.counts.size(); a-- > 0;) {
      starts[a + 2] = rest % pool.op.kernel[a] * pool.op.dilations[a];
      steps[a + 2] = pool.counts[a] > 1 ? pool.op.strides[a] : 1;
      rest /= pool.op.kernel[a];
    }
    const TensorId values = build.slice(padded_x, starts, steps, build.shape(maxima));
    const TensorId places = build.slice(padded_positions, starts, steps, build.shape(maxima));
    const TensorId hit = build.map(
        MapFunction::logical_and,
        {build.map(MapFunction::equal, {values, maxima}),
         build.map(MapFunction::greater_equal, {places, build.scalar(0, ElementType::f32)})});
    result = build.select(hit, places, result);
  }
  return build.cast(result, ElementType::i64);
}

}  // namespace

Values convert_max_pool(Call& call) {
  Pool pool = pool_of(call);
  pool.op.function = ReduceFunction::max;
  const TensorId maxima = pooled(call.build, call.input(0), pool.op);
  Values out{maxima};
  if (call.wants_output(1)) {
    out.push_back(max_positions(call, pool, maxima));
  }
  return out;
}

Values convert_average_pool(Call& call) {
  Pool pool = pool_of(call);
  pool.op.function = ReduceFunction::sum;
  const TensorId sum = pooled(call.build, call.input(0), pool.op);
  const bool with_padding = call.integer("count_include_pad", 0) != 0;
  return {call.build.divide(sum, divisor(call, pool, with_padding, call.build.type(sum)))};
}

Values convert_lp_pool(Call& call) {
  Pool pool = pool_of(call);
  pool.op.function = ReduceFunction::sum;
  const double p = norm_order(call);
  const TensorId sum = pooled(call.build, power_of(call.build, call.input(0), p), pool.op);
  return {root_of(call.build, sum, p)};
}

Values convert_global_pool(Call& call) {
  Builder& build = call.build;
  const TensorId x = call.input(0);
  if (call.op() == "GlobalMaxPool") {
    return {build.reduce(ReduceFunction::max, x, spatial_axes(call), true)};
  }
  if (call.op() == "GlobalAveragePool") {
    return {build.reduce(ReduceFunction::mean, x, spatial_axes(call), true)};
  }
  const double p = norm_order(call);
  return {root_of(
      build, build.reduce(ReduceFunction::sum, power_of(build, x, p), spatial_axes(call), true),
      p)};
}

// Scatters the elements to the flat positions that MaxPool gave; everything else is zero.
Values convert_max_unpool(Call& call) {
  Builder& build = call.build;
  const Shape& x = call.shape(0);
  const SpatialWindow window =
      spatial_window(call, x, call.integers("kernel_shape").value_or(Integers()));
  Shape small = x;
  for (std::size_t a = 0; a < window.kernel.size(); ++a) {
    small[a + 2] =
        (x[a + 2] - 1) * window.strides[a] - window.low[a] - window.high[a] + window.kernel[a];
  }
  const auto stated = call.is_known(2) ? std::nullopt : call.stated_shape(0);
  const Shape target = stated ? *stated : call.has(2) ? call.integers_of(2, "output shape") : small;
  build.check_size(target);
  if (target.size() != x.size()) {
    call.fail("the output shape has another rank than the operand");
  }
  const std::int64_t count = build.count(call.input(0));
  const TensorId flat = build.reshape(call.input(0), {count});
  TensorId index = build.reshape(call.input(1), {count, 1});
  if (target != small) {
    // Positions count in the small plane; the larger one keeps their coordinates.
    TensorId moved = build.filled({count, 1}, 0, ElementType::i64);
    std::int64_t below_small = graph::elements(small);
    std::int64_t below_target = graph::elements(target);
    for (std::size_t a = 0; a < small.size(); ++a) {
      below_small /= std::max<std::int64_t>(1, small[a]);
      below_target /= std::max<std::int64_t>(1, target[a]);
      const TensorId stride = build.scalar(static_cast<double>(below_small), ElementType::i64);
      const TensorId coordinate = build.divide(index, stride);
      index = build.subtract(index, build.multiply(coordinate, stride));
      moved = build.add(moved, build.multiply(coordinate, static_cast<double>(below_target)));
    }
    index = moved;
  }
  const TensorId zeros = build.filled({graph::elements(target)}, 0, build.type(flat));
  return {build.reshape(build.scatter_nd(zeros, index, flat, graph::ScatterMode::assign), target)};
}

}  // namespace systole::frontend
