// How the rows of a transfer lie to each other; what follows from it is the simulator's business.
#pragma once

#include <cstdint>

#include "isa/access.hpp"

namespace systole::isa {

// Of the boundaries between the rows of a transfer, those at which both sides jump. To go on in the next partition is no
// jump: a tile of an HBM matrix, one row per partition, jumps on one side only.
[[nodiscard]] std::int64_t double_jumps(const DmaAccess& source, const DmaAccess& destination);

}  // namespace systole::isa
