// Which DMA engines a side of a transfer keeps busy. Purpose: one answer for the simulator and the compiler. Source: the
// vendor's guide to DMA: an engine serves partitions / engines neighbouring partitions of SBUF.
#pragma once

#include <cstdint>
#include <vector>

#include "isa/access.hpp"
#include "isa/machine.hpp"

namespace systole::isa {

// Partitions of SBUF that the pattern touches, counted per DMA engine.
[[nodiscard]] std::vector<std::int64_t> partitions_per_engine(const DmaAccess& access,
                                                              const Machine& machine);

}  // namespace systole::isa
