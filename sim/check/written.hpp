// Which bytes have been written (or, for PSUM, started by a multiply): a set of (partition, byte) pairs.
//
// Blocks of bytes, each with the partitions for which the whole block belongs to the set, and a few rectangles. Only what
// these cannot express is kept byte by byte. A question is first asked for the hull of a footprint, which nearly always
// belongs to the set once a buffer has been filled.
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
  static constexpr std::uint32_t rectangle_count = 6;
  struct Rectangle {
    PartitionSet partitions;
    std::int32_t begin = 0;
    std::int32_t end = 0;
  };
  struct Block {
    PartitionSet whole;
    std::uint32_t rectangles = 0;                    // used entries of known
    std::uint32_t next = 0;                          // to be replaced when all are used
    std::array<Rectangle, rectangle_count> known{};  // beyond `whole`
    std::unique_ptr<std::array<PartitionSet, block_bytes>> bytes;  // all beyond `whole`, or null
  };
  [[nodiscard]] static bool known_in(const Block& block, const PartitionSet& partitions,
                                     std::int64_t begin, std::int64_t end);
  [[nodiscard]] static bool contains_part(Block& block, const PartitionSet& partitions,
                                          std::int64_t begin, std::int64_t end);
  // [begin, end) of the partitions belongs to the set from now on (or has been found to).
  static void note(Block& block, const PartitionSet& partitions, std::int64_t begin,
                   std::int64_t end);
  static void spell_out(Block& block);
  [[nodiscard]] bool hull_known(const Footprint& footprint);
  // Calls f(block, begin, end) with positions in the block, for every run of the footprint (grain: see for_each_block).
  template <class F>
  void for_each_part(const Footprint& footprint, std::int64_t grain, F f);

  std::vector<Block> blocks_;
};

// For one HBM tensor, in blocks: a stretch that has been written, and a bit per byte where there are several.
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
    std::int32_t written = 0;  // bytes
    std::int32_t begin = 0;    // of the stretch of `written` bytes, if there are no bits
    std::unique_ptr<std::array<std::uint64_t, block_bytes / 64>> bits;

    void set(std::int64_t from, std::int64_t to);
  };
  [[nodiscard]] std::int64_t length(std::size_t index) const;
  void add_part(std::size_t index, std::int64_t begin, std::int64_t end);
  [[nodiscard]] bool contains_part(std::size_t index, std::int64_t begin, std::int64_t end) const;

  std::int64_t size_;
  std::vector<Block> blocks_;
};

}  // namespace systole::sim
