#include "compiler/graph/ops/spatial.hpp"

#include <fmt/format.h>

namespace systole::graph::ops {

Shape spatial_extents(const InferCall& call, std::string_view op, const Shape& input,
                      const WindowAttributes& window) {
  if (input.size() < 3 || input.size() > 5) {
    refuse(
        call, op,
        fmt::format("rank {} has no 1 to 3 spatial axes behind batch and channels", input.size()),
        "reshape the operand to [N, C, spatial...]");
  }
  const std::size_t rank = input.size() - 2;
  require_size(call, op, "kernel", window.kernel.size(), rank);
  require_size(call, op, "strides", window.strides.size(), rank);
  require_size(call, op, "pads_low", window.low.size(), rank);
  require_size(call, op, "pads_high", window.high.size(), rank);
  require_size(call, op, "dilations", window.dilations.size(), rank);
  constexpr std::int64_t limit = std::int64_t{1} << 30;  // products of two such values fit
  Shape extents;
  for (std::size_t i = 0; i < rank; ++i) {
    const std::int64_t kernel = window.kernel[i];
    const std::int64_t low = window.low[i];
    const std::int64_t high = window.high[i];
    if (kernel < 1 || window.strides[i] < 1 || window.dilations[i] < 1 || low < 0 || high < 0 ||
        kernel > limit || window.strides[i] > limit || window.dilations[i] > limit || low > limit ||
        high > limit || input[i + 2] > limit) {
      refuse(
          call, op,
          fmt::format(
              "spatial axis {}: kernel {}, stride {}, dilation {}, pads {} and {} are out of range",
              i, kernel, window.strides[i], window.dilations[i], low, high),
          "kernel, stride and dilation are at least 1, pads at least 0 (crop with Pad), all below "
          "2^30");
    }
    const std::int64_t reach = (kernel - 1) * window.dilations[i] + 1;
    const std::int64_t padded = input[i + 2] + low + high;
    if (reach > padded) {
      refuse(call, op,
             fmt::format(
                 "spatial axis {}: the kernel reaches over {} elements, the padded operand has {}",
                 i, reach, padded),
             "use a smaller kernel or larger pads");
    }
    extents.push_back((padded - reach) / window.strides[i] + 1);
  }
  return extents;
}

Spatial spatial_of(const Shape& input, const Shape& output, const WindowAttributes& window) {
  Spatial spatial{{1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}};
  const std::size_t rank = input.size() - 2;
  for (std::size_t i = 0; i < rank; ++i) {
    const std::size_t to = 3 - rank + i;
    spatial.in[to] = input[i + 2];
    spatial.out[to] = output[i + 2];
    spatial.kernel[to] = window.kernel[i];
    spatial.stride[to] = window.strides[i];
    spatial.dilation[to] = window.dilations[i];
    spatial.low[to] = window.low[i];
  }
  return spatial;
}

}  // namespace systole::graph::ops
