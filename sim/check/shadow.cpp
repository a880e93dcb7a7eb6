#include "sim/check/shadow.hpp"

#include <algorithm>

namespace systole::sim {

bool Shadow::meets(const Record& record, const Footprint& footprint) const {
  if (record.begin >= footprint.end || footprint.begin >= record.end ||
      record.partition >= footprint.partition_end || footprint.partition >= record.partition_end) {
    return false;
  }
  if (record.pattern == no_pattern && footprint.rectangle()) {
    return true;
  }
  if (record.pattern != no_pattern) {
    return sim::meets(patterns_[record.pattern].footprint, footprint);
  }
  Footprint rectangle;
  rectangle.space = footprint.space;
  rectangle.tensor = footprint.tensor;
  rectangle.partitions = partition_range(record.partition, record.partition_end - record.partition);
  rectangle.begin = record.begin;
  rectangle.end = record.end;
  rectangle.run = record.end - record.begin;
  return sim::meets(rectangle, footprint);
}

// Whatever meets the record in this block also meets the footprint.
bool Shadow::covers(const Footprint& footprint, const Record& record, std::size_t index) const {
  if (record.partition < footprint.partition || record.partition_end > footprint.partition_end) {
    return false;
  }
  if (footprint.rectangle()) {
    const std::int64_t begin = static_cast<std::int64_t>(index) * block_;
    return std::max(record.begin, begin) >= footprint.begin &&
           std::min(record.end, begin + block_) <= footprint.end;
  }
  if (record.pattern == no_pattern || record.begin != footprint.begin ||
      record.end != footprint.end) {
    return false;
  }
  const Footprint& pattern = patterns_[record.pattern].footprint;
  return pattern.same_bytes(footprint) && pattern.partitions.within(footprint.partitions);
}

void Shadow::release(const Record& record) {
  if (record.pattern != no_pattern && --patterns_[record.pattern].uses == 0) {
    free_patterns_.push_back(record.pattern);
  }
}

void Shadow::prune(Block& block, isa::Engine running, const Clocks& clocks) {
  std::erase_if(block.records, [&](const Record& record) {
    const bool settled = clocks.settled(record.access.stamp, running);
    if (settled) {
      release(record);
    }
    return settled;
  });
  block.prune_at = std::max(Block::least, 2 * block.records.size());
}

// False if an access in the block races with the added one. Otherwise it takes the place of those that it covers.
bool Shadow::visit(std::size_t index, const Record& added, const Footprint& footprint,
                   const Clocks& clocks) {
  Block& block = blocks_[index];
  const Access& access = added.access;
  auto kept = block.records.begin();
  for (auto record = kept; record != block.records.end(); ++record) {
    const Access& other = record->access;
    if (clocks.before(other.stamp, access.engine, access.stamp)) {
      const bool replaceable =
          access.is_write || (!other.is_write && other.stamp.chain == access.stamp.chain);
      if (replaceable && covers(footprint, *record, index)) {
        release(*record);
        continue;
      }
    } else if ((access.is_write || other.is_write) &&
               // A transfer that accumulates reads and writes the same bytes: no race with itself.
               (other.engine != access.engine || other.instruction != access.instruction) &&
               meets(*record, footprint)) {
      racing_ = other;
      block.records.erase(kept, record);
      return false;
    }
    if (kept != record) {
      *kept = *record;
    }
    ++kept;
  }
  block.records.erase(kept, block.records.end());
  if (block.records.size() >= block.prune_at) {
    prune(block, access.engine, clocks);
  }
  block.records.push_back(added);
  if (added.pattern != no_pattern) {
    ++patterns_[added.pattern].uses;
  }
  return true;
}

Shadow::Record Shadow::record_of(const Access& access, const Footprint& footprint) {
  Record record{access,
                static_cast<std::uint16_t>(footprint.partition),
                static_cast<std::uint16_t>(footprint.partition_end),
                no_pattern,
                footprint.begin,
                footprint.end};
  if (!footprint.rectangle()) {
    if (free_patterns_.empty()) {
      free_patterns_.push_back(static_cast<std::uint32_t>(patterns_.size()));
      patterns_.emplace_back();
    }
    record.pattern = free_patterns_.back();
    free_patterns_.pop_back();
    patterns_[record.pattern] = {footprint, 1};  // held until all blocks have it
  }
  return record;
}

const Access* Shadow::enter(const Access& access, const Footprint& footprint,
                            const Clocks& clocks) {
  const Record added = record_of(access, footprint);
  bool free_of_races = true;
  std::size_t last = blocks_.size();  // none
  for_each_block(footprint, block_, [&](std::int64_t from, std::int64_t to) {
    const auto end = static_cast<std::size_t>((to - 1) / block_);
    for (auto i = static_cast<std::size_t>(from / block_); i <= end; ++i) {
      if (i != last && free_of_races) {  // runs come in ascending order
        free_of_races = visit(i, added, footprint, clocks);
      }
      last = i;
    }
  });
  release(added);
  return free_of_races ? nullptr : &racing_;
}

}  // namespace systole::sim
