// What must hold for any bytes given to the readers of programs and machines: an Error, or a program that can be printed,
// encoded and verified, and that comes back equal. Shared by the fuzzer and by a run with fixed seeds.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "isa/base/error.hpp"
#include "isa/base/random.hpp"
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

// A machine file: refused, or an architecture that comes back when printed.
inline Fate fuzz_machine(const std::string& text) {
  try {
    const Machine machine = parse_machine(text, "fuzz");
    check(parse_machine(print_architecture(machine), "fuzz") == machine,
          "a machine does not come back");
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

// One to four edits: a byte changed, a stretch removed, doubled, or moved.
template <class B>
void damage(B& bytes, Random& random) {
  for (std::int64_t k = random.integer(1, 4); k > 0 && !bytes.empty(); --k) {
    const auto size = static_cast<std::int64_t>(bytes.size());
    const auto at = static_cast<std::ptrdiff_t>(random.integer(0, size - 1));
    const auto length =
        static_cast<std::ptrdiff_t>(random.integer(1, std::min<std::int64_t>(size - at, 20)));
    const B stretch(bytes.begin() + at, bytes.begin() + at + length);
    const auto to = static_cast<std::ptrdiff_t>(random.integer(0, size));
    switch (random.integer(0, 2)) {
      case 0:
        bytes[static_cast<std::size_t>(at)] =
            static_cast<typename B::value_type>(random.integer(0, 255));
        break;
      case 1:
        bytes.erase(bytes.begin() + at, bytes.begin() + at + length);
        break;
      default:
        bytes.insert(bytes.begin() + to, stretch.begin(), stretch.end());
    }
  }
}

}  // namespace systole::isa::testing
