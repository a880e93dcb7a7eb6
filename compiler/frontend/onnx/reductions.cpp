// Reductions, arg-reductions, running sums and selections by rank.

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "compiler/frontend/onnx/by_data.hpp"
#include "compiler/frontend/onnx/converters.hpp"

namespace systole::frontend {

namespace {

std::vector<int> all_axes(int rank) {
  std::vector<int> axes(static_cast<std::size_t>(rank));
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

// log(sum(exp(x))) with the largest element taken out, so that large inputs stay finite.
TensorId log_sum_exp(Builder& build, TensorId x, const std::vector<int>& axes, bool keep) {
  const TensorId peak = build.reduce(ReduceFunction::max, x, axes, true);
  const TensorId powers = build.map(MapFunction::exp, {build.subtract(x, peak)});
  const TensorId sum = build.reduce(ReduceFunction::sum, powers, axes, true);
  const TensorId result = build.add(build.map(MapFunction::log, {sum}), peak);
  if (keep) {
    return result;
  }
  Shape shape;
  for (int a = 0, next = 0; a < build.rank(x); ++a) {
    if (next < static_cast<int>(axes.size()) && axes[static_cast<std::size_t>(next)] == a) {
      ++next;
    } else {
      shape.push_back(build.extent(x, a));
    }
  }
  return build.reshape(result, shape);
}

TensorId apply_reduction(Call& call, TensorId x, const std::vector<int>& axes, bool keep) {
  Builder& build = call.build;
  const std::string kind = call.op().substr(6);  // after "Reduce"
  if (kind == "Max") {
    return build.reduce(ReduceFunction::max, x, axes, keep);
  }
  if (kind == "Min") {
    return build.reduce(ReduceFunction::min, x, axes, keep);
  }
  if (kind == "Prod") {
    return build.reduce(ReduceFunction::product, x, axes, keep);
  }
  if (kind == "Mean") {
    return build.reduce(ReduceFunction::mean, x, axes, keep);
  }
  if (kind == "L1") {
    return build.reduce(ReduceFunction::sum, build.map(MapFunction::abs, {x}), axes, keep);
  }
  if (kind == "L2" || kind == "SumSquare") {
    const TensorId square = build.map(MapFunction::square, {x});
    const TensorId sum = build.reduce(ReduceFunction::sum, square, axes, keep);
    return kind == "L2" ? build.map(MapFunction::sqrt, {sum}) : sum;
  }
  if (kind == "LogSum") {
    return build.map(MapFunction::log, {build.reduce(ReduceFunction::sum, x, axes, keep)});
  }
  if (kind == "LogSumExp") {
    return log_sum_exp(build, x, axes, keep);
  }
  return build.reduce(ReduceFunction::sum, x, axes, keep);
}

// x moved by `distance` towards the end of `axis` (towards its start when negative), zeros moving in.
TensorId shifted(Builder& build, TensorId x, int axis, std::int64_t distance) {
  graph::Pad op;
  op.low.assign(static_cast<std::size_t>(build.rank(x)), 0);
  op.high = op.low;
  op.interior = op.low;
  op.low[static_cast<std::size_t>(axis)] = distance;
  op.high[static_cast<std::size_t>(axis)] = -distance;
  return build.pad(x, op);
}

// Doubling: after step s every element holds the sum of the 2^s elements up to it.
TensorId cumulative_sum(Call& call, int axis) {
  Builder& build = call.build;
  TensorId x = call.input(0);
  const std::int64_t extent = build.extent(x, axis);
  const std::int64_t direction = call.integer("reverse", 0) != 0 ? -1 : 1;
  if (call.integer("exclusive", 0) != 0 && extent > 0) {
    x = shifted(build, x, axis, direction);
  }
  for (std::int64_t step = 1; step < extent; step *= 2) {
    x = build.add(x, shifted(build, x, axis, direction * step));
  }
  return x;
}

}  // namespace

Values convert_reduce(Call& call) {
  const TensorId x = call.input(0);
  const int rank = call.rank(0);
  if (!call.is_known(1)) {
    return reduce_by_data(call, apply_reduction);
  }
  const auto given = call.attribute_or_operand("axes", 1);
  const bool keep = call.integer("keepdims", 1) != 0;
  if (!given || given->empty()) {
    const bool keeps_all = call.integer("noop_with_empty_axes", 0) != 0;
    return {keeps_all ? x : apply_reduction(call, x, all_axes(rank), keep)};
  }
  return {apply_reduction(call, x, call.axes(*given, rank), keep)};
}

Values convert_arg_reduce(Call& call) {
  graph::ArgReduce op;
  op.largest = call.op() == "ArgMax";
  op.axis = call.axis(call.integer("axis", 0), call.rank(0));
  op.keep = call.integer("keepdims", 1) != 0;
  op.last = call.integer("select_last_index", 0) != 0;
  return {call.build.arg_reduce(call.input(0), op)};
}

Values convert_cumulative_sum(Call& call) {
  const int rank = call.rank(0);
  if (call.is_known(1)) {
    return {cumulative_sum(call, call.axis(call.integer_of(1, "axis"), rank))};
  }
  // The axis depends on data: every axis is summed along, the right sum chosen.
  Builder& build = call.build;
  const TensorId axis = build.cast(build.reshape(call.input(1), {}), ElementType::i64);
  TensorId result = cumulative_sum(call, 0);
  for (int a = 1; a < rank; ++a) {
    const TensorId wrapped =
        build.map(MapFunction::modulo, {axis, build.scalar(rank, ElementType::i64)});
    const TensorId chosen =
        build.map(MapFunction::equal, {wrapped, build.scalar(a, ElementType::i64)});
    result = build.select(chosen, cumulative_sum(call, a), result);
  }
  return {result};
}

// The rank of an element is the number of elements before it in the sorted order: those larger, and equal ones with a
// smaller index. Output k picks the element of rank k, so that ties fall as the specification wants without a sort.
Values convert_top_k(Call& call) {
  Builder& build = call.build;
  const TensorId input = call.input(0);
  const int axis = call.axis(call.integer("axis", -1), call.rank(0));
  const auto stated = call.is_known(1) ? std::nullopt : call.stated_shape(0);
  const std::int64_t k = stated && static_cast<int>(stated->size()) == call.rank(0)
                             ? (*stated)[static_cast<std::size_t>(axis)]
                         : call.opset >= 10 ? call.integer_of(1, "k")
                                            : call.integer("k", 0);
  const bool largest = call.integer("largest", 1) != 0;
  const std::int64_t n = build.extent(input, axis);
  if (k < 0 || k > n) {
    call.fail(fmt::format("k = {} of {} elements", k, n));
  }
  if (build.count(input) > (std::int64_t{1} << 34U) / std::max<std::int64_t>(n, 1)) {
    call.fail(
        fmt::format("ranking {} elements along an axis of {} is too large", build.count(input), n));
  }
  std::vector<int> to_last(static_cast<std::size_t>(build.rank(input)));
  std::iota(to_last.begin(), to_last.end(), 0);
  std::swap(to_last[static_cast<std::size_t>(axis)], to_last.back());  // its own inverse
  const TensorId x = build.transpose(input, to_last);
  const int last = build.rank(x) - 1;
  const ElementType type = build.type(x);
  const TensorId self = build.insert_axis(x, last + 1);  // [.., n, 1]
  const TensorId other = build.insert_axis(x, last);     // [.., 1, n]
  const TensorId index = build.iota(n, ElementType::i32);
  const TensorId earlier =
      build.map(MapFunction::less, {build.insert_axis(index, 0), build.insert_axis(index, 1)});
  const TensorId better =
      build.map(largest ? MapFunction::greater : MapFunction::less, {other, self});
  const TensorId tie =
      build.map(MapFunction::logical_and, {build.map(MapFunction::equal, {other, self}), earlier});
  const TensorId before =
      build.cast(build.map(MapFunction::logical_or, {better, tie}), ElementType::f32);
  const TensorId rank = build.reduce(ReduceFunction::sum, before, {last + 1}, false);  // [.., n]
  const TensorId place = build.insert_axis(build.iota(k, ElementType::f32), 1);        // [k, 1]
  const TensorId chosen =
      build.map(MapFunction::equal, {build.insert_axis(rank, last), place});  // [.., k, n]
  const TensorId values = build.reduce(
      ReduceFunction::sum, build.select(chosen, other, build.scalar(0, type)), {last + 1}, false);
  const TensorId positions = build.reduce(
      ReduceFunction::sum,
      build.select(chosen, build.iota(n, ElementType::f32), build.scalar(0, ElementType::f32)),
      {last + 1}, false);
  return {build.transpose(values, to_last),
          build.transpose(build.cast(positions, ElementType::i64), to_last)};
}

Values convert_hardmax(Call& call) {
  Builder& build = call.build;
  const TensorId input = call.input(0);
  const bool flattens = call.opset < 13;
  const int axis = call.axis(call.integer("axis", flattens ? 1 : -1), std::max(1, call.rank(0)));
  TensorId x = input;
  int at = axis;
  if (flattens) {
    std::int64_t rows = 1;
    for (int a = 0; a < axis; ++a) {
      rows *= build.extent(input, a);
    }
    const std::int64_t columns = rows == 0 ? 0 : build.count(input) / rows;
    x = build.reshape(input, {rows, columns});
    at = 1;
  }
  const TensorId peak =
      build.arg_reduce(x, {.largest = true, .axis = at, .keep = true, .last = false});
  Shape along(static_cast<std::size_t>(build.rank(x)), 1);
  along[static_cast<std::size_t>(at)] = build.extent(x, at);
  const TensorId index = build.reshape(build.iota(build.extent(x, at), ElementType::i64), along);
  const TensorId hot = build.map(MapFunction::equal, {index, peak});
  return {build.reshape(build.cast(hot, build.type(input)), build.shape(input))};
}

}  // namespace systole::frontend
