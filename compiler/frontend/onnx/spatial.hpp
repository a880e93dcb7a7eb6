// What convolutions and pooling share: strides, dilations and padding per spatial axis, with `auto_pad` resolved.
#pragma once

#include "compiler/frontend/onnx/call.hpp"

namespace systole::frontend {

struct SpatialWindow {
  Integers kernel, strides, dilations, low, high;
};

// For x [N, C, spatial...] and a kernel of the spatial rank; checks lengths and ranges of all attributes.
[[nodiscard]] SpatialWindow spatial_window(const Call& call, const Shape& x,
                                           const Integers& kernel);
// (spatial + low + high - effective kernel) / stride + 1, rounded down or (ceil mode) up; a window must start inside the
// operand or its low padding.
[[nodiscard]] std::int64_t window_count(const SpatialWindow& window, std::size_t axis,
                                        std::int64_t extent, bool up);

}  // namespace systole::frontend
