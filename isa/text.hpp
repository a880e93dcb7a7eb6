// Assembly: a program as text, one line per instruction, and back.
//
//   systole program 1
//   name "example"
//   machine "trn1" 8e26c85f8f3f654c                        name and fingerprint (hexadecimal)
//   semaphores 2
//   tensor t0 input "x" bf16 shape (64,128) order (0,1) storage (64,128)
//   tensor t1 constant "w" f32 shape (2) order (0) storage (2) data 0000803f00000040
//   source s0 operation "conv1 (Convolution)"
//   stream scalar
//     0: wait m0>=1 activation in=psum:f32[0+64]@0(128:1) out=sbuf:bf16[0+64]@0(128:1) function=relu -> m1 from s0
//   stream sync
//     0: dma source=hbm:bf16[t0]@0(64:128,128:1) destination=sbuf:bf16[0]@256(64:p1,128:1) ring=0 -> m0
//
// Operand: space:type[first partition + partitions]@byte offset(extent:stride,...), outermost first. Side of a transfer:
// space:type[tensor or first partition]@offset(...), a stride across partitions written p1. A wait names semaphore and
// least value, `->` the semaphore that is raised on completion, `from` the source. Instruction numbers are for the reader
// and ignored. A semicolon starts a comment. Members that have their default value may be left out; values in places
// that no meaning attaches to (dims beyond the rank, an access beside an immediate) follow a bar, so that
// parse(print(p)) == p for every program whose enumerators are in range and floats are no NaN, except for constants of
// more than `inline_data_bytes` bytes: these print `data omitted` and come back without data (timing only). The binary
// container (isa/binary.hpp) holds everything.
//
// parse throws Error{file:line:column, what, remedy}.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "isa/program.hpp"

namespace systole::isa {

struct PrintOptions {
  std::size_t inline_data_bytes = 64;
};

[[nodiscard]] std::string print(const Program& program, const PrintOptions& options = {});
[[nodiscard]] std::string print(const Instruction& instruction);  // the line after "N: "
[[nodiscard]] std::string print(const Access& access);
[[nodiscard]] std::string print(const DmaAccess& access);

[[nodiscard]] Program parse(std::string_view text, const std::string& file);
// One line of a stream of this engine.
[[nodiscard]] Instruction parse_instruction(std::string_view line, Engine engine);

}  // namespace systole::isa
