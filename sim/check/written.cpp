#include "sim/check/written.hpp"

#include <algorithm>

namespace systole::sim {

template <class F>
void WrittenSet::for_each_part(const Footprint& footprint, F f) {
  for_each_block(footprint, 0, [&](std::int64_t from, std::int64_t to) {
    while (from < to) {
      const std::int64_t index = from / block_bytes;
      const std::int64_t end = std::min(to, (index + 1) * block_bytes);
      f(blocks_[static_cast<std::size_t>(index)], from - index * block_bytes,
        end - index * block_bytes);
      from = end;
    }
  });
}

bool WrittenSet::known_in(const Block& block, const PartitionSet& partitions, std::int64_t begin,
                          std::int64_t end) {
  if (partitions.within(block.whole)) {
    return true;
  }
  return std::any_of(block.known.begin(), block.known.end(), [&](const Rectangle& known) {
    return known.begin <= begin && end <= known.end && partitions.within(known.partitions);
  });
}

void WrittenSet::note(Block& block, const PartitionSet& partitions, std::int64_t begin,
                      std::int64_t end) {
  // A rectangle that grows at one end, or covers an older one, takes its place.
  for (Rectangle& known : block.known) {
    if (known.partitions == partitions && known.begin <= end && begin <= known.end &&
        known.begin < known.end) {
      known.begin = std::min(known.begin, static_cast<std::int32_t>(begin));
      known.end = std::max(known.end, static_cast<std::int32_t>(end));
      return;
    }
  }
  block.known[block.next_known++ % rectangle_count] = {partitions, static_cast<std::int32_t>(begin),
                                                       static_cast<std::int32_t>(end)};
}

void WrittenSet::add(const Footprint& footprint) {
  const PartitionSet& partitions = footprint.partitions;
  for_each_part(footprint, [&](Block& block, std::int64_t begin, std::int64_t end) {
    if (known_in(block, partitions, begin, end)) {
      return;
    }
    if (begin == 0 && end == block_bytes) {
      block.whole.add(partitions);
      return;
    }
    if (!block.bytes) {
      block.bytes = std::make_unique<std::array<PartitionSet, block_bytes>>();
    }
    for (std::int64_t i = begin; i < end; ++i) {
      (*block.bytes)[static_cast<std::size_t>(i)].add(partitions);
    }
    note(block, partitions, begin, end);
  });
}

void WrittenSet::remove(const Footprint& footprint) {
  for_each_part(footprint, [&](Block& block, std::int64_t begin, std::int64_t end) {
    if (footprint.partitions.meets(block.whole)) {  // push the affected partitions down to bytes
      PartitionSet pushed = block.whole;
      PartitionSet kept = block.whole;
      kept.remove(footprint.partitions);
      pushed.remove(kept);
      block.whole = kept;
      if (!block.bytes) {
        block.bytes = std::make_unique<std::array<PartitionSet, block_bytes>>();
      }
      for (PartitionSet& byte : *block.bytes) {
        byte.add(pushed);
      }
    }
    for (Rectangle& known : block.known) {
      if (known.begin < end && begin < known.end && known.partitions.meets(footprint.partitions)) {
        known = {};
      }
    }
    if (block.bytes) {
      for (std::int64_t i = begin; i < end; ++i) {
        (*block.bytes)[static_cast<std::size_t>(i)].remove(footprint.partitions);
      }
    }
  });
}

bool WrittenSet::contains(const Footprint& footprint) {
  bool all = true;
  for_each_part(footprint, [&](Block& block, std::int64_t begin, std::int64_t end) {
    if (!all || known_in(block, footprint.partitions, begin, end)) {
      return;
    }
    PartitionSet missing = footprint.partitions;
    missing.remove(block.whole);
    all = block.bytes != nullptr;
    for (std::int64_t i = begin; all && i < end; ++i) {
      all = missing.within((*block.bytes)[static_cast<std::size_t>(i)]);
    }
    if (all && footprint.dense()) {
      note(block, footprint.partitions, begin, end);
    }
  });
  return all;
}

void WrittenBytes::add(const Footprint& footprint) {
  for_each_block(footprint, 0, [this](std::int64_t from, std::int64_t to) {
    std::fill(bytes_.begin() + from, bytes_.begin() + to, true);
  });
}

bool WrittenBytes::contains(const Footprint& footprint) const {
  bool all = true;
  for_each_block(footprint, 0, [&](std::int64_t from, std::int64_t to) {
    all =
        all && std::find(bytes_.begin() + from, bytes_.begin() + to, false) == bytes_.begin() + to;
  });
  return all;
}

bool WrittenBytes::all() const {
  return std::find(bytes_.begin(), bytes_.end(), false) == bytes_.end();
}

}  // namespace systole::sim
