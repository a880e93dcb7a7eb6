// Vector work on a strip of rows, moved to where what it reads is made.
#pragma once

#include "compiler/lower/tile.hpp"

namespace systole::lower {

// Moves the instructions from `begin` to the end right behind the last one before them that they have to follow, so that
// work on the first strip of a product's result comes before the product's work on the next one: the schedule prefers
// what stands first. The sequential order stays right.
void hoist(std::vector<TileInstruction>& instructions, std::size_t begin);

}  // namespace systole::lower
