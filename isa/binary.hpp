// The binary container: a whole program, constants included, as bytes.
//
// Layout, little-endian: "SYSTOLE\0", u32 format version, u32 zero, u64 length of the body, u64 checksum of the body,
// body. The body begins with machine name and fingerprint; then name, semaphores, tensors, sources, streams; members of
// instructions in the order of the field tables (isa/fields.hpp). Format 1.
//
// decode reads anything: a truncation, a flipped bit, a count larger than the bytes that follow, an enumerator or rank
// out of range give one Error{where, what, remedy}. Memory use is bounded by a multiple of the input's size.
// A decoded program is well-formed, not yet valid: isa/verify judges that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "isa/machine.hpp"
#include "isa/program.hpp"

namespace systole::isa {

[[nodiscard]] std::vector<std::byte> encode(const Program& program);
[[nodiscard]] Program decode(std::span<const std::byte> bytes, const std::string& where);

// Of a body, as the header holds it.
[[nodiscard]] std::uint64_t checksum(std::span<const std::byte> body);

// True if the bytes begin like a container: for readers that accept both forms.
[[nodiscard]] bool is_binary(std::span<const std::byte> bytes);

// A program file of either form. Throws Error.
[[nodiscard]] Program read_program(const std::string& path);
// Writes to a temporary name beside it, then renames. Throws Error.
void write_program(const Program& program, const std::string& path);

// Throws Error if the program was compiled for another machine (fingerprint of the architecture).
void expect_machine(const Program& program, const Machine& machine);

}  // namespace systole::isa
