// When the array takes its next stationary load or multiply, as the list schedule expects it.
//
// Purpose: small products that are packed into disjoint tiles of the array run side by side, and a stationary load goes on
// beside the last multiply. Who adds up their times expects the array to be busy for up to four times as long.
// Object: the array as a grid of the smallest tiles that work on their own. Units: ticks. Source: the vendor's architecture
// guide (row and column tiling, shadow weights).
#pragma once

#include <cstdint>
#include <vector>

#include "isa/instruction.hpp"
#include "isa/machine.hpp"

namespace systole::lower {

// Ticks from the start of an instruction to that of the next, on other tiles.
inline constexpr std::int64_t array_issue = 2;

class ArrayTiles {
 public:
  explicit ArrayTiles(const isa::Machine& machine);

  // Starts it as soon as its tiles can from `now` on; `elements`: how long its columns take. The time of its start.
  std::int64_t start(const isa::Operation& operation, std::int64_t elements, std::int64_t now);

 private:
  struct Tile {
    std::int64_t free = 0;    // of multiplies
    std::int64_t loaded = 0;  // the weights of the next multiply are there
  };
  int tile_;  // its rows and columns
  int grid_rows_;
  int grid_columns_;
  std::vector<Tile> tiles_;
  std::int64_t loader_free_ = 0;
};

}  // namespace systole::lower
