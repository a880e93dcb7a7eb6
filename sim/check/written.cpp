#include "sim/check/written.hpp"

#include <algorithm>
#include <bit>

namespace systole::sim {

template <class F>
void WrittenSet::for_each_part(const Footprint& footprint, std::int64_t grain, F f) {
  for_each_block(footprint, grain, [&](std::int64_t from, std::int64_t to) {
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
  const auto last = block.known.begin() + block.rectangles;
  return std::any_of(block.known.begin(), last, [&](const Rectangle& known) {
    return known.begin <= begin && end <= known.end && partitions.within(known.partitions);
  });
}

// From rectangles to bytes.
void WrittenSet::spell_out(Block& block) {
  if (block.bytes) {
    return;
  }
  block.bytes = std::make_unique<std::array<PartitionSet, block_bytes>>();
  for (std::uint32_t i = 0; i < block.rectangles; ++i) {
    const Rectangle& known = block.known[i];
    for (std::int32_t at = known.begin; at < known.end; ++at) {
      (*block.bytes)[static_cast<std::size_t>(at)].add(known.partitions);
    }
  }
}

void WrittenSet::note(Block& block, const PartitionSet& partitions, std::int64_t begin,
                      std::int64_t end) {
  // A rectangle that grows at one end, or covers an older one, takes its place.
  Rectangle added{partitions, static_cast<std::int32_t>(begin), static_cast<std::int32_t>(end)};
  for (std::uint32_t i = 0; i < block.rectangles;) {
    const Rectangle& known = block.known[i];
    const bool grows = known.partitions == added.partitions && known.begin <= added.end &&
                       added.begin <= known.end;
    const bool covered = added.begin <= known.begin && known.end <= added.end &&
                         known.partitions.within(added.partitions);
    if (!grows && !covered) {
      ++i;
      continue;
    }
    added.begin = std::min(known.begin, added.begin);
    added.end = std::max(known.end, added.end);
    block.known[i] = block.known[--block.rectangles];
  }
  if (added.begin == 0 && added.end == block_bytes) {
    block.whole.add(added.partitions);
    return;
  }
  if (block.rectangles < rectangle_count) {
    block.known[block.rectangles++] = added;
  } else {
    spell_out(block);
    block.known[block.next++ % rectangle_count] = added;
  }
  if (block.bytes) {
    for (std::int64_t at = begin; at < end; ++at) {
      (*block.bytes)[static_cast<std::size_t>(at)].add(partitions);
    }
  }
}

bool WrittenSet::hull_known(const Footprint& footprint) {
  bool all = true;
  for_each_part(footprint, block_bytes, [&](Block& block, std::int64_t begin, std::int64_t end) {
    all = all && known_in(block, footprint.partitions, begin, end);
  });
  return all;
}

void WrittenSet::add(const Footprint& footprint) {
  if (hull_known(footprint)) {
    return;
  }
  for_each_part(footprint, 0, [&](Block& block, std::int64_t begin, std::int64_t end) {
    if (!known_in(block, footprint.partitions, begin, end)) {
      note(block, footprint.partitions, begin, end);
    }
  });
}

void WrittenSet::remove(const Footprint& footprint) {
  for_each_part(footprint, 0, [&](Block& block, std::int64_t begin, std::int64_t end) {
    spell_out(block);
    if (footprint.partitions.meets(block.whole)) {  // push the affected partitions down to bytes
      PartitionSet pushed = block.whole;
      PartitionSet kept = block.whole;
      kept.remove(footprint.partitions);
      pushed.remove(kept);
      block.whole = kept;
      for (PartitionSet& byte : *block.bytes) {
        byte.add(pushed);
      }
    }
    for (std::uint32_t i = 0; i < block.rectangles;) {
      const Rectangle& known = block.known[i];
      const bool hit =
          known.begin < end && begin < known.end && known.partitions.meets(footprint.partitions);
      if (hit) {
        block.known[i] = block.known[--block.rectangles];
      } else {
        ++i;
      }
    }
    for (std::int64_t i = begin; i < end; ++i) {
      (*block.bytes)[static_cast<std::size_t>(i)].remove(footprint.partitions);
    }
  });
}

bool WrittenSet::contains_part(Block& block, const PartitionSet& partitions, std::int64_t begin,
                               std::int64_t end) {
  if (known_in(block, partitions, begin, end)) {
    return true;
  }
  if (block.rectangles == 0 && !block.bytes) {
    return false;
  }
  spell_out(block);
  PartitionSet missing = partitions;
  missing.remove(block.whole);
  const auto first = block.bytes->begin() + begin;
  return std::all_of(first, first + (end - begin),
                     [&missing](const PartitionSet& byte) { return missing.within(byte); });
}

bool WrittenSet::contains(const Footprint& footprint) {
  // The hull in each block, and where that has holes the runs. A hull that is found whole is known from then on.
  bool hull = true;
  for_each_part(footprint, block_bytes, [&](Block& block, std::int64_t begin, std::int64_t end) {
    if (!hull || known_in(block, footprint.partitions, begin, end)) {
      return;
    }
    hull = contains_part(block, footprint.partitions, begin, end);
    if (hull) {
      note(block, footprint.partitions, begin, end);
    }
  });
  if (hull || footprint.dense()) {
    return hull;
  }
  bool all = true;
  for_each_part(footprint, 0, [&](Block& block, std::int64_t begin, std::int64_t end) {
    all = all && contains_part(block, footprint.partitions, begin, end);
  });
  return all;
}

namespace {

// Calls f(word, mask) for the words of 64 bits that [begin, end) covers.
template <class F>
void for_each_word(std::int64_t begin, std::int64_t end, F f) {
  while (begin < end) {
    const std::int64_t stop = std::min(end, (begin / 64 + 1) * 64);
    const auto count = static_cast<unsigned>(stop - begin);
    const std::uint64_t ones = count == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
    f(static_cast<std::size_t>(begin / 64), ones << static_cast<unsigned>(begin % 64));
    begin = stop;
  }
}

// Calls f(block, begin, end) with positions in the block.
template <class F>
void for_each_part_of(std::int64_t from, std::int64_t to, std::int64_t block_bytes, F f) {
  while (from < to) {
    const std::int64_t index = from / block_bytes;
    const std::int64_t end = std::min(to, (index + 1) * block_bytes);
    f(static_cast<std::size_t>(index), from - index * block_bytes, end - index * block_bytes);
    from = end;
  }
}

}  // namespace

std::int64_t WrittenBytes::length(std::size_t index) const {
  return std::min(block_bytes, size_ - static_cast<std::int64_t>(index) * block_bytes);
}

void WrittenBytes::Block::set(std::int64_t from, std::int64_t to) {
  for_each_word(from, to, [this](std::size_t word, std::uint64_t mask) {
    std::uint64_t& old = (*bits)[word];
    written += std::popcount(mask & ~old);
    old |= mask;
  });
}

void WrittenBytes::add_part(std::size_t index, std::int64_t begin, std::int64_t end) {
  Block& block = blocks_[index];
  if (block.written == length(index)) {
    return;
  }
  const std::int32_t stretch_end = block.begin + block.written;
  if (!block.bits && (block.written == 0 || (begin <= stretch_end && block.begin <= end))) {
    const std::int64_t from =
        block.written == 0 ? begin : std::min<std::int64_t>(begin, block.begin);
    const std::int64_t to = block.written == 0 ? end : std::max<std::int64_t>(end, stretch_end);
    block.begin = static_cast<std::int32_t>(from);
    block.written = static_cast<std::int32_t>(to - from);
    return;
  }
  if (!block.bits) {
    block.bits = std::make_unique<std::array<std::uint64_t, block_bytes / 64>>();
    block.written = 0;
    block.set(block.begin, stretch_end);
  }
  block.set(begin, end);
  if (block.written == length(index)) {
    block.begin = 0;
    block.bits.reset();
  }
}

bool WrittenBytes::contains_part(std::size_t index, std::int64_t begin, std::int64_t end) const {
  const Block& block = blocks_[index];
  if (!block.bits) {
    return block.begin <= begin && end <= block.begin + block.written;
  }
  bool all = true;
  for_each_word(begin, end, [&](std::size_t word, std::uint64_t mask) {
    all = all && ((*block.bits)[word] & mask) == mask;
  });
  return all;
}

void WrittenBytes::add(const Footprint& footprint) {
  for_each_block(footprint, 0, [this](std::int64_t from, std::int64_t to) {
    for_each_part_of(
        from, to, block_bytes,
        [this](std::size_t i, std::int64_t begin, std::int64_t end) { add_part(i, begin, end); });
  });
}

bool WrittenBytes::contains(const Footprint& footprint) const {
  bool all = true;
  for_each_block(footprint, block_bytes, [&](std::int64_t from, std::int64_t to) {
    for (auto i = static_cast<std::size_t>(from / block_bytes); all && from < to;
         from = static_cast<std::int64_t>(++i) * block_bytes) {
      all = blocks_[i].written == length(i);
    }
  });
  if (all) {
    return true;
  }
  all = true;
  for_each_block(footprint, 0, [&](std::int64_t from, std::int64_t to) {
    for_each_part_of(from, to, block_bytes,
                     [&](std::size_t i, std::int64_t begin, std::int64_t end) {
                       all = all && contains_part(i, begin, end);
                     });
  });
  return all;
}

bool WrittenBytes::all() const {
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    if (blocks_[i].written != length(i)) {
      return false;
    }
  }
  return true;
}

}  // namespace systole::sim
