// Conversions by Vector's transposes of small blocks (isa::Transpose32): one block of at most a quadrant's lanes, wherever it
// lies, to a quadrant of the result, out[f, p] = in[p, f]. Possible where the partition axes that only one side has fall into
// chunks of neighbouring partitions that each start a quadrant. Axes across the partitions of both sides go index by index,
// so that heads whose rows fill quadrants are turned head by head.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "compiler/layout/layout.hpp"
#include "isa/machine.hpp"

namespace systole::layout {

struct BlockTurn {
  // The long partition axes of a side in order: the last ones, which the other side has free, in chunks of neighbours; those
  // before them index by index.
  struct Side {
    std::vector<int> leads;
    std::vector<int> cut;
    std::int64_t chunks = 1;  // of all of them together
    bool operator==(const Side&) const = default;
  };
  Side from, to;
  std::int64_t shared = 1;  // extent of the axes across the partitions of both
  std::int64_t rest = 1;    // of those free on both

  [[nodiscard]] std::int64_t blocks() const { return from.chunks * to.chunks / shared * rest; }
  bool operator==(const BlockTurn&) const = default;
};

// Lanes of a block: what one instruction turns.
[[nodiscard]] std::int64_t block_lanes(const isa::Machine& machine);

[[nodiscard]] std::optional<BlockTurn> block_turn_of(const Layout& from, const Layout& to,
                                                     const graph::Shape& shape,
                                                     const isa::Machine& machine);

}  // namespace systole::layout
