// How a transfer is cut: into descriptors, and over the DMA engines. Pure functions.
//
// A descriptor is a run that is contiguous on both sides. Rows that follow each other in HBM share one, up to a size and a
// number of rows of the timing file; the last row in it may go on in the next one. A transfer to or from SBUF is spread by
// partition: an engine serves partitions / engines neighbouring partitions; a transfer within HBM is spread evenly. A transposing one goes in blocks that all engines write together.
#pragma once

#include <cstdint>
#include <vector>

#include "isa/instruction.hpp"
#include "isa/machine.hpp"
#include "sim/timing/timing.hpp"

namespace systole::sim {

struct TransferShape {
  std::int64_t bytes = 0;  // moved (the wider side, if types differ)
  std::int64_t descriptor_bytes = 1;
  std::int64_t descriptors = 0;
  double jumping = 0;  // fraction of the descriptors at whose ends both sides jump
  std::int64_t hbm_read = 0;
  std::int64_t hbm_written = 0;
  double rate_fraction = 1;         // of an engine's rate
  bool pays_row_floor = true;       // the transposing path works in blocks of its own
  std::vector<std::int64_t> share;  // descriptors per engine
};

[[nodiscard]] TransferShape shape_of(const isa::Dma& dma, const isa::Machine& machine,
                                     const Timing& timing);
[[nodiscard]] TransferShape shape_of(const isa::DmaIndirect& dma, const isa::Machine& machine,
                                     const Timing& timing);

}  // namespace systole::sim
