// THE engine: one class, five instances. An engine takes the instructions of its stream in order: it waits for its own
// pipeline, for semaphores, for ports and banks; then the instruction executes, occupies the engine, and its completion
// is entered in its semaphore. Completions are in order.
//
// What differs between the five is data (clocks, costs) except for two things that only one of them has: the tensor
// engine's array (sim/machine/array) and the Scalar engine's function table.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "isa/machine.hpp"
#include "isa/program.hpp"
#include "sim/execution.hpp"
#include "sim/machine/array.hpp"
#include "sim/machine/clock.hpp"
#include "sim/machine/dma.hpp"
#include "sim/machine/operands.hpp"
#include "sim/machine/ports.hpp"
#include "sim/machine/semaphores.hpp"
#include "sim/report/attribution.hpp"
#include "sim/report/report.hpp"
#include "sim/report/trace.hpp"
#include "sim/timing/timing.hpp"

namespace systole::sim {

// What the engines share.
struct Shared {
  const isa::Program& program;
  const isa::Machine& machine;
  const Timing& timing;
  Execution& execution;
  Clock& clock;
  Semaphores& semaphores;
  Ports& ports;
  Dma& dma;
  Attribution& attribution;
  Report& report;
  Trace* trace = nullptr;  // null: none wanted
  Ticks end;               // latest completion so far
  std::int64_t cell_cycles = 0;  // of array elements, at one column per cycle (a double row's pair in one)
  bool stopped = false;    // an instruction was refused
};

class Engine {
 public:
  Engine(isa::Engine which, Shared& shared);

  // Issues the next instruction if it can start at `now`, otherwise arranges to be woken.
  void step(Ticks now);

  [[nodiscard]] bool finished() const { return next_ >= stream_.size(); }
  [[nodiscard]] std::size_t next() const { return next_; }
  // Counts the time up to the end of the run, and hands out the totals.
  [[nodiscard]] EngineReport finish(Ticks total);
  [[nodiscard]] const std::vector<Ticks>& semaphore_stalls() const { return semaphore_stalls_; }

 private:
  struct Recent {
    Box box;
    Ticks end;  // of the stream that wrote it
  };
  static constexpr std::size_t recent_count = 4;

  void decode();
  [[nodiscard]] Ticks pipeline_ready(Stall& cause) const;
  [[nodiscard]] bool wait_for_semaphores(Ticks now);
  [[nodiscard]] bool wait_for_ports(Ticks now);
  void issue(Ticks now);
  void start_transfer(const isa::Instruction& instruction, Ticks now);
  void complete(const isa::Instruction& instruction, Ticks at, Ticks served);
  void account(Ticks now, Stall cause);
  void count(const isa::Instruction& instruction, Ticks begin, Ticks end);
  [[nodiscard]] bool on_datapath() const;

  isa::Engine which_;
  Shared& shared_;
  const std::vector<isa::Instruction>& stream_;
  std::size_t next_ = 0;

  // The next instruction, decoded.
  Operands operands_;
  Cost cost_;
  Ticks ready_;  // its own pipeline would let it start
  Stall blocked_by_ = Stall::issue;
  isa::SemaphoreId blocked_on_;

  // The pipeline.
  Ticks sequencer_free_;
  Ticks datapath_free_;
  Ticks stream_end_;  // of everything issued
  Ticks last_completion_;
  std::array<Recent, recent_count> recent_{};
  std::size_t recent_next_ = 0;
  std::optional<ArrayClock> array_;  // Tensor only
  isa::Function function_ = isa::Function::copy;
  bool function_loaded_ = false;

  // Accounts.
  EngineReport report_;
  Ticks accounted_;
  std::vector<Ticks> semaphore_stalls_;
};

}  // namespace systole::sim
