// Data movement that puts parts into a larger tensor: concat and pad.
#include <fmt/format.h>

#include "compiler/graph/ops/move.hpp"
#include "compiler/graph/ops/ops.hpp"
#include "compiler/graph/ops/values.hpp"

namespace systole::graph::ops {

TensorType infer(const Concat& op, const InferCall& call) {
  if (call.inputs.empty()) {
    refuse(call, "concat", "needs at least one operand", "leave the node out");
  }
  require_same_type(call, "concat");
  TensorType result = call.inputs.front();
  require_axis(call, "concat", op.axis, result.shape.size());
  const auto axis = static_cast<std::size_t>(op.axis);
  result.shape[axis] = 0;
  for (const TensorType& input : call.inputs) {
    bool valid = input.shape.size() == result.shape.size();
    for (std::size_t i = 0; valid && i < result.shape.size(); ++i) {
      valid = i == axis || input.shape[i] == result.shape[i];
    }
    if (!valid ||
        __builtin_add_overflow(result.shape[axis], input.shape[axis], &result.shape[axis])) {
      refuse(call, "concat", fmt::format("extents differ outside axis {}", op.axis),
             "operands need one rank and equal extents on all other axes");
    }
  }
  return result;
}

Array compute(const Concat& op, const ComputeCall& call) {
  Array out = make_array(call.output.type, call.output.shape);
  const Strides strides = strides_of(out.shape);
  std::int64_t at = 0;
  for (const Array* input : call.inputs) {
    const auto axis = static_cast<std::size_t>(op.axis);
    move_into(out, at * strides[axis], strides, *input, 0, strides_of(input->shape), input->shape);
    at += input->shape[axis];
  }
  return out;
}

TensorType infer(const Pad& op, const InferCall& call) {
  require_operands(call, "pad", 1);
  TensorType result = call.inputs[0];
  const std::size_t rank = result.shape.size();
  require_size(call, "pad", "low", op.low.size(), rank);
  require_size(call, "pad", "high", op.high.size(), rank);
  require_size(call, "pad", "interior", op.interior.size(), rank);
  for (std::size_t i = 0; i < rank; ++i) {
    const std::int64_t extent = result.shape[i];
    std::int64_t between = 0;
    bool valid = op.interior[i] >= 0 &&
                 !__builtin_mul_overflow(op.interior[i], extent > 0 ? extent - 1 : 0, &between) &&
                 !__builtin_add_overflow(between, extent, &between) &&
                 !__builtin_add_overflow(between, op.low[i], &between) &&
                 !__builtin_add_overflow(between, op.high[i], &between);
    valid = valid && between >= 0;
    if (!valid) {
      refuse(call, "pad",
             fmt::format("axis {}: low {}, high {}, interior {} leave no valid extent", i,
                         op.low[i], op.high[i], op.interior[i]),
             "crop no more than there is; interior padding is not negative");
    }
    result.shape[i] = between;
  }
  return result;
}

Array compute(const Pad& op, const ComputeCall& call) {
  const Array& input = *call.inputs[0];
  Array out = make_array(call.output.type, call.output.shape);
  with_element(out.type, [&](auto* tag) {
    using T = std::remove_pointer_t<decltype(tag)>;
    std::fill_n(data_of<T>(out), elements(out.shape), element_cast<T>(op.value));
  });
  // Element i of the operand goes to low + i * (interior + 1); those outside are cropped.
  const Strides from = strides_of(input.shape);
  Strides to = strides_of(out.shape);
  Shape kept;
  std::int64_t from_start = 0;
  std::int64_t to_start = 0;
  for (std::size_t axis = 0; axis < from.size(); ++axis) {
    const std::int64_t step = op.interior[axis] + 1;
    const std::int64_t low = op.low[axis];
    const std::int64_t first = low < 0 ? (-low + step - 1) / step : 0;
    const std::int64_t room =
        out.shape[axis] - 1 - low;  // last index of the operand * step may not exceed it
    const std::int64_t last = room < 0 ? -1 : std::min(input.shape[axis] - 1, room / step);
    if (last < first) {
      return out;
    }
    kept.push_back(last - first + 1);
    from_start += first * from[axis];
    to_start += (low + first * step) * to[axis];
    to[axis] *= step;
  }
  move_into(out, to_start, to, input, from_start, from, kept);
  return out;
}

}  // namespace systole::graph::ops
