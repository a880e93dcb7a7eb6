// Every rule that a program must keep and that can be judged without running it.
//
// Frame: the stream's engine executes the operation; ids in range; semaphores reach every value that is waited for
// (streams are in order and semaphores only grow, so whether a program can finish does not depend on timing: verify
// plays it through once, transfers completing at once, and names each stream that stops).
// Operands: start-partition rule, bounds of SBUF, PSUM and HBM tensors, limits of rank, extent and stride, offsets on
// multiples of the element's size, no element of a destination written twice.
// Operations: limits of the array (K, M, N), tiling positions, PSUM output in one bank, loaded weights present and of a
// type that pairs with the moving operand, equal partitions and element counts, not both inputs in PSUM, types, ops and
// counts of each instruction. Transfers: equal counts on both sides, rings, roles (inputs and constants are not written).
// Program: tensors' extents, orders, data, names, and their sum in HBM.
//
// Not judged here: whether what is read was ever written, races, accumulation onto PSUM that nothing started, the values
// of indices (the simulator watches these); whether the program is meant for this machine (expect_machine in
// isa/binary.hpp).
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "isa/machine.hpp"
#include "isa/program.hpp"

namespace systole::isa {

struct Diagnostic {
  std::optional<Engine> engine;  // none: the program as a whole
  std::size_t instruction = 0;   // number in the engine's stream
  SourceId source;
  std::string what;
};

inline constexpr std::size_t diagnostics_max = 1000;  // further ones are not collected

// Empty for a valid program; otherwise all violations in order of streams and instructions.
[[nodiscard]] std::vector<Diagnostic> verify(const Program& program, const Machine& machine);

// All of it but the play-through: every instruction by itself.
[[nodiscard]] std::vector<Diagnostic> verify_instructions(const Program& program,
                                                          const Machine& machine);

// The part of it that regards the program as a whole: its semaphores and its tensors.
[[nodiscard]] std::vector<Diagnostic> verify_frame(const Program& program, const Machine& machine);

// One line: `vector instruction 12 (tensor_tensor, for "conv1 (Convolution)"): in and other both lie in PSUM`.
[[nodiscard]] std::string describe(const Diagnostic& diagnostic, const Program& program);

// Throws Error with the first violation and the number of the others.
void expect_valid(const Program& program, const Machine& machine);

}  // namespace systole::isa
