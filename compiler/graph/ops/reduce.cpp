// Reductions over axes and positions of extremes. Sums and products of floats are accumulated in
// double. Maximum and minimum of a row with a NaN are NaN; its position is that of the first NaN
// (numpy's rules, which ONNX's tests follow).
#include <fmt/format.h>

#include <cmath>

#include "compiler/graph/ops/combine.hpp"
#include "compiler/graph/ops/ops.hpp"
#include "compiler/graph/ops/values.hpp"
#include "compiler/graph/ops/walk.hpp"
#include "isa/base/error.hpp"

namespace systole::graph::ops {
namespace {

Shape reduced_shape(const Shape& shape, const std::vector<int>& axes, bool keep) {
  Shape result;
  std::size_t next = 0;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (next < axes.size() && axes[next] == static_cast<int>(i)) {
      ++next;
      if (keep) {
        result.push_back(1);
      }
    } else {
      result.push_back(shape[i]);
    }
  }
  return result;
}

// Strides of the result along the operand's axes: 0 along reduced ones.
Strides result_strides(const Shape& shape, const std::vector<int>& axes) {
  Shape kept = shape;
  for (const int axis : axes) {
    kept[static_cast<std::size_t>(axis)] = 1;
  }
  return broadcast_strides(kept, shape);
}

template <class W>
std::vector<W> fold(const Reduce& op, const Array& input, const TensorType& output) {
  const ReduceFunction step =
      op.function == ReduceFunction::mean ? ReduceFunction::sum : op.function;
  std::vector<W> result(static_cast<std::size_t>(elements(output.shape)),
                        identity_of<W>(step, input.type));
  const std::vector<W> values = load<W>(input);
  for_each_row<2>(input.shape, {strides_of(input.shape), result_strides(input.shape, op.axes)},
                  {0, 0}, [&](const auto& offsets, std::int64_t length, const auto& steps) {
                    for (std::int64_t i = 0; i < length; ++i) {
                      W& to = result[static_cast<std::size_t>(offsets[1] + i * steps[1])];
                      to = combine(step, to,
                                   values[static_cast<std::size_t>(offsets[0] + i * steps[0])]);
                    }
                  });
  return result;
}

template <class W>
Array reduce(const Reduce& op, const ComputeCall& call) {
  std::vector<W> result = fold<W>(op, *call.inputs[0], call.output);
  if (op.function == ReduceFunction::mean) {
    std::int64_t count = 1;
    for (const int axis : op.axes) {
      count *= call.inputs[0]->shape[static_cast<std::size_t>(axis)];
    }
    if (count == 0 && !std::is_floating_point_v<W> && !result.empty()) {
      throw Error(call.origin, "reduce: the mean of no integers",
                  "give the reduced axes at least one element");
    }
    for (W& value : result) {
      value /= static_cast<W>(count);
    }
  }
  return store(call.output, result);
}

template <class W>
bool is_nan(W value) {
  if constexpr (std::is_floating_point_v<W>) {
    return std::isnan(value);
  } else {
    return false;
  }
}

// Whether `value` takes the place of `best`, which stands before it.
template <class W>
bool replaces(const ArgReduce& op, W best, W value) {
  if (is_nan(best)) {
    return op.last && is_nan(value);
  }
  if (is_nan(value)) {
    return true;
  }
  const bool better = op.largest ? value > best : value < best;
  return better || (op.last && value == best);
}

template <class W>
Array find_extremes(const ArgReduce& op, const ComputeCall& call) {
  const Array& input = *call.inputs[0];
  const std::vector<W> values = load<W>(input);
  Array out = make_array(call.output.type, call.output.shape);
  auto* to = data_of<std::int64_t>(out);
  const auto axis = static_cast<std::size_t>(op.axis);
  const Strides own = strides_of(input.shape);
  Shape others = input.shape;
  others[axis] = 1;
  for_each_row<2>(others, {own, strides_of(others)}, {0, 0},
                  [&](const auto& offsets, std::int64_t length, const auto& steps) {
                    for (std::int64_t i = 0; i < length; ++i) {
                      const std::int64_t start = offsets[0] + i * steps[0];
                      std::int64_t best = 0;
                      for (std::int64_t j = 1; j < input.shape[axis]; ++j) {
                        if (replaces(op, values[static_cast<std::size_t>(start + best * own[axis])],
                                     values[static_cast<std::size_t>(start + j * own[axis])])) {
                          best = j;
                        }
                      }
                      to[offsets[1] + i * steps[1]] = best;
                    }
                  });
  return out;
}

}  // namespace

TensorType infer(const Reduce& op, const InferCall& call) {
  require_operands(call, "reduce", 1);
  const TensorType& input = call.inputs[0];
  int previous = -1;
  for (const int axis : op.axes) {
    require_axis(call, "reduce", axis, input.shape.size());
    if (axis <= previous) {
      refuse(call, "reduce", "axes are not ascending", "list each axis once, in ascending order");
    }
    previous = axis;
  }
  if (op.axes.empty()) {
    refuse(call, "reduce", "no axes", "list at least one axis, or leave the node out");
  }
  const bool extreme = op.function == ReduceFunction::max || op.function == ReduceFunction::min;
  if (input.type == ElementType::boolean && !extreme) {
    refuse(call, "reduce", "booleans are not numbers", "cast the operand first");
  }
  return {input.type, reduced_shape(input.shape, op.axes, op.keep)};
}

Array compute(const Reduce& op, const ComputeCall& call) {
  return in_domain(call.output.type, [&](auto zero) { return reduce<decltype(zero)>(op, call); });
}

TensorType infer(const ArgReduce& op, const InferCall& call) {
  require_operands(call, "arg_reduce", 1);
  const Shape& shape = call.inputs[0].shape;
  require_axis(call, "arg_reduce", op.axis, shape.size());
  TensorType result{ElementType::i64, reduced_shape(shape, {op.axis}, op.keep)};
  if (shape[static_cast<std::size_t>(op.axis)] == 0 && checked_elements(result.shape) != 0) {
    refuse(call, "arg_reduce", fmt::format("axis {} is empty", op.axis),
           "nothing has no largest element");
  }
  return result;
}

Array compute(const ArgReduce& op, const ComputeCall& call) {
  return in_domain(call.inputs[0]->type,
                   [&](auto zero) { return find_extremes<decltype(zero)>(op, call); });
}

}  // namespace systole::graph::ops
