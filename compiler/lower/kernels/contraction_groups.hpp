// The groups of a contraction, in order: what accumulates in PSUM at once.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/lower/kernels/contraction_blocking.hpp"

namespace systole::lower {

// A tile of weights: one value of every other m label, a box of the row labels, contiguous in the
// result's partitions.
struct RowTile {
  Ranges box;
  Span partitions;  // of the result
};

struct Step {  // one pass over the array's rows
  Span rows;   // linear partition index of the operands
  Ranges box;  // one value of every free k label
};

// One round over a block: a k block of a pass.
struct Turn {
  bool first = true;
  bool last = true;
  int pass = 0;  // which digits of the operands
};

struct Group {
  Ranges block;
  Turn turn;
  bool begins_round = true;
  bool k_blocks = false;  // the block has several rounds
  std::vector<RowTile> tiles;
  std::size_t first_tile = 0;  // of these among the tiles of the block
  Ranges span;                 // columns
  std::size_t span_index = 0;
  std::size_t spans = 1;        // of the block
  std::size_t block_tiles = 1;  // tiles of the block
  std::vector<Step> steps;
};

// Cuts blocks, in order (each with one value of every batch label) into groups.
class Grouping {
 public:
  // `out_resident`: tiles end where the result's partitions have to. `passes`: over all k.
  Grouping(const Space& space, const isa::Machine& machine, const Blocking& blocking,
           bool out_resident, int passes)
      : space_(space),
        machine_(machine),
        blocking_(blocking),
        out_resident_(out_resident),
        passes_(passes) {}

  [[nodiscard]] std::vector<Group> groups_of(const Ranges& block);
  [[nodiscard]] std::vector<RowTile> row_tiles(const Ranges& block) const;
  [[nodiscard]] std::vector<Step> steps_of(const Ranges& batch) const;

 private:
  void cut_run(const Ranges& run, std::vector<RowTile>& tiles) const;
  [[nodiscard]] std::size_t next_size();

  const Space& space_;
  const isa::Machine& machine_;
  const Blocking& blocking_;
  bool out_resident_;
  int passes_;
  bool started_ = false;  // a first group may be larger
};

// The rows of the operands that one batch takes.
[[nodiscard]] Span rows_of(const Space& space, const Ranges& batch);

}  // namespace systole::lower
