#include "compiler/layout/pricing/work.hpp"

namespace systole::layout {

View view_of(const Layout& layout, const graph::Shape& shape, isa::DType dtype, Boundary boundary,
             const PricingContext& context) {
  View view;
  view.partitions = partition_extent(layout, shape);
  view.free = free_extent(layout, shape);
  view.blocks = parts(view.partitions, context.machine.partitions);
  view.bytes = isa::size_of(dtype);
  const double room =
      context.model.resident_share * static_cast<double>(context.machine.sbuf_bytes);
  view.hbm = boundary == Boundary::source || boundary == Boundary::output ||
             static_cast<double>(view.per_partition() * view.bytes) > room;
  // Heads that straddle partitions are worked on head by head.
  const std::vector<int> axes = partition_axes(layout, shape);
  if (axes.size() > 1) {
    const std::int64_t inner = shape[static_cast<std::size_t>(axes.back())];
    if (inner > context.machine.partitions && inner % context.machine.partitions != 0) {
      view.blocks = view.partitions / inner * parts(inner, context.machine.partitions);
    }
  }
  return view;
}

void Work::multiply(bool fp32, double count, std::int64_t columns) {
  const std::int64_t most = machine().moving_max;
  const double rest = static_cast<double>(columns % most);
  const double billed = static_cast<double>(columns / most * most) +
                        (rest > 0 ? std::max(rest, model().column_min) : 0.0);
  add(fp32 ? Feature::column_fp32 : Feature::column, count * billed);
}

void Work::stationary(double count, std::int64_t columns, std::int64_t moving) {
  const double under = std::max(model().column_min, static_cast<double>(moving));
  const double shown = std::max(0.0, 1.0 - under / model().hiding_columns);
  add(Feature::stationary_load, count);
  add(Feature::stationary_column, count * static_cast<double>(columns) * shown);
}

void Work::elementwise(Feature engine, double passes, std::int64_t elements, std::int64_t chunk) {
  add(engine, passes * static_cast<double>(elements));
  add(Feature::instruction, std::max(1.0, passes) * static_cast<double>(parts(elements, chunk)));
}

double Work::engines(std::int64_t partitions) const {
  const std::int64_t served = std::max(1, machine().partitions / machine().dma_engines);
  return static_cast<double>(
      std::clamp<std::int64_t>(parts(partitions, served), 1, machine().dma_engines));
}

void Work::rows(double bytes, double row_bytes, std::int64_t partitions) {
  if (bytes <= 0) {
    return;
  }
  const double share = bytes / engines(partitions);
  if (row_bytes < model().long_row) {
    add(Feature::short_row, std::max(1.0, share / std::max(1.0, row_bytes)));
  } else {
    add(Feature::long_byte, share);
  }
}

void Work::stream(const View& view, double times) {
  if (view.hbm) {
    const double bytes = times * static_cast<double>(view.elements() * view.bytes);
    const double merged = std::min(model().long_row, bytes / engines(view.partitions));
    rows(bytes, std::max(merged, static_cast<double>(view.free * view.bytes)), view.partitions);
  }
}

void Work::operand(const View& view, double times) {
  if (view.passing) {
    return;  // handed on in the kernel that makes it, never stored
  }
  stream(view, times);
  if (view.hbm && !view.ready) {
    add(Feature::transfer, 1);
  }
}

void Work::result(const View& view) {
  if (view.passing) {
    return;
  }
  stream(view);
  if (view.hbm) {
    add(Feature::transfer, 1);
  }
}

}  // namespace systole::layout
