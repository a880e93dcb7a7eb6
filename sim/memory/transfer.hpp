// Moving elements between two DMA patterns: both sides enumerate the same number of elements,
// possibly with different groupings of their dims.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "isa/access.hpp"

namespace systole::sim {

// One loop level over both sides at once, strides in bytes of host memory.
struct TransferDim {
  std::int64_t extent = 1;
  std::int64_t source_stride = 0;
  std::int64_t destination_stride = 0;
};

// Loops, outermost first. nested = false if the groupings of the two sides have no common
// refinement; then each side has its own loops in `source` and `destination` (only the stride of
// that side is set).
struct TransferPlan {
  bool nested = true;
  std::vector<TransferDim> dims;
  std::vector<TransferDim> source;
  std::vector<TransferDim> destination;
};

[[nodiscard]] TransferPlan plan_transfer(const isa::DmaAccess& source, std::int64_t source_pitch,
                                         const isa::DmaAccess& destination,
                                         std::int64_t destination_pitch);

// What happens to an element on its way.
struct TransferKind {
  isa::DType source = isa::DType::f32;
  isa::DType destination = isa::DType::f32;
  bool accumulate = false;
};

// Copies; source and destination point at the first element of each side.
void run_transfer(const TransferPlan& plan, const TransferKind& kind, const std::byte* source,
                  std::byte* destination);

}  // namespace systole::sim
