// Counters with known futures: an increment is entered when its cause starts, with the time at which waiting engines see
// it. So an engine can sleep until the very moment its wait is satisfied, and no event is spent on the increment itself.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "isa/base/units.hpp"
#include "isa/instruction.hpp"
#include "sim/machine/clock.hpp"

namespace systole::sim {

class Semaphores {
 public:
  Semaphores(int count, Clock& clock);

  // Increments must be entered no later than their time. from_dma, origin and served (when its unit was done with it)
  // describe the cause.
  void increment(isa::SemaphoreId id, Ticks at, bool from_dma, int origin, Ticks served);

  struct Reach {
    bool known = false;  // some known increment satisfies the wait
    Ticks at;            // when
    bool from_dma = false;
    int origin = 0;  // unit of the increment that satisfied it
    Ticks served;    // when that unit was done with the cause
  };
  // When the value reaches at_least, judged at `now`. Not known: the engine is woken at later increments.
  [[nodiscard]] Reach reach(isa::Engine engine, isa::SemaphoreWait wait, Ticks now);
  void stop_waiting(isa::Engine engine) {
    waiting_[static_cast<std::size_t>(engine)] = isa::SemaphoreId();
  }

  [[nodiscard]] std::int64_t value(isa::SemaphoreId id, Ticks now) const;

 private:
  struct Increment {
    Ticks at;
    bool from_dma = false;
    int origin = 0;
    Ticks served;
  };
  struct Semaphore {
    std::int64_t passed = 0;        // increments before `future`
    Increment last;                 // of those
    std::vector<Increment> future;  // by time; those from `head` on are pending
    std::size_t head = 0;
  };
  static void settle(Semaphore& semaphore, Ticks now);

  std::vector<Semaphore> semaphores_;
  std::array<isa::SemaphoreId, isa::engine_count> waiting_{};
  Clock& clock_;
};

}  // namespace systole::sim
