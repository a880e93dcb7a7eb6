// Matrix products out[M, N] = left[K, M]^T x right[K, N] as programs, in the forms that were published: every one of
// them is a loop order, a set of block sizes and an amount of buffering.
#pragma once

#include <cstdint>

#include "isa/machine.hpp"
#include "isa/program.hpp"

namespace systole::sim {

struct Product {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  isa::DType dtype = isa::DType::bf16;
};

// Tiles of 128 x 512 x 128; the right operand's tile is loaded for every multiply. The left operand is loaded in tiles
// of `left_tiles` times 128 columns (longer rows), each for `left_reuse` neighbouring tiles of n. left_tiles *
// left_reuse sums are open at a time. `buffers` tiles of each operand are in flight.
struct StreamedPlan {
  int left_tiles = 1;
  int left_reuse = 1;
  int rings = 1;
  int buffers = 8;
  int batch = 1;  // products of the same size, one after the other
};
[[nodiscard]] isa::Program streamed_product(const Product& product, const StreamedPlan& plan,
                                            const isa::Machine& machine);

// M, N and K blocked, in the order n, k, m of the published kernel. The results of all M rows and one block of columns lie
// in SBUF, in the operands' type: zeroed, added to from PSUM for every k block, at the end copied into rows for the stores,
// all on Vector. Loads are double-buffered.
struct BlockedPlan {
  std::int64_t m = 2048;
  std::int64_t n = 1024;
  std::int64_t k = 1024;
  int rings = 4;
};
[[nodiscard]] isa::Program blocked_product(const Product& product, const BlockedPlan& plan,
                                           const isa::Machine& machine);

// Both operands are loaded once and stay in SBUF; k innermost. The loads are part of the program: chunks of 512 columns, the
// widest moving tile, with all of k, in the order in which they are needed.
struct ResidentPlan {
  int accumulators = 2;  // PSUM banks taken in turn
  int rings = 4;
};
[[nodiscard]] isa::Program resident_product(const Product& product, const ResidentPlan& plan,
                                            const isa::Machine& machine);

// The right operand is loaded for every multiply, the left one once per 128 rows of the output. With `transpose` the left
// operand lies in HBM as [M, K], and each of its tiles is turned on the tensor engine for every use: through PSUM and an
// eviction, one step ahead of the multiply, in two buffers.
struct TransposingPlan {
  bool transpose = true;
  int rings = 4;
  int buffers = 16;
};
[[nodiscard]] isa::Program transposing_product(const Product& product, const TransposingPlan& plan,
                                               const isa::Machine& machine);

}  // namespace systole::sim
