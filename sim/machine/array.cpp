#include "sim/machine/array.hpp"

#include <algorithm>
#include <variant>

namespace systole::sim {

ArrayClock::ArrayClock(const isa::Machine& machine, const Timing& timing)
    : timing_(timing),
      tile_(std::max(1, machine.row_tile_min)),
      grid_rows_((machine.array_rows + tile_ - 1) / tile_),
      grid_columns_((machine.array_columns + tile_ - 1) / tile_),
      tiles_(static_cast<std::size_t>(grid_rows_ * grid_columns_)),
      switch_time_(ticks_of_cycles(timing, isa::Engine::tensor, timing.stationary_switch_cycles)),
      window_(ticks_of_ns(timing, timing.warmup_window_ns)),
      latency_(ticks_of_ns(timing, timing.multiply_latency_ns)),
      cold_(timing.warmup_window_ns > 0 && timing.warmup_factor > 1) {}

ArrayClock::Region ArrayClock::region_of(int row, int rows, int column, int columns) const {
  return {row / tile_, std::min(grid_rows_, (row + rows + tile_ - 1) / tile_), column / tile_,
          std::min(grid_columns_, (column + columns + tile_ - 1) / tile_)};
}

ArrayClock::Region ArrayClock::region_of(const isa::Operation& operation) const {
  if (const auto* load = operation.get_if<isa::LoadStationary>()) {
    return region_of(load->stationary.partition, load->stationary.partitions, load->column,
                     static_cast<int>(isa::columns_of(*load)));
  }
  const auto& multiply = operation.get<isa::Multiply>();
  return region_of(multiply.moving.partition, multiply.moving.partitions, multiply.out.partition,
                   multiply.out.partitions);
}

Ticks ArrayClock::ready(const isa::Operation& operation) const {
  const bool load = operation.holds<isa::LoadStationary>();
  Ticks ready = load ? loader_free_ : Ticks(0);
  if (load && timing_.stationary_background) {
    return ready;
  }
  for_each_tile(region_of(operation), [&](std::size_t tile) {
    ready = std::max({ready, tiles_[tile].free, load ? Ticks(0) : tiles_[tile].loaded});
  });
  return ready;
}

Ticks ArrayClock::warmed(Ticks stream, Ticks now) {
  if (window_ == Ticks(0) || timing_.warmup_factor <= 1) {
    return stream;
  }
  if (now - window_start_ >= window_) {
    if (window_active_ * 2 < now - window_start_) {
      cold_ = true;
      work_since_cold_ = Ticks(0);
    }
    window_start_ = now;
    window_active_ = std::max(Ticks(0), active_until_ - now);
  }
  const Ticks time = cold_ ? stream * timing_.warmup_factor : stream;
  const Ticks until = now + time + latency_;
  window_active_ += until - std::clamp(active_until_, now, until);
  active_until_ = std::max(active_until_, until);
  if (cold_) {
    work_since_cold_ += time;
    cold_ = work_since_cold_ < window_;
  }
  return time;
}

ArrayClock::Span ArrayClock::start(const isa::Operation& operation, const Cost& cost, Ticks now) {
  const Region region = region_of(operation);
  if (operation.holds<isa::LoadStationary>()) {
    const Ticks end = now + cost.stream;
    loader_free_ = end;
    for_each_tile(region, [&](std::size_t tile) {
      tiles_[tile].loaded = end;
      tiles_[tile].fresh = true;
    });
    return {now, end};
  }
  bool fresh = false;
  for_each_tile(region, [&](std::size_t tile) {
    fresh = fresh || tiles_[tile].fresh;
    tiles_[tile].fresh = false;
  });
  const Ticks begin = fresh ? now + std::max(Ticks(0), switch_time_ - cost.filler) : now;
  const Ticks end = begin + warmed(cost.stream, now);
  for_each_tile(region, [&](std::size_t tile) { tiles_[tile].free = end; });
  return {begin, end};
}

}  // namespace systole::sim
