// Inside compiler/graph only: the sliding windows of convolution and pooling, brought to three
// spatial axes.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "compiler/graph/ops/ops.hpp"

namespace systole::graph::ops {

// Views of an operator's window attributes, one entry per spatial axis.
struct WindowAttributes {
  const std::vector<std::int64_t>& kernel;
  const std::vector<std::int64_t>& strides;
  const std::vector<std::int64_t>& low;
  const std::vector<std::int64_t>& high;
  const std::vector<std::int64_t>& dilations;
};

// Output extents over input[2..]; refuses wrong list lengths, values out of range, and kernels
// larger than the padded input.
Shape spatial_extents(const InferCall& call, std::string_view op, const Shape& input,
                      const WindowAttributes& window);

// Missing leading axes have extent 1. Input position of output o and kernel position k on axis a:
// o * stride[a] + k * dilation[a] - low[a].
struct Spatial {
  std::array<std::int64_t, 3> in, out, kernel, stride, dilation, low;
  [[nodiscard]] std::int64_t in_elements() const { return in[0] * in[1] * in[2]; }
  [[nodiscard]] std::int64_t out_elements() const { return out[0] * out[1] * out[2]; }
  [[nodiscard]] std::int64_t kernel_elements() const { return kernel[0] * kernel[1] * kernel[2]; }
};
Spatial spatial_of(const Shape& input, const Shape& output, const WindowAttributes& window);

}  // namespace systole::graph::ops
