// What an instruction touches on the chip, as far as time depends on it: spaces, PSUM banks, and boxes (partitions x
// bytes) that contain its operands.
#pragma once

#include <array>
#include <cstdint>

#include "isa/instruction.hpp"
#include "isa/machine.hpp"

namespace systole::sim {

struct Box {
  isa::Space space = isa::Space::sbuf;
  std::int32_t first_partition = 0;
  std::int32_t end_partition = 0;
  std::int64_t begin = 0;  // bytes of a partition
  std::int64_t end = 0;
};
[[nodiscard]] bool overlaps(const Box& a, const Box& b);

struct Operands {
  static constexpr int max_reads = 5;
  std::array<Box, max_reads> reads{};
  std::array<Box, 2> writes{};
  int read_count = 0;
  int write_count = 0;
  bool sbuf = false;
  bool psum = false;
  std::uint32_t banks = 0;  // bit per PSUM bank
};

[[nodiscard]] Operands operands_of(const isa::Operation& operation, const isa::Machine& machine);

}  // namespace systole::sim
