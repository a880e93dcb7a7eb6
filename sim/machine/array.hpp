// When the tensor engine's array can take its next instruction.
//
// The array is a grid of tiles (the smallest that can work on their own). A stationary load fills the shadow weights of
// its tiles while they go on multiplying with the old ones; the next multiply on these tiles takes the new weights over
// when it starts. So a pair of load and multiply repeats every max(load, multiply), plus what the take-over costs beyond
// the shortest interval. Multiplies on disjoint tiles overlap.
//
// Optional warm-up: until the array has worked for one window, and again after a window in which it was active for less
// than half of the time, multiplies take longer by a factor. Active counts until the last result has landed in PSUM.
#pragma once

#include <vector>

#include "isa/instruction.hpp"
#include "isa/machine.hpp"
#include "sim/timing/cost.hpp"
#include "sim/timing/timing.hpp"

namespace systole::sim {

class ArrayClock {
 public:
  ArrayClock(const isa::Machine& machine, const Timing& timing);

  // Earliest start of a stationary load or multiply.
  [[nodiscard]] Ticks ready(const isa::Operation& operation) const;

  struct Span {
    Ticks begin;  // first column enters
    Ticks end;    // last column has entered
  };
  // It starts at `now`, which is not before ready().
  Span start(const isa::Operation& operation, const Cost& cost, Ticks now);

 private:
  struct Tile {
    Ticks free;          // of multiplies
    Ticks loaded;        // shadow weights complete
    bool fresh = false;  // shadow weights not taken over yet
  };
  struct Region {  // of tiles, end excluded
    int row = 0;
    int row_end = 0;
    int column = 0;
    int column_end = 0;
  };
  [[nodiscard]] Region region_of(int row, int rows, int column, int columns) const;
  [[nodiscard]] Region region_of(const isa::Operation& operation) const;
  [[nodiscard]] Ticks warmed(Ticks stream, Ticks now);

  template <class F>
  void for_each_tile(const Region& region, F f) const {
    for (int r = region.row; r < region.row_end; ++r) {
      for (int c = region.column; c < region.column_end; ++c) {
        f(static_cast<std::size_t>(r * grid_columns_ + c));
      }
    }
  }

  const Timing& timing_;
  int tile_;
  int grid_rows_;
  int grid_columns_;
  std::vector<Tile> tiles_;
  Ticks loader_free_;
  Ticks switch_time_;
  Ticks window_;
  Ticks window_start_;
  Ticks latency_;
  Ticks active_until_;
  Ticks window_active_;
  Ticks work_since_cold_;
  bool cold_;
};

}  // namespace systole::sim
