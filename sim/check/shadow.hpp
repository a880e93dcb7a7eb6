// Who touched what last: finds two accesses to one byte, at least one of them a write, without an order between them.
//
// Memory is cut into blocks; every block lists the accesses that may still race with a later one. A dense write (or one
// with the same bytes) that is ordered after an access, and covers it, replaces it; so does a later read of the same
// chain. Accesses that are ordered before everything to come are dropped when a list grows.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "sim/check/clocks.hpp"
#include "sim/check/footprint.hpp"

namespace systole::sim {

// An access by reference: which instruction, and the footprint it had.
struct Access {
  isa::Engine engine = isa::Engine::sync;  // that runs or triggers it
  std::uint32_t instruction = 0;
  Stamp stamp;
  bool is_write = false;
};

class Shadow {
 public:
  Shadow(std::int64_t bytes, std::int64_t block)
      : block_(block), blocks_(static_cast<std::size_t>(bytes / block + 1)) {}

  // The access that races with this one, or null. If there is none, this one is remembered.
  // Engine and footprints as in the access; the result is valid until the next call.
  [[nodiscard]] const Access* enter(const Access& access, const Footprint& footprint,
                                    const Clocks& clocks);

 private:
  struct Record {
    Access access;
    PartitionSet partitions;
    std::int64_t begin = 0;  // hull
    std::int64_t end = 0;
    std::shared_ptr<const Footprint> pattern;  // null if dense
  };
  [[nodiscard]] static bool meets(const Record& record, const Footprint& footprint);
  [[nodiscard]] static bool same_bytes(const Record& record, const Footprint& footprint);
  using Block = std::vector<Record>;

  [[nodiscard]] const Access* find_race(Block& block, const Access& access,
                                        const Footprint& footprint, const Clocks& clocks);
  void remember(std::size_t index, const Record& added, const Footprint& footprint,
                const Clocks& clocks);

  static constexpr std::size_t prune_at = 24;
  std::int64_t block_;
  std::vector<Block> blocks_;
};

}  // namespace systole::sim
