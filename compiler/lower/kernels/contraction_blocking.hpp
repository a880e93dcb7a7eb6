// How a contraction is cut so that operands are reused from SBUF: the sizes of its blocks.
//
// Loops, outermost first: batch, n block, m block, k block; in a block, groups of m tiles x n tiles
// that accumulate in as many PSUM banks while k runs. An operand that is streamed from HBM is
// loaded once per block. With one k block the moving operand's block stays for all m blocks; with
// several, both operands are loaded for each (m block, n block), and partial sums wait in SBUF in
// fp32.
#pragma once

#include <limits>

#include "compiler/lower/kernels/contraction_space.hpp"

namespace systole::lower {

struct Streamed {       // one operand
  bool loaded = false;  // from HBM, or converted: needs room; otherwise it is used where it lies
  int element_bytes = 4;
  bool whole = false;   // chosen: loaded once, all of it, before anything else
  bool turned = false;  // the array transposes what is loaded
};

struct Blocking {
  std::int64_t m = 0;  // elements of a block
  std::int64_t n = 0;
  std::int64_t k_steps = 0;  // of a k block; a step is one pass over array rows
  bool k_free_whole = true;  // one load takes all values of the free k labels
  std::int64_t m_tiles = 1;  // of a group
  std::int64_t n_tiles = 1;
  std::int64_t first_m_tiles =
      1;  // of the very first group: more work for the first operands that arrive
  Streamed stationary, moving;
  bool bound_by_loads = false;  // loading operands takes longer than multiplying them
};

struct BlockingTask {
  const Space& space;
  const isa::Machine& machine;
  std::int64_t budget = 0;     // bytes per partition
  std::int64_t row_parts = 1;  // parts of the k rows of one batch
  bool f32 = true;             // of the operands as multiplied
  Streamed stationary, moving;
  bool out_staged = true;
  std::int64_t passes = 1;  // over the same operands (digits)
  std::int64_t k_steps_max = std::numeric_limits<std::int64_t>::max();
  int out_bytes = 4;
  bool prefetched = false;  // the first loads run while operators before this one compute
};

[[nodiscard]] Blocking choose_blocking(const BlockingTask& task);

}  // namespace systole::lower
