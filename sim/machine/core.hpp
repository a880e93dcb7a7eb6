// The machine without its kernel: five engines, semaphores, ports and the DMA system, activated at given times.
//
// The written priority for everything that is due at one instant: DMA first (so that completions are seen), then the
// engines in the order Tensor, Vector, Scalar, GpSimd, Sync; within an engine, program order.
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "sim/machine/engine.hpp"

namespace systole::sim {

class Core : private Clock {
 public:
  Core(const isa::Program& program, const isa::Machine& machine, const Timing& timing,
       Execution& execution, const Options& options);

  static constexpr Ticks never = Ticks(std::int64_t{1} << 62);

  // When something is due for the first time.
  [[nodiscard]] Ticks next_due() const { return *std::min_element(due_.begin(), due_.end()); }
  // Everything that is due at `now`. Returns when something is due next (perhaps at once); never if the run is over or an
  // instruction was refused.
  Ticks dispatch(Ticks now);

  // After the last event.
  void finish(Outcome& outcome);

 private:
  void wake(int unit, Ticks at) override;
  void on_transfer_end(const TransferEnd& end);
  [[nodiscard]] bool report_blocked();
  void fill_report(Outcome& outcome);

  std::array<Ticks, unit_count> due_;
  Execution& execution_;
  Report report_;
  Trace trace_;
  Semaphores semaphores_;
  Ports ports_;
  Attribution attribution_;
  Dma dma_;
  Shared shared_;
  std::vector<std::unique_ptr<Engine>> engines_;
};

}  // namespace systole::sim
