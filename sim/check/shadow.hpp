// Who touched what last: finds two accesses to one byte, at least one of them a write, without an order between them.
//
// Memory is cut into blocks; every block lists the accesses that may still race with a later one. A dense write (or one
// with the same bytes) that is ordered after an access, and covers it, replaces it; so does a later read of the same
// chain. Accesses that are ordered before everything to come are dropped when a list grows.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/check/clocks.hpp"
#include "sim/check/footprint.hpp"

namespace systole::sim {

// An access by reference: which instruction, and when.
struct Access {
  isa::Engine engine = isa::Engine::sync;  // that runs or triggers it
  bool is_write = false;
  std::uint32_t instruction = 0;
  Stamp stamp;
};

class Shadow {
 public:
  Shadow(std::int64_t bytes, std::int64_t block)
      : block_(block), blocks_(static_cast<std::size_t>(bytes / block + 1)) {}

  // The access that races with this one, or null; then this one is remembered.
  // Engine and footprint as in the access; the result is valid until the next call.
  [[nodiscard]] const Access* enter(const Access& access, const Footprint& footprint,
                                    const Clocks& clocks);

 private:
  static constexpr std::uint32_t no_pattern = 0xffffffffU;
  struct Record {
    Access access;
    std::uint16_t partition = 0;  // range; of a pattern, its hull
    std::uint16_t partition_end = 0;
    std::uint32_t pattern = no_pattern;  // none: every byte of the rectangle
    std::int64_t begin = 0;              // hull
    std::int64_t end = 0;
  };
  // Footprints of accesses that are more than a rectangle, shared by the records of one access.
  struct Pattern {
    Footprint footprint;
    std::uint32_t uses = 0;
  };
  struct Block {
    static constexpr std::size_t least = 8;
    std::vector<Record> records;
    std::size_t prune_at = least;
  };

  [[nodiscard]] bool meets(const Record& record, const Footprint& footprint) const;
  [[nodiscard]] bool covers(const Footprint& footprint, const Record& record,
                            std::size_t index) const;
  [[nodiscard]] bool visit(std::size_t index, const Record& added, const Footprint& footprint,
                           const Clocks& clocks);
  [[nodiscard]] Record record_of(const Access& access, const Footprint& footprint);
  void release(const Record& record);
  void prune(Block& block, isa::Engine running, const Clocks& clocks);

  std::int64_t block_;
  std::vector<Block> blocks_;
  std::vector<Pattern> patterns_;
  std::vector<std::uint32_t> free_patterns_;
  Access racing_;
};

}  // namespace systole::sim
