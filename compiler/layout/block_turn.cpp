#include "compiler/layout/block_turn.hpp"

#include <algorithm>

namespace systole::layout {

namespace {

std::int64_t extent_of(const std::vector<int>& axes, const graph::Shape& shape) {
  std::int64_t extent = 1;
  for (const int axis : axes) {
    extent *= shape[static_cast<std::size_t>(axis)];
  }
  return extent;
}

bool has(const std::vector<int>& axes, int axis) {
  return std::ranges::find(axes, axis) != axes.end();
}

// Chunks of at most `lanes` neighbours along the axes that are cut: inner axes whole as far as they go, one in steps, outer
// ones index by index. None if one of them would start within a quadrant.
std::optional<BlockTurn::Side> side_of(const std::vector<int>& axes, const std::vector<int>& others,
                                       const graph::Shape& shape, const isa::Machine& machine) {
  BlockTurn::Side out;
  auto cut = axes.end();
  while (cut != axes.begin() && !has(others, *(cut - 1))) {
    --cut;
  }
  out.leads.assign(axes.begin(), cut);
  out.cut.assign(cut, axes.end());
  std::int64_t room = block_lanes(machine);
  std::int64_t stride = 1;  // between neighbouring chunks so far
  bool legal = true;
  const auto repeat = [&](std::int64_t count, std::int64_t step) {
    legal = legal && (count == 1 || step % machine.partition_quantum == 0);
    out.chunks *= count;
  };
  for (auto axis = out.cut.rbegin(); axis != out.cut.rend(); ++axis) {
    const std::int64_t extent = shape[static_cast<std::size_t>(*axis)];
    const std::int64_t step = std::min(extent, room);
    repeat((extent + step - 1) / step, step * stride);
    room = step == extent ? room / extent : 1;
    stride *= extent;
  }
  repeat(extent_of(out.leads, shape), stride);
  return legal ? std::optional(out) : std::nullopt;
}

}  // namespace

std::int64_t block_lanes(const isa::Machine& machine) {
  constexpr int most = 32;
  return std::min(machine.partition_quantum, most);
}

std::optional<BlockTurn> block_turn_of(const Layout& from, const Layout& to,
                                       const graph::Shape& shape, const isa::Machine& machine) {
  const std::vector<int> before = partition_axes(from, shape);
  const std::vector<int> after = partition_axes(to, shape);
  if (from.padding != 0 || to.padding != 0 ||
      (std::ranges::all_of(before, [&](int axis) { return has(after, axis); }) &&
       std::ranges::all_of(after, [&](int axis) { return has(before, axis); }))) {
    return std::nullopt;
  }
  const auto source = side_of(before, after, shape, machine);
  const auto result = side_of(after, before, shape, machine);
  if (!source || !result) {
    return std::nullopt;
  }
  BlockTurn out{*source, *result, 1, 1};
  for (const int axis : before) {
    out.shared *= has(after, axis) ? shape[static_cast<std::size_t>(axis)] : 1;
  }
  out.rest =
      graph::elements(shape) * out.shared / (extent_of(before, shape) * extent_of(after, shape));
  return out;
}

}  // namespace systole::layout
