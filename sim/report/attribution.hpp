// Every tick of a run belongs to one source. The rule for overlapped time: a tick belongs to the source that is being
// served on the first busy unit in the order Tensor, Vector, Scalar, GpSimd, DMA; if none is busy, to the source of the
// next instruction or transfer to start (it is what everything waits for). Time after the last start belongs to the
// source that started last. So the shares of all sources add up to the total, whatever overlaps.
#pragma once

#include <array>
#include <vector>

#include "isa/base/units.hpp"
#include "isa/program.hpp"

namespace systole::sim {

class Attribution {
 public:
  static constexpr int dma_lane = 4;
  static constexpr int lane_count = 5;

  explicit Attribution(std::size_t sources) : shares_(sources) {}

  // From `now` to `until` the lane serves the source; calls come in order of `now`.
  void serve(int lane, isa::SourceId source, Ticks now, Ticks until);
  // The DMA lane, known ahead of time: in order among themselves, taken into account when the others get there.
  void serve_dma(isa::SourceId source, Ticks from, Ticks until);
  void finish(Ticks total);

  // Per source; unknown for instructions without one.
  [[nodiscard]] const std::vector<Ticks>& shares() const { return shares_; }
  [[nodiscard]] Ticks unknown() const { return unknown_; }

 private:
  struct Lane {
    Ticks until;
    isa::SourceId source;
  };
  struct Ahead {
    isa::SourceId source;
    Ticks from;
    Ticks until;
  };
  void catch_up(Ticks now);
  void apply(int lane, isa::SourceId source, Ticks now, Ticks until);
  void advance(Ticks to, isa::SourceId next);
  void charge(isa::SourceId source, Ticks time);

  std::array<Lane, lane_count> lanes_{};
  std::vector<Ahead> ahead_;
  std::size_t ahead_head_ = 0;
  Ticks frontier_;
  isa::SourceId last_;
  std::vector<Ticks> shares_;
  Ticks unknown_;
};

}  // namespace systole::sim
