// Which bytes have been written (or, for PSUM, started by a multiply): a set of (partition, byte) pairs.
//
// Blocks of bytes, each with the partitions for which the whole block belongs to the set, a few rectangles that are known
// to belong to it (they decide nearly every question), and, while a block is in parts, one partition set per byte.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "sim/check/footprint.hpp"

namespace systole::sim {

// For SBUF and PSUM.
class WrittenSet {
 public:
  explicit WrittenSet(std::int64_t bytes)
      : blocks_(static_cast<std::size_t>(bytes / block_bytes + 1)) {}

  void add(const Footprint& footprint);
  void remove(const Footprint& footprint);
  [[nodiscard]] bool contains(const Footprint& footprint);

 private:
  static constexpr std::int64_t block_bytes = 1024;
  static constexpr std::size_t rectangle_count = 6;
  struct Rectangle {
    PartitionSet partitions;
    std::int32_t begin = 0;
    std::int32_t end = 0;
  };
  struct Block {
    PartitionSet whole;
    std::array<Rectangle, rectangle_count> known{};
    std::uint32_t next_known = 0;
    std::unique_ptr<std::array<PartitionSet, block_bytes>> bytes;  // what belongs beyond `whole`
  };
  static bool known_in(const Block& block, const PartitionSet& partitions, std::int64_t begin,
                       std::int64_t end);
  static void note(Block& block, const PartitionSet& partitions, std::int64_t begin,
                   std::int64_t end);
  // Calls f(block, begin, end) with positions in the block, for every run of the footprint.
  template <class F>
  void for_each_part(const Footprint& footprint, F f);

  std::vector<Block> blocks_;
};

// For one HBM tensor: a bit per byte.
class WrittenBytes {
 public:
  explicit WrittenBytes(std::int64_t bytes) : bytes_(static_cast<std::size_t>(bytes), false) {}
  void add(const Footprint& footprint);
  [[nodiscard]] bool contains(const Footprint& footprint) const;
  [[nodiscard]] bool all() const;

 private:
  std::vector<bool> bytes_;
};

}  // namespace systole::sim
