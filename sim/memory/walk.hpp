// An access pattern as host addresses: what one partition of an operand is, and copying it to and
// from a dense array.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "isa/access.hpp"

namespace systole::sim {

// The free dims of an Access in bytes, with dims of extent 1 dropped and dims merged that step on
// evenly. Enumeration order is the access's.
struct Walk {
  std::int64_t offset = 0;
  std::int64_t elements = 1;
  int element_size = 4;
  int rank = 0;
  std::array<std::int64_t, isa::Access::max_rank> stride{};  // bytes, outermost first
  std::array<std::int64_t, isa::Access::max_rank> extent{};

  // The elements are one dense array at `offset`.
  [[nodiscard]] bool dense() const { return rank == 0 || (rank == 1 && stride[0] == element_size); }
};

[[nodiscard]] Walk walk_of(const isa::Access& access);

// Dense copy of the pattern's elements; `base` is byte 0 of the partition.
void gather(const Walk& walk, const std::byte* base, std::byte* to);
void scatter(const Walk& walk, const std::byte* from, std::byte* base);

}  // namespace systole::sim
