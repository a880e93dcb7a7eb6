// Conversions on the transposing path of the DMA engines, straight from where the tensor lies: no other engine works, and a
// tensor from HBM is turned while it is loaded. In pieces, so that its maker and its readers work meanwhile; for a result
// in HBM they are staged in SBUF.
#pragma once

#include "compiler/lower/kernels/chunks.hpp"

namespace systole::lower {

// Whether it can: the machine has the path, one type of 2 bytes, and the layouts are a transposition of these extents.
[[nodiscard]] bool dma_turns(const Builder& builder, const Operand& from, const Operand& to);
void turn_by_dma(Builder& builder, const Operand& from, const Operand& to);

}  // namespace systole::lower
