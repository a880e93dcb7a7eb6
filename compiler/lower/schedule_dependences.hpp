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

// The accesses to one buffer or HBM tensor that still matter, by byte segment.
class History {
 public:
  void collect(const Touch& touch, Clock& needs) const;
  void add(const Touch& touch, int agent, std::uint32_t count);

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

  void split(std::int64_t at);
  void cover(const isa::ByteRange& bytes);
  static bool replaces(const Record& fresh, const Record& old);
  static void record(Segment& segment, const Record& fresh, std::int64_t begin);
  static void coarsen(Segment& segment, std::int64_t begin);

  Segments segments_;
};

class Dependences {
 public:
  Dependences(const TileProgram& program, const Allocation& allocation);

  // For the instruction at this place of the sequential order: all that must be done first.
  [[nodiscard]] Clock needs(std::size_t index);
  // It is the count-th instruction (from 1) of this agent. Indices ascend from call to call.
  void add(std::size_t index, int agent, std::uint32_t count);

 private:
  struct Live {
    History history;
    Clock inherited;  // from earlier tenants of the same bytes
    Clock all;        // of everything done here
  };
  class Ground {  // a memory's bytes: what the last, now dead, tenants must have done
   public:
    [[nodiscard]] Clock inherit(std::int64_t begin, std::int64_t end) const;
    void leave(std::int64_t begin, std::int64_t end, const Clock& clock);

   private:
    struct Stretch {
      std::int64_t end = 0;
      Clock clock;
    };
    std::map<std::int64_t, Stretch> stretches_;
  };

  Ground& ground(BufferId id) {
    return program_.buffers[id].space == isa::Space::psum ? psum_ : sbuf_;
  }
  Live& live(BufferId id);

  const TileProgram& program_;
  const Allocation& allocation_;
  IdVector<BufferId, std::size_t> last_use_;
  std::vector<std::unique_ptr<Live>> buffers_;     // by id; from first to last use
  std::vector<std::unique_ptr<History>> tensors_;  // by id; of those that are written
  Ground sbuf_, psum_;
};

}  // namespace systole::lower
