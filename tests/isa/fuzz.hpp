// What must hold for any bytes given to the readers of programs: an Error, or a program that can be printed, encoded and
// verified, and that comes back equal. Shared by the fuzzer and by a run with fixed seeds.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "isa/base/error.hpp"
#include "isa/binary.hpp"
#include "isa/text.hpp"
#include "isa/verify.hpp"

namespace systole::isa::testing {

enum class Fate { refused, read };

inline Fate fuzz_text(std::string_view text, const Machine& machine) {
  try {
    const Program program = parse(text, "fuzz");
    const std::string printed = print(program, {.inline_data_bytes = ~std::size_t{0}});
    // Compared as text: a NaN is not equal to itself.
    check(print(parse(printed, "fuzz"), {.inline_data_bytes = ~std::size_t{0}}) == printed,
          "text does not come back");
    static_cast<void>(verify(program, machine));
    return Fate::read;
  } catch (const Error&) {
    return Fate::refused;
  }
}

// The bytes become the body of a container whose header fits them, so that the reader behind the checksum is reached.
inline Fate fuzz_body(std::span<const std::byte> body, const Machine& machine) {
  std::vector<std::byte> bytes = encode(Program{});
  bytes.resize(32);
  bytes.insert(bytes.end(), body.begin(), body.end());
  const std::uint64_t length = body.size();
  const std::uint64_t sum = checksum(body);
  std::memcpy(bytes.data() + 16, &length, sizeof(length));
  std::memcpy(bytes.data() + 24, &sum, sizeof(sum));
  try {
    const Program program = decode(bytes, "fuzz");
    check(encode(program) == bytes, "a container does not come back");
    static_cast<void>(verify(program, machine));
    return Fate::read;
  } catch (const Error&) {
    return Fate::refused;
  }
}

}  // namespace systole::isa::testing
