#include "sim/check/shadow.hpp"

#include <algorithm>

namespace systole::sim {

bool Shadow::meets(const Record& record, const Footprint& footprint) {
  if (record.begin >= footprint.end || footprint.begin >= record.end ||
      !record.partitions.meets(footprint.partitions)) {
    return false;
  }
  if (!record.pattern && footprint.dense()) {
    return true;
  }
  Footprint hull = footprint;  // same space and tensor
  hull.partitions = record.partitions;
  hull.begin = record.begin;
  hull.end = record.end;
  hull.run = record.end - record.begin;
  hull.rank = 0;
  return sim::meets(record.pattern ? *record.pattern : hull, footprint);
}

bool Shadow::same_bytes(const Record& record, const Footprint& footprint) {
  return record.pattern && record.pattern->same_bytes(footprint);
}

const Access* Shadow::find_race(Block& block, const Access& access, const Footprint& footprint,
                                const Clocks& clocks) {
  for (const Record& record : block) {
    if (!(access.is_write || record.access.is_write) ||
        clocks.before(record.access.stamp, access.engine, access.stamp)) {
      continue;
    }
    // A transfer that accumulates reads and writes the same bytes: no race with itself.
    const bool same =
        record.access.engine == access.engine && record.access.instruction == access.instruction;
    if (!same && meets(record, footprint)) {
      return &record.access;
    }
  }
  return nullptr;
}

void Shadow::remember(std::size_t index, const Record& added, const Footprint& footprint,
                      const Clocks& clocks) {
  Block& block = blocks_[index];
  const Access& access = added.access;
  const std::int64_t begin = static_cast<std::int64_t>(index) * block_;
  const std::int64_t end = begin + block_;
  const auto covered = [&](const Record& record) {
    if (!access.is_write &&
        (record.access.is_write || record.access.stamp.chain != access.stamp.chain)) {
      return false;
    }
    if (!record.partitions.within(footprint.partitions)) {
      return false;
    }
    const bool inside = footprint.dense() && std::max(record.begin, begin) >= footprint.begin &&
                        std::min(record.end, end) <= footprint.end;
    return (inside || same_bytes(record, footprint)) &&
           clocks.before(record.access.stamp, access.engine, access.stamp);
  };
  std::erase_if(block, covered);
  if (block.size() >= prune_at && block.size() == block.capacity()) {
    std::erase_if(block,
                  [&clocks](const Record& record) { return clocks.settled(record.access.stamp); });
  }
  block.push_back(added);
}

const Access* Shadow::enter(const Access& access, const Footprint& footprint,
                            const Clocks& clocks) {
  const Access* race = nullptr;
  std::size_t last = blocks_.size();  // none
  const auto for_each_index = [&](auto use) {
    last = blocks_.size();
    for_each_block(footprint, block_, [&](std::int64_t from, std::int64_t to) {
      for (auto i = static_cast<std::size_t>(from / block_);
           i <= static_cast<std::size_t>((to - 1) / block_); ++i) {
        if (i != last) {  // runs come in ascending order
          use(i);
        }
        last = i;
      }
    });
  };
  for_each_index([&](std::size_t i) {
    if (race == nullptr) {
      race = find_race(blocks_[i], access, footprint, clocks);
    }
  });
  if (race == nullptr) {
    const Record added{access, footprint.partitions, footprint.begin, footprint.end,
                       footprint.dense() ? nullptr : std::make_shared<const Footprint>(footprint)};
    for_each_index([&](std::size_t i) { remember(i, added, footprint, clocks); });
  }
  return race;
}

}  // namespace systole::sim
