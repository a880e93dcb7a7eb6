// Moving a box of elements between two places by DMA: cut into transfers that the machine can do.
//
// A box is a list of steps; each advances both ends. An end in SBUF counts partitions linearly:
// index p lies in partition p mod machine.partitions of block p div machine.partitions, one block
// being `block` elements long inside a partition. Cuts happen where an end crosses from one block
// to the next in a way that is no constant stride, and where more than six dims remain per side.
// Steps are reordered so that the destination is walked outermost stride first: the longest
// contiguous rows that both sides allow are then innermost.
#pragma once

#include <functional>
#include <vector>

#include "compiler/lower/tile.hpp"
#include "isa/machine.hpp"

namespace systole::lower {

struct Motion {
  std::int64_t partitions = 0;  // linear partition index (SBUF only)
  std::int64_t elements = 0;
  bool operator==(const Motion&) const = default;
};

struct End {
  isa::Space space = isa::Space::hbm;  // hbm or sbuf
  isa::DType dtype = isa::DType::f32;
  isa::TensorId tensor;        // hbm
  BufferId buffer;             // sbuf
  std::int64_t partition = 0;  // sbuf: linear index of the first element's partition
  std::int64_t elements = 0;   // from the start of the tensor, or inside the partition
  std::int64_t bytes = 0;      // sbuf: added to the offset
  std::int64_t block = 0;      // sbuf: elements from one block to the next
};

struct TransferStep {
  std::int64_t extent = 1;
  Motion source;
  Motion destination;
};

struct Transfer {
  End source;
  End destination;
  std::vector<TransferStep> steps;
  bool accumulate = false;
  bool transpose = false;  // on the transposing path, what it can do
};

struct PlannedDma {
  isa::Dma dma;
  std::vector<BufferId> buffers;  // of the SBUF sides, source first
};

// Calls f for every transfer, in order of the walk; not at all if a step has no extent.
void plan_dma(const Transfer& transfer, const isa::Machine& machine,
              const std::function<void(PlannedDma)>& f);

}  // namespace systole::lower
