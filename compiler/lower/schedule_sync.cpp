#include "compiler/lower/schedule_sync.hpp"

#include <limits>

namespace systole::lower {

Synchronizer::Synchronizer(int agents) : agents_(static_cast<std::size_t>(agents)) {
  check(agents >= isa::engine_count && agents <= max_agents, "unexpected number of agents");
}

std::uint32_t Synchronizer::count(int agent) const {
  return static_cast<std::uint32_t>(agents_[static_cast<std::size_t>(agent)].steps.size());
}

Clock Synchronizer::known_when_done(int agent, std::uint32_t count) const {
  const Agent& done = agents_[static_cast<std::size_t>(agent)];
  const Stream& stream = streams_[static_cast<std::size_t>(done.stream)];
  const std::uint32_t position = done.steps[count - 1].position;
  const auto after = std::upper_bound(
      stream.versions.begin(), stream.versions.end(), position,
      [](std::uint32_t at, const Version& version) { return at < version.position; });
  Clock clock = after == stream.versions.begin() ? Clock{} : std::prev(after)->clock;
  clock.raise(agent, count);
  return clock;
}

std::vector<isa::SemaphoreWait> Synchronizer::append(int stream_index, int agent,
                                                     const Clock& needs) {
  Stream& stream = streams_[static_cast<std::size_t>(stream_index)];
  struct Candidate {
    int agent = 0;
    std::uint32_t count = 0;
    Clock clock;
  };
  std::vector<Candidate> candidates;
  for (int a = 0; a < static_cast<int>(agents_.size()); ++a) {
    const bool ordered_by_engine = a == agent && a < isa::engine_count;
    if (!ordered_by_engine && needs.of(a) > stream.known.of(a)) {
      candidates.push_back({a, needs.of(a), known_when_done(a, needs.of(a))});
    }
  }
  const auto implied = [&candidates](const Candidate& need) {
    return std::any_of(candidates.begin(), candidates.end(), [&need](const Candidate& other) {
      return &other != &need && other.clock.of(need.agent) >= need.count;
    });
  };
  const auto position = static_cast<std::uint32_t>(stream.agents.size());
  std::vector<isa::SemaphoreWait> waits;
  for (const Candidate& need : candidates) {
    if (!implied(need)) {
      waits.push_back({isa::SemaphoreId(static_cast<std::size_t>(need.agent)),
                       static_cast<std::int32_t>(need.count)});
      agents_[static_cast<std::size_t>(need.agent)].steps[need.count - 1].awaited = true;
      stream.known.join(need.clock);
    }
  }
  if (!waits.empty()) {
    stream.versions.push_back({position, stream.known});
  }
  Agent& own = agents_[static_cast<std::size_t>(agent)];
  check(own.steps.empty() || own.stream == stream_index, "two streams feed one agent");
  check(own.steps.size() < static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max()),
        "a semaphore would overflow");
  own.stream = stream_index;
  own.steps.push_back({position, false});
  stream.agents.push_back(agent);
  return waits;
}

void Synchronizer::finish(isa::Program& program) const {
  std::vector<isa::SemaphoreId> semaphores(agents_.size());
  std::vector<std::vector<std::int32_t>> values(
      agents_.size());  // after each instruction: signals so far
  program.semaphores = 0;
  for (std::size_t a = 0; a < agents_.size(); ++a) {
    std::int32_t value = 0;
    for (const Step& step : agents_[a].steps) {
      value += step.awaited ? 1 : 0;
      values[a].push_back(value);
    }
    if (value > 0) {
      semaphores[a] = isa::SemaphoreId(static_cast<std::size_t>(program.semaphores++));
    }
  }
  std::vector<std::size_t> next(agents_.size(), 0);
  for (std::size_t s = 0; s < streams_.size(); ++s) {
    const Stream& stream = streams_[s];
    check(stream.agents.size() == program.streams[s].size(), "streams and their record differ");
    for (std::size_t i = 0; i < stream.agents.size(); ++i) {
      isa::Instruction& instruction = program.streams[s][i];
      for (isa::SemaphoreWait& wait : instruction.waits) {
        const std::size_t agent = wait.semaphore.index();
        wait = {semaphores[agent], values[agent][static_cast<std::size_t>(wait.at_least - 1)]};
      }
      const auto agent = static_cast<std::size_t>(stream.agents[i]);
      if (agents_[agent].steps[next[agent]++].awaited) {
        instruction.signal = semaphores[agent];
      }
    }
  }
}

}  // namespace systole::lower
