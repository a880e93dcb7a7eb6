// Conversions by the array: a tile of the data is the stationary operand and the identity moves through the array, so that
// partitions become the free dim in PSUM. Several tiles share a bank and are evicted at once, and more of them long rows in
// HBM. The array rounds nothing that fp32 or the 2-byte floats hold.
#pragma once

#include "compiler/lower/kernels/chunks.hpp"

namespace systole::lower {

// Whether it can: floats, and no axis of extent over 1 across the partitions of both sides (but of one at least).
[[nodiscard]] bool array_turns(const Operand& from, const Operand& to);
void turn_by_array(Builder& builder, const Operand& from, const Operand& to);

}  // namespace systole::lower
