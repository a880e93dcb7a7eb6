#include "compiler/lower/schedule_history.hpp"

#include <algorithm>
#include <limits>

namespace systole::lower {
namespace {

// Beyond this many accesses in one segment, those before are kept only as two joints, of reads and of
// writes. That invents dependences but keeps the work per instruction bounded.
constexpr std::size_t segment_limit = 64;

bool within(const isa::PartitionRange& inner, const isa::PartitionRange& outer) {
  return outer.begin <= inner.begin && inner.end <= outer.end;
}

bool same_pattern(const Touch& a, const Touch& b) {
  if (a.bytes.begin != b.bytes.begin || a.bytes.end != b.bytes.end || a.without != b.without) {
    return false;
  }
  if (a.access != nullptr && b.access != nullptr) {
    return a.access == b.access ||
           (a.access->dtype == b.access->dtype && a.access->offset == b.access->offset &&
            a.access->rank == b.access->rank && a.access->dims == b.access->dims);
  }
  return a.dma != nullptr && a.dma == b.dma;
}

}  // namespace

History::History(std::int64_t tensor_bytes) {
  constexpr std::int64_t most_segments = 1 << 14;
  while (tensor_bytes / grain_ > most_segments) {
    grain_ *= 2;
  }
}

isa::ByteRange History::segments_under(const isa::ByteRange& bytes) const {
  constexpr std::int64_t last = std::numeric_limits<std::int64_t>::max();
  const std::int64_t end =
      bytes.end > last - grain_ ? last : (bytes.end + grain_ - 1) / grain_ * grain_;
  return {bytes.begin / grain_ * grain_, end};
}

void History::split(std::int64_t at) {
  auto it = segments_.lower_bound(at);
  if (it == segments_.begin()) {
    return;
  }
  --it;
  if (it->second.end > at) {
    Segment upper = it->second;
    it->second.end = at;
    segments_.emplace(at, std::move(upper));
  }
}

// Makes segments begin and end at the range's ends and fills the gaps between them.
void History::cover(const isa::ByteRange& bytes) {
  split(bytes.begin);
  split(bytes.end);
  std::int64_t at = bytes.begin;
  auto it = segments_.lower_bound(at);
  while (at < bytes.end) {
    const std::int64_t next = it == segments_.end() ? bytes.end : std::min(it->first, bytes.end);
    if (at < next) {
      segments_.emplace_hint(it, at, Segment{next, {}});
      at = next;
    } else {
      at = it->second.end;
      ++it;
    }
  }
}

// Whoever is ordered after `fresh` is ordered after `old` too, and conflicts with fresh wherever it
// did with old.
bool History::replaces(const Record& fresh, const Record& old, const isa::ByteRange& segment) {
  const isa::ByteRange& bytes = fresh.touch.bytes;
  const bool fills = fresh.exact && bytes.begin <= std::max(segment.begin, old.touch.bytes.begin) &&
                     std::min(segment.end, old.touch.bytes.end) <= bytes.end;
  return within(old.touch.partitions, fresh.touch.partitions) &&
         (fills || same_pattern(fresh.touch, old.touch));
}

void History::coarsen(Segment& segment, std::int64_t begin, Joiner& joiner) {
  std::vector<Record> joints;
  for (const bool write : {false, true}) {
    std::vector<std::uint32_t> names;
    isa::PartitionRange partitions{std::numeric_limits<std::int64_t>::max(), 0};
    for (const Record& old : segment.records) {
      if (old.touch.write == write) {
        names.push_back(old.name);
        partitions.begin = std::min(partitions.begin, old.touch.partitions.begin);
        partitions.end = std::max(partitions.end, old.touch.partitions.end);
      }
    }
    if (names.empty()) {
      continue;
    }
    Record joint;
    joint.name = joiner.join(names);
    joint.exact = true;
    joint.touch.write = write;
    joint.touch.bytes = {begin, segment.end};
    joint.touch.partitions = partitions;
    joints.push_back(joint);
  }
  segment.records = std::move(joints);
}

void History::record(Segment& segment, const Record& fresh, std::int64_t begin, Joiner& joiner) {
  if (fresh.touch.write) {
    std::erase_if(segment.records, [&](const Record& old) {
      return replaces(fresh, old, {begin, segment.end});
    });
  }
  segment.records.push_back(fresh);
  if (segment.records.size() > segment_limit) {
    coarsen(segment, begin, joiner);
  }
}

// A pattern with few rows far apart meets as many segments as it has rows; taken as a whole, all that
// others left between them. So a touch that meets many segments is taken row by row.
constexpr std::size_t few_met = 8;

std::size_t History::met_by(const Touch& touch) const {
  constexpr std::size_t many = 256;
  std::size_t met = 0;
  for (auto it = segments_.lower_bound(touch.bytes.begin);
       met < many && it != segments_.end() && it->first < touch.bytes.end; ++it) {
    ++met;
  }
  return met;
}

void History::collect(const Touch& touch, std::vector<std::uint32_t>& names) const {
  const std::size_t met = met_by(touch);
  if (met < few_met) {
    collect_part(touch, names);
    return;
  }
  for (const Touch& part : rows_of(touch, met)) {
    collect_part(part, names);
  }
}

void History::collect_part(const Touch& touch, std::vector<std::uint32_t>& names) const {
  auto it = segments_.upper_bound(touch.bytes.begin);
  if (it != segments_.begin()) {
    --it;
  }
  for (; it != segments_.end() && it->first < touch.bytes.end; ++it) {
    if (it->second.end <= touch.bytes.begin) {
      continue;
    }
    for (const Record& old : it->second.records) {
      if ((touch.write || old.touch.write) && may_overlap(touch, old.touch)) {
        names.push_back(old.name);
      }
    }
  }
}

void History::add(const Touch& touch, std::uint32_t name, Joiner& joiner) {
  const std::size_t met = met_by(touch);
  if (met < few_met) {
    add_part(touch, name, joiner);
    return;
  }
  for (const Touch& part : rows_of(touch, met)) {
    add_part(part, name, joiner);
  }
}

void History::add_part(const Touch& touch, std::uint32_t name, Joiner& joiner) {
  const Record fresh{touch, name, fills_its_range(touch)};
  const isa::ByteRange range = segments_under(touch.bytes);
  cover(range);
  bool alone = true;
  const auto first = segments_.lower_bound(range.begin);
  auto it = first;
  for (; it != segments_.end() && it->first < range.end; ++it) {
    record(it->second, fresh, it->first, joiner);
    alone = alone && it->second.records.size() == 1 && it->second.records.front().name == name;
  }
  if (alone && first != segments_.end()) {  // nothing but this access is left: one segment again
    first->second.end = range.end;
    segments_.erase(std::next(first), it);
  }
}

}  // namespace systole::lower
