// Evictions of several small tiles of PSUM as one instruction.
//
// An instruction takes its engine a fixed time beside its elements. So short copies out of PSUM that stand next to each
// other, and divisions of such tiles by one number per partition each, become one instruction where the tiles fit one
// bank together: their products then write to one buffer.
#pragma once

#include "compiler/lower/tile.hpp"
#include "isa/machine.hpp"

namespace systole::lower {

void join_evictions(TileProgram& program, const isa::Machine& machine);

}  // namespace systole::lower
