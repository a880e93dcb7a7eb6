// Conversions by Vector alone, block by block (layout/block_turn.hpp): one instruction turns what lies in a quadrant of one
// side, for one index of the axes free on both, into a quadrant of the other. No PSUM, no second engine to wait for, and any
// element type; but an instruction moves a block only, so that it pays for few of them, and where partition groups share an
// axis, which the array cannot turn.
#pragma once

#include "compiler/lower/kernels/chunks.hpp"

namespace systole::lower {

// Whether it can: both sides fall into such blocks, and one index of the axes free on both fits where it is staged.
[[nodiscard]] bool vector_turns(const Builder& builder, const Operand& from, const Operand& to);
void turn_by_vector(Builder& builder, const Operand& from, const Operand& to);

}  // namespace systole::lower
