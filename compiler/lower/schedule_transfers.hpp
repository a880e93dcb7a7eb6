// When transfers end, as the list schedule expects it.
//
// Purpose: a transfer to or from few partitions keeps few DMA engines busy, and for long; one of short rows takes longer
// than its bytes. Who takes all transfers for one pipe of bytes expects their readers too early.
// Object: the DMA engines, each of which works on its parts of the transfers in the order of their triggers.
// Units: ticks (1/5.6 ns on v2, 1/4.8 ns on v3). Source: the rates, floors and latencies published for the two generations.
#pragma once

#include <cstdint>
#include <vector>

#include "isa/instruction.hpp"
#include "isa/machine.hpp"

namespace systole::lower {

// Until the engine that triggers a transfer goes on.
inline constexpr std::int64_t trigger_ticks = 280;

class TransferEngines {
 public:
  explicit TransferEngines(const isa::Machine& machine);

  // Triggers a transfer at `now`: when it is complete.
  std::int64_t add(const isa::Operation& operation, std::int64_t now);

  // When the next load is to be chosen after the transfer added last: early enough to keep the engines busy. Chosen still
  // earlier, a load that becomes possible meanwhile, because it reads what a store has just put in order, would queue
  // behind all others.
  [[nodiscard]] std::int64_t next_load() const;

 private:
  const isa::Machine& machine_;
  std::vector<std::int64_t> free_;  // by DMA engine
  std::int64_t last_byte_ = 0;      // of the transfer added last
};

}  // namespace systole::lower
