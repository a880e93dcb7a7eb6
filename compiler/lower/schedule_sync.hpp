// The semaphores of a schedule: one per agent (engine or ring), counting its finished instructions,
// and as few waits as order the given needs.
//
// What a stream knows to be done is a Clock: everything it waited for, and everything that those
// knew when they started. A need that is already known costs nothing; of several needs those
// implied by another are dropped. Only instructions that somebody waits for signal. Compute
// instructions of one engine are ordered by the engine itself; a DMA is another agent than the
// engine whose stream triggers it, so it waits for that engine's work like for any other's, and for
// earlier transfers of its own ring.
#pragma once

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "isa/program.hpp"

namespace systole::lower {

inline constexpr int max_rings = 16;
inline constexpr int max_agents = isa::engine_count + max_rings;

// Agents finish their work in order: the five engines (compute instructions of their streams) and
// the DMA rings. So a set of things that must be done is one number per agent: how many of its
// instructions.
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

class Synchronizer {
 public:
  explicit Synchronizer(int agents);

  // The next instruction of `stream`, done by `agent` (the stream's own engine, or the ring that it
  // triggers). A ring belongs to one stream. Returns the waits to put before it, semaphores
  // numbered by agent, counts by instruction.
  [[nodiscard]] std::vector<isa::SemaphoreWait> append(int stream, int agent, const Clock& needs);

  // How many instructions of this agent there are so far.
  [[nodiscard]] std::uint32_t count(int agent) const;

  // After the last append: puts semaphores and signals into the streams that were built in the same
  // order.
  void finish(isa::Program& program) const;

 private:
  struct Step {
    std::uint32_t position = 0;  // in its stream
    bool awaited = false;
  };
  struct Agent {
    int stream = 0;
    std::vector<Step> steps;
  };
  struct Version {
    std::uint32_t position = 0;
    Clock clock;
  };
  struct Stream {
    std::vector<int> agents;  // of each instruction
    Clock known;
    std::vector<Version> versions;  // of `known`, ascending by position; absent: nothing known
  };

  [[nodiscard]] Clock known_when_done(int agent, std::uint32_t count) const;

  std::vector<Agent> agents_;
  std::array<Stream, isa::engine_count> streams_;
};

}  // namespace systole::lower
