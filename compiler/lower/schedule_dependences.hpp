// Who must be done before an instruction may touch its operands.
//
// Agents finish their work in order: the five engines (compute instructions of their streams) and
// the DMA rings. So a set of things that must be done is one number per agent: how many of its
// instructions. That is a Clock.
//
// Dependences are read after write, write after read and write after write, on bytes of SBUF and
// PSUM after allocation and on bytes of HBM tensors. Each buffer (and each HBM tensor that is
// written at all) keeps a map of byte segments with the accesses that a later one could still
// conflict with; a write that covers older accesses replaces them. A buffer placed on bytes of dead
// ones waits for all that those ever had to do, kept as one Clock per byte range.
#pragma once

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <vector>

#include "compiler/lower/schedule_overlap.hpp"

namespace systole::lower {

inline constexpr int max_rings = 16;
inline constexpr int max_agents = isa::engine_count + max_rings;

struct Clock {
  std::array<std::uint32_t, max_agents> done{};  // of each agent: its first so many instructions

  void raise(int agent, std::uint32_t count) {
    std::uint32_t& value = done[static_cast<std::size_t>(agent)];
    value = std::max(value, count);
  }
  void join(const Clock& other) {
    for (std::size_t a = 0; a < done.size(); ++a) {
      done[a] = std::max(done[a], other.done[a]);
    }
  }
  [[nodiscard]] std::uint32_t of(int agent) const { return done[static_cast<std::size_t>(agent)]; }
};

// Puts one name in the place of many.
class Joiner {
 public:
  Joiner() = default;
  Joiner(const Joiner&) = delete;
  Joiner& operator=(const Joiner&) = delete;
  virtual ~Joiner() = default;
  // Something that is done when all of these are; returns its count.
  [[nodiscard]] virtual std::uint32_t join(const std::vector<std::uint32_t>& counts) = 0;
};

// The accesses to one buffer or HBM tensor that still matter, by byte segment. Whoever made one is
// an agent and a count; if agents do not finish in order (every access has an agent of its own), a
// joiner sums up what becomes too much.
class History {
 public:
  History() = default;
  // Of an HBM tensor of so many bytes. A large one is cut into a bounded number of segments; which
  // bytes of a segment an access touches is still asked of its pattern.
  explicit History(std::int64_t tensor_bytes);

  // needs.of(agent) and needs.raise(agent, count), as of Clock.
  template <class Needs>
  void collect(const Touch& touch, Needs& needs) const;
  void add(const Touch& touch, int agent, std::uint32_t count, Joiner* joiner = nullptr);

 private:
  struct Record {
    Touch touch;
    int agent = 0;
    std::uint32_t count = 0;
    bool exact = false;   // the pattern leaves no byte of its range out
    bool coarse = false;  // stands for several accesses of its agent
  };
  struct Segment {
    std::int64_t end = 0;
    std::vector<Record> records;
  };
  using Segments = std::map<std::int64_t, Segment>;  // by first byte, disjoint

  [[nodiscard]] std::vector<Touch> parts_of(const Touch& touch) const;
  template <class Needs>
  void collect_part(const Touch& touch, Needs& needs) const;
  void add_part(const Touch& touch, int agent, std::uint32_t count, Joiner* joiner);
  [[nodiscard]] isa::ByteRange segments_under(const isa::ByteRange& bytes) const;
  void split(std::int64_t at);
  void cover(const isa::ByteRange& bytes);
  static bool replaces(const Record& fresh, const Record& old, const isa::ByteRange& segment);
  static void record(Segment& segment, const Record& fresh, std::int64_t begin, Joiner* joiner);
  static void coarsen(Segment& segment, std::int64_t begin, Joiner* joiner);

  std::int64_t grain_ = 1;  // bytes; segments begin and end at multiples
  Segments segments_;
};

template <class Needs>
void History::collect(const Touch& touch, Needs& needs) const {
  for (const Touch& part : parts_of(touch)) {
    collect_part(part, needs);
  }
}

template <class Needs>
void History::collect_part(const Touch& touch, Needs& needs) const {
  auto it = segments_.upper_bound(touch.bytes.begin);
  if (it != segments_.begin()) {
    --it;
  }
  for (; it != segments_.end() && it->first < touch.bytes.end; ++it) {
    if (it->second.end <= touch.bytes.begin) {
      continue;
    }
    for (const Record& old : it->second.records) {
      if ((touch.write || old.touch.write) && needs.of(old.agent) < old.count &&
          may_overlap(touch, old.touch)) {
        needs.raise(old.agent, old.count);
      }
    }
  }
}

// Something for every byte of one memory: what its last, now dead, tenants leave to whoever comes
// next.
template <class T>
class Ground {
 public:
  // Calls f(T) for every stretch that meets [begin, end).
  template <class F>
  void inherit(std::int64_t begin, std::int64_t end, F&& f) const;
  void leave(std::int64_t begin, std::int64_t end, const T& value);

 private:
  struct Stretch {
    std::int64_t end = 0;
    T value;
  };
  std::map<std::int64_t, Stretch> stretches_;  // by first byte, disjoint
};

template <class T>
template <class F>
void Ground<T>::inherit(std::int64_t begin, std::int64_t end, F&& f) const {
  auto it = stretches_.upper_bound(begin);
  if (it != stretches_.begin()) {
    --it;
  }
  for (; it != stretches_.end() && it->first < end; ++it) {
    if (it->second.end > begin) {
      f(it->second.value);
    }
  }
}

template <class T>
void Ground<T>::leave(std::int64_t begin, std::int64_t end, const T& value) {
  auto it = stretches_.lower_bound(begin);
  if (it != stretches_.begin()) {
    if (const auto before = std::prev(it); before->second.end > begin) {
      if (before->second.end > end) {
        stretches_.emplace(end, before->second);
      }
      before->second.end = begin;
    }
  }
  it = stretches_.lower_bound(begin);
  while (it != stretches_.end() && it->first < end) {
    if (it->second.end > end) {
      stretches_.emplace(end, it->second);
    }
    it = stretches_.erase(it);
  }
  stretches_.emplace(begin, Stretch{end, value});
}

// By instruction index: an order of the program's instructions in which they are done.
using Order = std::vector<std::uint32_t>;

class Dependences {
 public:
  Dependences(const TileProgram& program, const Allocation& allocation, const Order& order);

  // For the instruction at this place of the order: all that must be done first.
  [[nodiscard]] Clock needs(std::size_t place);
  // It is the count-th instruction (from 1) of this agent. Places ascend from call to call.
  void add(std::size_t place, int agent, std::uint32_t count);

 private:
  struct Live {
    History history;
    Clock inherited;  // from earlier tenants of the same bytes
    Clock all;        // of everything done here
  };
  Ground<Clock>& ground(BufferId id) {
    return program_.buffers[id].space == isa::Space::psum ? psum_ : sbuf_;
  }
  Live& live(BufferId id);

  const TileProgram& program_;
  const Allocation& allocation_;
  const Order& order_;
  IdVector<BufferId, std::size_t> last_use_;       // place in the order
  std::vector<std::unique_ptr<Live>> buffers_;     // by id; from first to last use
  std::vector<std::unique_ptr<History>> tensors_;  // by id; of those that are written
  Ground<Clock> sbuf_, psum_;
};

}  // namespace systole::lower
