// Which transfers the transposing path of the DMA engines can do. Purpose: one answer for the verifier, the simulator and
// the compiler. Source: the vendor's architecture guide of the second generation (output [128, 16] blocks that 16 engines
// write together, HBM or SBUF to SBUF, 2-byte types) and its instruction reference (the last axis of the source becomes
// the first of the destination, the first one the last; axes between stay).
//
// As patterns: the elements that are neighbours at the source lie in neighbouring partitions of SBUF afterwards, and what
// are neighbours there afterwards come from different partitions, or from anywhere in HBM. Any further steps repeat that.
#pragma once

#include <cstdint>
#include <optional>

#include "isa/access.hpp"
#include "isa/machine.hpp"

namespace systole::isa {

struct Transposition {
  std::int64_t columns = 1;  // neighbours at the source, partitions at the destination; at least 2
  std::int64_t rows = 1;     // neighbours at the destination
  std::int64_t repeats = 1;  // of that
  bool operator==(const Transposition&) const = default;
};

// Nothing if the patterns are no transposition. Types are not looked at.
[[nodiscard]] std::optional<Transposition> transposition_of(const DmaAccess& source,
                                                            const DmaAccess& destination);

// Blocks that it is made of; one that is not filled is a block all the same.
[[nodiscard]] std::int64_t blocks_of(const Transposition& transposition, const Machine& machine);

}  // namespace systole::isa
