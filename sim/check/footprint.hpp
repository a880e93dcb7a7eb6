// The bytes that one operand or one side of a transfer touches: a set of partitions times a set of bytes of a partition
// (or the bytes of an HBM tensor). Exact: two footprints meet if and only if they share a byte.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "isa/instruction.hpp"
#include "isa/program.hpp"

namespace systole::sim {

// Partitions as a bit set; HBM uses bit 0.
struct PartitionSet {
  static constexpr int capacity = 256;
  std::array<std::uint64_t, capacity / 64> words{};

  [[nodiscard]] bool meets(const PartitionSet& other) const {
    std::uint64_t common = 0;
    for (std::size_t i = 0; i < words.size(); ++i) {
      common |= words[i] & other.words[i];
    }
    return common != 0;
  }
  [[nodiscard]] bool within(const PartitionSet& other) const {
    std::uint64_t outside = 0;
    for (std::size_t i = 0; i < words.size(); ++i) {
      outside |= words[i] & ~other.words[i];
    }
    return outside == 0;
  }
  void add(const PartitionSet& other) {
    for (std::size_t i = 0; i < words.size(); ++i) {
      words[i] |= other.words[i];
    }
  }
  void remove(const PartitionSet& other) {
    for (std::size_t i = 0; i < words.size(); ++i) {
      words[i] &= ~other.words[i];
    }
  }
  bool operator==(const PartitionSet&) const = default;
};
[[nodiscard]] PartitionSet partition_range(int first, int count);

struct Footprint {
  static constexpr int max_rank = 7;

  isa::Space space = isa::Space::sbuf;
  isa::TensorId tensor;
  PartitionSet partitions;
  int partition = 0;  // hull of the partitions
  int partition_end = 0;
  bool solid = true;       // every partition of that hull
  std::int64_t begin = 0;  // hull in bytes
  std::int64_t end = 0;
  // The bytes: begin + sum of i_d * stride[d] + [0, run); strides positive, outermost (largest) first.
  std::int64_t run = 0;
  int rank = 0;
  std::array<std::int64_t, max_rank> stride{};
  std::array<std::int64_t, max_rank> extent{};

  // Every byte of the hull is touched.
  [[nodiscard]] bool dense() const { return rank == 0; }
  [[nodiscard]] bool rectangle() const { return rank == 0 && solid; }
  [[nodiscard]] bool same_bytes(const Footprint& other) const;
};

[[nodiscard]] Footprint footprint_of(const isa::Access& access);
[[nodiscard]] Footprint footprint_of(const isa::DmaAccess& access);
// All rows of the table that a DmaIndirect may touch, and one of them.
[[nodiscard]] Footprint table_footprint(const isa::DmaIndirect& dma);
[[nodiscard]] Footprint table_row_footprint(const isa::DmaIndirect& dma, std::int64_t row);

[[nodiscard]] bool meets(const Footprint& a, const Footprint& b);

// Calls f(begin, end) for every run; the loops over the outer dims whose runs lie further apart than `grain` are
// explicit, what is nearer is one hull (grain 0: exact).
template <class F>
void for_each_block(const Footprint& footprint, std::int64_t grain, F f) {
  std::int64_t span = footprint.run;
  int outer = footprint.rank;
  while (outer > 0 && footprint.stride[static_cast<std::size_t>(outer - 1)] <= grain) {
    --outer;
    const auto d = static_cast<std::size_t>(outer);
    span += footprint.stride[d] * (footprint.extent[d] - 1);
  }
  std::array<std::int64_t, Footprint::max_rank> index{};
  std::int64_t at = footprint.begin;
  for (;;) {
    f(at, at + span);
    int d = outer;
    for (;;) {
      if (d == 0) {
        return;
      }
      --d;
      const auto i = static_cast<std::size_t>(d);
      at += footprint.stride[i];
      if (++index[i] < footprint.extent[i]) {
        break;
      }
      at -= footprint.stride[i] * footprint.extent[i];
      index[i] = 0;
    }
  }
}

// Calls f(footprint, is_write) for what an operation touches, reads before writes, until f returns false. `rows`: the rows
// that an indirect transfer selects in its table, each once; null if they are not known: then any of them.
template <class F>
void for_each_touch(const isa::Operation& operation, const std::vector<std::int64_t>* rows, F f) {
  bool more = true;
  for (const bool writes : {false, true}) {
    isa::for_each_access(operation, [&](const isa::Access& access, bool is_write) {
      if (more && is_write == writes) {
        more = f(footprint_of(access), is_write);
      }
    });
  }
  if (const auto* dma = operation.get_if<isa::Dma>()) {
    more = more && f(footprint_of(dma->source), false);
    more = more && (!dma->accumulate || f(footprint_of(dma->destination), false));
    more = more && f(footprint_of(dma->destination), true);
  } else if (const auto* indirect = operation.get_if<isa::DmaIndirect>()) {
    const Footprint side = footprint_of(indirect->rows_side);
    const auto touch_table = [&](bool is_write) {
      if (rows == nullptr) {
        more = more && f(table_footprint(*indirect), is_write);
        return;
      }
      for (const std::int64_t row : *rows) {
        more = more && f(table_row_footprint(*indirect, row), is_write);
      }
    };
    if (indirect->scatter) {
      more = more && f(side, false);
      touch_table(true);
    } else {
      touch_table(false);
      more = more && f(side, true);
    }
  }
}

}  // namespace systole::sim
