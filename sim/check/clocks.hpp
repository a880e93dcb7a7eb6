// Happens-before between instructions and transfers, by vector clocks.
//
// Chains: the five engines (ordered by program order) and the DMA rings (completions in order). A wait for a semaphore
// to reach n orders the instruction after the first n signals of this run, in the order in which their instructions
// started, and after everything that they are ordered after. A transfer is ordered after what its triggering instruction
// is ordered after, and after the earlier instructions of that engine; two transfers of one ring are not ordered by the
// ring.
//
// Limit: if several chains signal one semaphore and a wait can be satisfied in more than one way, only the way of this
// run is judged.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "isa/instruction.hpp"
#include "isa/program.hpp"

namespace systole::sim {

// Position `index` (from 1) of chain `chain`.
struct Stamp {
  std::uint16_t chain = 0;
  std::uint32_t index = 0;
};

class Clocks {
 public:
  Clocks(const isa::Program& program, int rings);

  // The instruction starts: joins its waits. Returns its stamp (a transfer's is on its ring's chain).
  Stamp start(isa::Engine engine, const isa::Instruction& instruction);
  // The instruction that was started last on this engine signals.
  void signal(isa::Engine engine, isa::SemaphoreId semaphore, Stamp stamp);

  // Is what happened at the stamp ordered before the instruction started last on this engine (as an access of `self`)?
  [[nodiscard]] bool before(Stamp stamp, isa::Engine engine, Stamp self) const {
    if (stamp.chain == self.chain && stamp.chain < isa::engine_count) {
      return true;
    }
    return stamp.index <= known(engine)[stamp.chain];
  }
  // Ordered before everything that any engine will still do (one that has started its last instruction does nothing).
  // `running`: the engine whose instruction is being judged.
  [[nodiscard]] bool settled(Stamp stamp, isa::Engine running) const;

 private:
  struct Signal {
    Stamp stamp;
    std::uint32_t snapshot = 0;
  };
  struct Signals {  // of one semaphore, in order
    std::vector<Signal> kept;
    std::size_t head = 0;              // of kept: those before are forgotten
    std::uint32_t dropped = 0;         // number of the signal at kept[0]
    std::vector<isa::Engine> waiting;  // engines with a wait for the semaphore
    [[nodiscard]] std::uint32_t count() const {
      return dropped + static_cast<std::uint32_t>(kept.size());
    }
  };
  [[nodiscard]] const std::uint32_t* known(isa::Engine engine) const {
    return known_.data() + static_cast<std::size_t>(engine) * chains_;
  }
  void join(isa::Engine engine, isa::SemaphoreWait wait);
  void forget(isa::SemaphoreId semaphore);
  void drop(std::uint32_t& snapshot);
  [[nodiscard]] std::uint32_t snapshot_of(isa::Engine engine);

  std::size_t chains_;
  std::array<std::uint32_t, isa::engine_count> instructions_{};  // of each stream
  std::vector<std::uint32_t>
      known_;  // per engine: the last index of each chain known to have happened
  std::vector<std::uint32_t> ring_count_;     // transfers triggered per ring
  std::vector<Signals> signals_;              // per semaphore
  std::vector<std::uint32_t> joined_;         // per engine and semaphore: signals already joined
  std::vector<std::uint32_t> snapshots_;      // rows of chains_
  std::vector<std::uint32_t> snapshot_uses_;  // per row
  std::vector<std::uint32_t> free_snapshots_;
  std::vector<std::uint32_t> current_snapshot_;  // per engine; none if its clock has changed
};

}  // namespace systole::sim
