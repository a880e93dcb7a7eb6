// How long an instruction occupies its engine: pure functions of the operation, the machine and the timing. N is the
// number of elements per partition. Sources: hardware.md sections 1.3, 3 and 6 through the figures of configs/*.yaml.
#pragma once

#include "isa/instruction.hpp"
#include "isa/machine.hpp"
#include "sim/timing/timing.hpp"

namespace systole::sim {

struct Cost {
  Ticks stream;    // elements pass through the engine; ports and banks are held this long
  Ticks busy;      // counted as busy time: the stream, or the shortest occupation if that is longer
  Ticks interval;  // from this start to that of an independent next instruction
  Ticks latency;   // end of the stream to completion (the signal)
  bool performance_mode = false;  // Vector borrows GpSimd's bus
  Ticks filler;  // of a multiply's stream: beyond its last column, up to the shortest interval
};

// Dma, DmaIndirect: the trigger only; the transfer is sim/machine/dma's. A stationary load's interval is the load itself;
// whether it hides behind a multiply is the engine's business, as are changes of the Scalar engine's function table.
[[nodiscard]] Cost cost_of(const isa::Operation& operation, isa::Engine engine,
                           const isa::Machine& machine, const Timing& timing);

// Engine cycles in which elements stream.
[[nodiscard]] std::int64_t stream_cycles(const isa::Operation& operation, isa::Engine engine,
                                         const Timing& timing);

// Vector: 1, 2 or 4 elements per cycle and partition.
[[nodiscard]] int performance_mode(const isa::Operation& operation, const Timing& timing);

}  // namespace systole::sim
