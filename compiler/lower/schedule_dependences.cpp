#include "compiler/lower/schedule_dependences.hpp"

#include <limits>

namespace systole::lower {
namespace {

// Beyond this many accesses in one segment they are kept only as the last one of each agent. That
// invents dependences but keeps the work per instruction bounded.
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
  const bool dominates = fresh.touch.write || (!old.touch.write && fresh.agent == old.agent);
  const isa::ByteRange& bytes = fresh.touch.bytes;
  const bool fills = fresh.exact && bytes.begin <= std::max(segment.begin, old.touch.bytes.begin) &&
                     std::min(segment.end, old.touch.bytes.end) <= bytes.end;
  return dominates && within(old.touch.partitions, fresh.touch.partitions) &&
         (fills || same_pattern(fresh.touch, old.touch));
}

void History::coarsen(Segment& segment, std::int64_t begin, Joiner* joiner) {
  std::vector<Record> merged;
  if (joiner != nullptr) {
    std::vector<std::uint32_t> counts;
    for (const Record& old : segment.records) {
      counts.push_back(old.count);
    }
    const std::uint32_t all = joiner->join(counts);
    segment.records.resize(1);
    segment.records[0].touch.write = true;
    segment.records[0].agent = static_cast<int>(all);
    segment.records[0].count = all;
  }
  for (const Record& old : segment.records) {
    const auto same = std::find_if(merged.begin(), merged.end(), [&old](const Record& other) {
      return other.agent == old.agent && other.touch.write == old.touch.write;
    });
    if (same != merged.end()) {
      same->count = std::max(same->count, old.count);
      continue;
    }
    Record coarse = old;
    coarse.coarse = true;
    coarse.exact = true;
    coarse.touch.access = nullptr;
    coarse.touch.dma = nullptr;
    coarse.touch.bytes = {begin, segment.end};
    coarse.touch.partitions = {0, std::numeric_limits<std::int64_t>::max()};
    merged.push_back(coarse);
  }
  segment.records = std::move(merged);
}

void History::record(Segment& segment, const Record& fresh, std::int64_t begin, Joiner* joiner) {
  std::erase_if(segment.records, [&](const Record& old) {
    return replaces(fresh, old, {begin, segment.end});
  });
  const auto coarse =
      std::find_if(segment.records.begin(), segment.records.end(), [&fresh](const Record& old) {
        return old.coarse && old.agent == fresh.agent && old.touch.write == fresh.touch.write;
      });
  if (coarse != segment.records.end()) {
    coarse->count = std::max(coarse->count, fresh.count);
    return;
  }
  segment.records.push_back(fresh);
  if (segment.records.size() > segment_limit) {
    coarsen(segment, begin, joiner);
  }
}

// A pattern with few rows far apart meets as many segments as it has rows; taken as a whole, all that
// others left between them. So a touch that meets many segments is taken row by row.
std::vector<Touch> History::parts_of(const Touch& touch) const {
  constexpr std::size_t few = 8;
  constexpr std::size_t many = 256;
  std::size_t met = 0;
  for (auto it = segments_.lower_bound(touch.bytes.begin);
       met < many && it != segments_.end() && it->first < touch.bytes.end; ++it) {
    ++met;
  }
  return met < few ? std::vector<Touch>{touch} : rows_of(touch, met);
}

void History::add(const Touch& touch, int agent, std::uint32_t count, Joiner* joiner) {
  for (const Touch& part : parts_of(touch)) {
    add_part(part, agent, count, joiner);
  }
}

void History::add_part(const Touch& touch, int agent, std::uint32_t count, Joiner* joiner) {
  const Record fresh{touch, agent, count, fills_its_range(touch), false};
  const isa::ByteRange range = segments_under(touch.bytes);
  cover(range);
  bool alone = true;
  const auto first = segments_.lower_bound(range.begin);
  auto it = first;
  for (; it != segments_.end() && it->first < range.end; ++it) {
    record(it->second, fresh, it->first, joiner);
    alone = alone && it->second.records.size() == 1 && !it->second.records.front().coarse;
  }
  if (alone && first != segments_.end()) {  // nothing but this access is left: one segment again
    first->second.end = range.end;
    segments_.erase(std::next(first), it);
  }
}

Dependences::Dependences(const TileProgram& program, const Allocation& allocation,
                         const Order& order)
    : program_(program),
      allocation_(allocation),
      order_(order),
      last_use_(program.buffers.size()),
      buffers_(program.buffers.size()),
      tensors_(program.tensors.size()) {
  for (std::size_t place = 0; place < order.size(); ++place) {
    const TileInstruction& item = program.instructions[order[place]];
    for (const BufferId id : item.buffers) {
      last_use_[id] = place;
    }
    for_each_touch(item, [this](const Touch& touch) {
      if (touch.write && touch.tensor.valid() && tensors_[touch.tensor.index()] == nullptr) {
        tensors_[touch.tensor.index()] =
            std::make_unique<History>(isa::storage_bytes(program_.tensors[touch.tensor]));
      }
    });
  }
}

Dependences::Live& Dependences::live(BufferId id) {
  std::unique_ptr<Live>& slot = buffers_[id.index()];
  if (slot == nullptr) {
    slot = std::make_unique<Live>();
    const std::int64_t at = allocation_.offsets[id];
    ground(id).inherit(at, at + program_.buffers[id].bytes,
                       [&slot](const Clock& clock) { slot->inherited.join(clock); });
  }
  return *slot;
}

Clock Dependences::needs(std::size_t place) {
  Clock needs;
  for_each_touch(program_.instructions[order_[place]], [&](const Touch& touch) {
    if (touch.buffer.valid()) {
      const Live& live_buffer = live(touch.buffer);
      needs.join(live_buffer.inherited);
      live_buffer.history.collect(touch, needs);
    } else if (tensors_[touch.tensor.index()] != nullptr) {
      tensors_[touch.tensor.index()]->collect(touch, needs);
    }
  });
  return needs;
}

void Dependences::add(std::size_t place, int agent, std::uint32_t count) {
  const TileInstruction& item = program_.instructions[order_[place]];
  for_each_touch(item, [&](const Touch& touch) {
    if (touch.buffer.valid()) {
      Live& tenant = live(touch.buffer);
      tenant.history.add(touch, agent, count);
      tenant.all.raise(agent, count);
    } else if (tensors_[touch.tensor.index()] != nullptr) {
      tensors_[touch.tensor.index()]->add(touch, agent, count);
    }
  });
  for (const BufferId id : item.buffers) {
    if (last_use_[id] == place && buffers_[id.index()] != nullptr) {
      const std::int64_t at = allocation_.offsets[id];
      ground(id).leave(at, at + program_.buffers[id].bytes, buffers_[id.index()]->all);
      buffers_[id.index()].reset();
    }
  }
}

}  // namespace systole::lower
