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

// For one HBM tensor: blocks that are written as a whole, and a bit per byte for blocks in parts.
class WrittenBytes {
 public:
  explicit WrittenBytes(std::int64_t bytes)
      : size_(bytes), blocks_(static_cast<std::size_t>((bytes + block_bytes - 1) / block_bytes)) {}
  void add(const Footprint& footprint);
  [[nodiscard]] bool contains(const Footprint& footprint) const;
  [[nodiscard]] bool all() const;

 private:
  static constexpr std::int64_t block_bytes = 4096;
  struct Block {
    std::int32_t written = 0;                                           // bytes
    std::unique_ptr<std::array<std::uint64_t, block_bytes / 64>> bits;  // null if none or all
  };
  [[nodiscard]] std::int64_t length(std::size_t index) const;
  void add_part(std::size_t index, std::int64_t begin, std::int64_t end);
  [[nodiscard]] bool contains_part(std::size_t index, std::int64_t begin, std::int64_t end) const;

  std::int64_t size_;
  std::vector<Block> blocks_;
};

}  // namespace systole::sim
