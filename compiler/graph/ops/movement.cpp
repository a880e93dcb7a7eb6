// Data movement within one tensor: transpose, reshape, slice, expand, and conversion of layout
// (same values).
#include <fmt/format.h>

#include <cstring>

#include "compiler/graph/ops/move.hpp"
#include "compiler/graph/ops/ops.hpp"

namespace systole::graph::ops {

Array move_elements(const Array& from, std::int64_t start, const Strides& strides,
                    const TensorType& output) {
  Array out = make_array(output.type, output.shape);
  move_into(out, 0, strides_of(output.shape), from, start, strides, output.shape);
  return out;
}

namespace {

template <class Unit>
void move_units(Array& to, std::int64_t to_start, const Strides& to_strides, const Array& from,
                std::int64_t from_start, const Strides& from_strides, const Shape& shape) {
  const auto* source = reinterpret_cast<const Unit*>(from.data.data());
  auto* target = reinterpret_cast<Unit*>(to.data.data());
  for_each_row<2>(shape, {to_strides, from_strides}, {to_start, from_start},
                  [&](const auto& offsets, std::int64_t length, const auto& steps) {
                    for (std::int64_t i = 0; i < length; ++i) {
                      target[offsets[0] + i * steps[0]] = source[offsets[1] + i * steps[1]];
                    }
                  });
}

}  // namespace

void move_into(Array& to, std::int64_t to_start, const Strides& to_strides, const Array& from,
               std::int64_t from_start, const Strides& from_strides, const Shape& shape) {
  switch (size_of(to.type)) {
    case 1:
      return move_units<std::uint8_t>(to, to_start, to_strides, from, from_start, from_strides,
                                      shape);
    case 2:
      return move_units<std::uint16_t>(to, to_start, to_strides, from, from_start, from_strides,
                                       shape);
    case 4:
      return move_units<std::uint32_t>(to, to_start, to_strides, from, from_start, from_strides,
                                       shape);
    default:
      return move_units<std::uint64_t>(to, to_start, to_strides, from, from_start, from_strides,
                                       shape);
  }
}

TensorType infer(const Transpose& op, const InferCall& call) {
  require_operands(call, "transpose", 1);
  const TensorType& input = call.inputs[0];
  const std::size_t rank = input.shape.size();
  std::string perm;
  for (const int axis : op.perm) {
    perm += fmt::format("{}{}", perm.empty() ? "" : ",", axis);
  }
  std::vector<bool> seen(rank, false);
  TensorType result{input.type, {}};
  bool valid = op.perm.size() == rank;
  for (std::size_t i = 0; valid && i < rank; ++i) {
    const auto axis = static_cast<std::size_t>(op.perm[i]);
    valid = op.perm[i] >= 0 && axis < rank && !seen[axis];
    if (valid) {
      seen[axis] = true;
      result.shape.push_back(input.shape[axis]);
    }
  }
  if (!valid) {
    refuse(call, "transpose",
           fmt::format("perm ({}) does not permute the axes of rank {}", perm, rank),
           "list each axis once");
  }
  return result;
}

Array compute(const Transpose& op, const ComputeCall& call) {
  const Array& input = *call.inputs[0];
  const Strides own = strides_of(input.shape);
  Strides strides;
  for (const int axis : op.perm) {
    strides.push_back(own[static_cast<std::size_t>(axis)]);
  }
  return move_elements(input, 0, strides, call.output);
}

TensorType infer(const Reshape&, const InferCall& call) {
  require_operands(call, "reshape", 1);
  const TensorType& input = call.inputs[0];
  const auto have = checked_elements(input.shape);
  const auto want = checked_elements(call.requested.shape);
  if (!want.has_value() || want != have) {
    refuse(call, "reshape",
           "the target " + to_string(call.requested.shape) + " has another number of elements",
           "give a shape with the same product of extents");
  }
  return {input.type, call.requested.shape};
}

Array compute(const Reshape&, const ComputeCall& call) {
  Array out = *call.inputs[0];
  out.shape = call.output.shape;
  return out;
}

TensorType infer(const Slice& op, const InferCall& call) {
  require_operands(call, "slice", 1);
  const TensorType& input = call.inputs[0];
  const Shape& shape = call.requested.shape;
  const std::size_t rank = input.shape.size();
  require_size(call, "slice", "starts", op.starts.size(), rank);
  require_size(call, "slice", "steps", op.steps.size(), rank);
  require_size(call, "slice", "the result's shape", shape.size(), rank);
  for (std::size_t axis = 0; axis < rank; ++axis) {
    const std::int64_t extent = input.shape[axis];
    const std::int64_t start = op.starts[axis];
    const std::int64_t step = op.steps[axis];
    bool valid = shape[axis] >= 0 && step != 0;
    if (valid && shape[axis] > 0) {
      std::int64_t last = 0;
      valid = start >= 0 && start < extent &&
              !__builtin_mul_overflow(shape[axis] - 1, step, &last) &&
              !__builtin_add_overflow(last, start, &last) && last >= 0 && last < extent;
    }
    if (!valid) {
      refuse(call, "slice",
             fmt::format("axis {}: {} elements from {} by {} do not lie within {}", axis,
                         shape[axis], start, step, extent),
             "choose start, step and extent within the operand; the step is not 0");
    }
  }
  return {input.type, shape};
}

Array compute(const Slice& op, const ComputeCall& call) {
  const Array& input = *call.inputs[0];
  Strides strides = strides_of(input.shape);
  std::int64_t start = 0;
  for (std::size_t axis = 0; axis < strides.size(); ++axis) {
    if (call.output.shape[axis] == 0) {
      return make_array(call.output.type, call.output.shape);
    }
    start += op.starts[axis] * strides[axis];
    strides[axis] *= op.steps[axis];
  }
  return move_elements(input, start, strides, call.output);
}

TensorType infer(const Expand&, const InferCall& call) {
  require_operands(call, "expand", 1);
  const TensorType& input = call.inputs[0];
  const Shape& shape = call.requested.shape;
  bool valid = shape.size() >= input.shape.size() && checked_elements(shape).has_value();
  for (std::size_t i = 0; valid && i < input.shape.size(); ++i) {
    const std::int64_t extent = input.shape[i];
    valid = extent == 1 || extent == shape[shape.size() - input.shape.size() + i];
  }
  if (!valid) {
    refuse(call, "expand", "cannot be broadcast to " + to_string(shape),
           "aligned from the right, each extent must be 1 or the target's");
  }
  return {input.type, shape};
}

Array compute(const Expand&, const ComputeCall& call) {
  const Array& input = *call.inputs[0];
  return move_elements(input, 0, broadcast_strides(input.shape, call.output.shape), call.output);
}

TensorType infer(const Convert&, const InferCall& call) {
  require_operands(call, "convert", 1);
  return call.inputs[0];
}

Array compute(const Convert&, const ComputeCall& call) {
  return *call.inputs[0];
}

}  // namespace systole::graph::ops
