// Who can be woken, and the one who wakes. The simulated units know time only through this.
#pragma once

#include "isa/base/units.hpp"
#include "isa/instruction.hpp"

namespace systole::sim {

// The five engines by number, then the DMA system.
inline constexpr int dma_unit = isa::engine_count;
inline constexpr int unit_count = isa::engine_count + 1;

class Clock {
 public:
  virtual ~Clock() = default;
  // The unit is to be activated at `at` (not before now). Of several requests the earliest happens; a unit asks again when
  // it is activated too early.
  virtual void wake(int unit, Ticks at) = 0;
};

}  // namespace systole::sim
