// Reading by index: gather and gather_elements. Negative indices count from the end; others outside
// are an Error.
#include <fmt/format.h>

#include <cstring>

#include "compiler/graph/ops/indices.hpp"
#include "compiler/graph/ops/ops.hpp"
#include "compiler/graph/ops/walk.hpp"

namespace systole::graph::ops {

void require_indices(const InferCall& call, std::string_view op, const TensorType& indices) {
  if (is_float(indices.type) || indices.type == ElementType::boolean) {
    refuse(call, op, fmt::format("indices are {}", name_of(indices.type)),
           "cast the indices to i64");
  }
}

std::int64_t checked_index(const ComputeCall& call, std::string_view op, std::int64_t index,
                           std::int64_t extent) {
  const std::int64_t place = index < 0 ? index + extent : index;
  if (place < 0 || place >= extent) {
    throw Error(call.origin,
                fmt::format("{}: index {} is outside an axis of {} elements", op, index, extent),
                extent == 0 ? "an empty axis has no element"
                            : fmt::format("use indices from {} to {}", -extent, extent - 1));
  }
  return place;
}

TensorType infer(const Gather& op, const InferCall& call) {
  require_operands(call, "gather", 2);
  const Shape& data = call.inputs[0].shape;
  const Shape& indices = call.inputs[1].shape;
  require_axis(call, "gather", op.axis, data.size());
  require_indices(call, "gather", call.inputs[1]);
  TensorType result{call.inputs[0].type, {}};
  const auto axis = static_cast<std::ptrdiff_t>(op.axis);
  result.shape.assign(data.begin(), data.begin() + axis);
  result.shape.insert(result.shape.end(), indices.begin(), indices.end());
  result.shape.insert(result.shape.end(), data.begin() + axis + 1, data.end());
  return result;
}

Array compute(const Gather& op, const ComputeCall& call) {
  const Array& data = *call.inputs[0];
  const std::vector<std::int64_t> indices = load<std::int64_t>(*call.inputs[1]);
  Array out = make_array(call.output.type, call.output.shape);
  const auto axis = static_cast<std::size_t>(op.axis);
  const std::int64_t extent = data.shape[axis];
  const auto middle = data.shape.begin() + op.axis;
  const std::int64_t outer = elements(Shape(data.shape.begin(), middle));
  const std::int64_t slab = elements(Shape(middle + 1, data.shape.end())) * size_of(data.type);
  std::vector<std::int64_t> places;
  for (const std::int64_t index : indices) {
    places.push_back(checked_index(call, "gather", index, extent));
  }
  if (slab == 0) {
    return out;
  }
  std::byte* to = out.data.data();
  for (std::int64_t o = 0; o < outer; ++o) {
    for (const std::int64_t place : places) {
      std::memcpy(to, data.data.data() + (o * extent + place) * slab,
                  static_cast<std::size_t>(slab));
      to += slab;
    }
  }
  return out;
}

TensorType infer(const GatherElements& op, const InferCall& call) {
  require_operands(call, "gather_elements", 2);
  const Shape& data = call.inputs[0].shape;
  const Shape& index = call.inputs[1].shape;
  require_axis(call, "gather_elements", op.axis, data.size());
  require_indices(call, "gather_elements", call.inputs[1]);
  bool valid = index.size() == data.size();
  for (std::size_t i = 0; valid && i < data.size(); ++i) {
    valid = static_cast<int>(i) == op.axis || index[i] <= data[i];
  }
  if (!valid) {
    refuse(call, "gather_elements",
           fmt::format("the indices exceed the data outside axis {}", op.axis),
           "give indices of the data's rank, no larger than the data on the other axes");
  }
  return {call.inputs[0].type, index};
}

Array compute(const GatherElements& op, const ComputeCall& call) {
  const Array& data = *call.inputs[0];
  const std::vector<std::int64_t> indices = load<std::int64_t>(*call.inputs[1]);
  Array out = make_array(call.output.type, call.output.shape);
  const auto axis = static_cast<std::size_t>(op.axis);
  const auto size = static_cast<std::size_t>(size_of(data.type));
  const Strides own = strides_of(data.shape);
  Strides data_strides = own;
  data_strides[axis] = 0;
  for_each_row<2>(out.shape, {strides_of(out.shape), data_strides}, {0, 0},
                  [&](const auto& offsets, std::int64_t length, const auto& steps) {
                    for (std::int64_t i = 0; i < length; ++i) {
                      const auto at = static_cast<std::size_t>(offsets[0] + i * steps[0]);
                      const std::int64_t place =
                          checked_index(call, "gather_elements", indices[at], data.shape[axis]);
                      const std::int64_t from = offsets[1] + i * steps[1] + place * own[axis];
                      std::memcpy(out.data.data() + at * size,
                                  data.data.data() + static_cast<std::size_t>(from) * size, size);
                    }
                  });
  return out;
}

}  // namespace systole::graph::ops
