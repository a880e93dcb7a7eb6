#include "compiler/frontend/onnx/spatial.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace systole::frontend {

namespace {

constexpr std::int64_t largest = std::int64_t{1} << 31U;

Integers checked_list(const Call& call, std::string_view name, std::size_t rank,
                      std::int64_t otherwise, std::int64_t least) {
  const auto given = call.integers(name);
  Integers out = given && !given->empty() ? *given : Integers(rank, otherwise);
  if (out.size() != rank) {
    call.fail(
        fmt::format("attribute '{}' has {} entries for {} spatial axes", name, out.size(), rank));
  }
  for (const std::int64_t value : out) {
    if (value < least || value > largest) {
      call.fail(fmt::format("attribute '{}' holds {}", name, value));
    }
  }
  return out;
}

}  // namespace

SpatialWindow spatial_window(const Call& call, const Shape& x, const Integers& kernel) {
  if (x.size() < 3) {
    call.fail(fmt::format("the operand {} has no spatial axes", graph::to_string(x)));
  }
  const std::size_t rank = x.size() - 2;
  SpatialWindow out;
  out.kernel = kernel;
  const bool bad =
      std::any_of(kernel.begin(), kernel.end(), [](auto k) { return k < 1 || k > largest; });
  if (kernel.size() != rank || bad) {
    call.fail(
        fmt::format("kernel {} does not fit {}", graph::to_string(kernel), graph::to_string(x)));
  }
  out.strides = checked_list(call, "strides", rank, 1, 1);
  out.dilations = checked_list(call, "dilations", rank, 1, 1);
  const std::string mode = call.text("auto_pad", "NOTSET");
  if (mode == "NOTSET" || mode.empty()) {
    const auto pads = call.integers("pads").value_or(Integers(2 * rank, 0));
    if (pads.size() != 2 * rank ||
        std::any_of(pads.begin(), pads.end(), [](auto p) { return p < 0 || p > largest; })) {
      call.fail(fmt::format("pads {} are not possible", graph::to_string(pads)));
    }
    out.low.assign(pads.begin(), pads.begin() + static_cast<std::ptrdiff_t>(rank));
    out.high.assign(pads.begin() + static_cast<std::ptrdiff_t>(rank), pads.end());
    return out;
  }
  out.low.assign(rank, 0);
  out.high.assign(rank, 0);
  if (mode != "SAME_UPPER" && mode != "SAME_LOWER" && mode != "VALID") {
    call.fail(fmt::format("auto_pad '{}' is unknown", mode));
  }
  for (std::size_t a = 0; a < rank && mode != "VALID"; ++a) {
    const std::int64_t extent = x[a + 2];
    const std::int64_t count = (extent + out.strides[a] - 1) / out.strides[a];
    const std::int64_t need =
        (count - 1) * out.strides[a] + (kernel[a] - 1) * out.dilations[a] + 1 - extent;
    const std::int64_t total = std::max<std::int64_t>(0, need);
    out.low[a] = mode == "SAME_UPPER" ? total / 2 : total - total / 2;
    out.high[a] = total - out.low[a];
  }
  return out;
}

std::int64_t window_count(const SpatialWindow& window, std::size_t axis, std::int64_t extent,
                          bool up) {
  const std::int64_t stride = window.strides[axis];
  const std::int64_t effective = (window.kernel[axis] - 1) * window.dilations[axis] + 1;
  const std::int64_t room = extent + window.low[axis] + window.high[axis] - effective;
  if (room < 0) {
    return up && room + stride > 0 ? 1 : 0;
  }
  std::int64_t count = room / stride + 1;
  if (up && room % stride != 0 && count * stride < extent + window.low[axis]) {
    ++count;
  }
  return count;
}

}  // namespace systole::frontend
