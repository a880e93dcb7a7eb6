// How much HBM a tile program needs: tensors that hold something at the same time. Inputs, outputs and constants do from
// beginning to end, scratch from its first instruction to its last.
#pragma once

#include "compiler/lower/tile.hpp"

namespace systole::lower {

[[nodiscard]] std::int64_t hbm_peak(const TileProgram& tiles);  // bytes

}  // namespace systole::lower
