#include "tests/compiler/lower/happens_before.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <set>

#include "isa/base/random.hpp"

namespace systole::lower::testing {
namespace {

using Byte =
    std::array<std::int64_t, 3>;  // memory (0 SBUF, 1 PSUM, 2 + tensor HBM), partition, byte

struct Event {
  const isa::Instruction* instruction = nullptr;
  int stream = 0;
  int agent = 0;  // engine, or 100 + ring
  std::set<Byte> reads, writes;
};

void walk(const isa::Access& access, std::set<Byte>& bytes) {
  std::array<std::int64_t, 4> extent{1, 1, 1, 1};
  std::array<std::int64_t, 4> stride{};
  for (std::size_t d = 0; d < static_cast<std::size_t>(access.rank); ++d) {
    extent[d] = access.dims[d].extent;
    stride[d] = access.dims[d].stride;
  }
  const int size = isa::size_of(access.dtype);
  for (int p = access.partition; p < access.partition + access.partitions; ++p) {
    for (std::int64_t a = 0; a < extent[0]; ++a) {
      for (std::int64_t b = 0; b < extent[1]; ++b) {
        for (std::int64_t c = 0; c < extent[2]; ++c) {
          for (std::int64_t d = 0; d < extent[3]; ++d) {
            const std::int64_t element =
                a * stride[0] + b * stride[1] + c * stride[2] + d * stride[3];
            for (int k = 0; k < size; ++k) {
              bytes.insert({access.space == isa::Space::psum ? 1 : 0, p,
                            access.offset + element * size + k});
            }
          }
        }
      }
    }
  }
}

void walk(const isa::DmaAccess& access, int dim, std::int64_t partition, std::int64_t element,
          std::set<Byte>& bytes) {
  if (dim == access.rank) {
    const int size = isa::size_of(access.dtype);
    const bool hbm = access.space == isa::Space::hbm;
    for (int k = 0; k < size; ++k) {
      bytes.insert(
          {hbm ? 2 + static_cast<std::int64_t>(access.tensor.index()) : 0, hbm ? 0 : partition,
           hbm ? (access.offset + element) * size + k : access.offset + element * size + k});
    }
    return;
  }
  const isa::DmaDim& step = access.dims[static_cast<std::size_t>(dim)];
  for (std::int64_t i = 0; i < step.extent; ++i) {
    walk(access, dim + 1, partition + (step.across ? i * step.stride : 0),
         element + (step.across ? 0 : i * step.stride), bytes);
  }
}

std::vector<Event> events_of(const isa::Program& program, std::size_t count,
                             std::vector<std::string>& lines) {
  std::vector<Event> events(count);
  for (int s = 0; s < isa::engine_count; ++s) {
    for (const isa::Instruction& instruction : program.streams[static_cast<std::size_t>(s)]) {
      Event& event = events[instruction.source.index()];
      event.instruction = &instruction;
      event.stream = s;
      event.agent = s;
      isa::for_each_access(instruction.operation, [&event](const isa::Access& access, bool write) {
        walk(access, write ? event.writes : event.reads);
      });
      if (const auto* dma = instruction.operation.get_if<isa::Dma>()) {
        event.agent = 100 + dma->ring;
        walk(dma->source, 0, dma->source.partition, 0, event.reads);
        walk(dma->destination, 0, dma->destination.partition, 0, event.writes);
      }
    }
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (events[i].instruction == nullptr) {
      lines.push_back(fmt::format("instruction {} is in no stream", i));
    }
  }
  return events;
}

bool meet(const std::set<Byte>& a, const std::set<Byte>& b) {
  return std::any_of(a.begin(), a.end(), [&b](const Byte& byte) { return b.count(byte) != 0; });
}

bool conflict(const Event& a, const Event& b) {
  return meet(a.writes, b.writes) || meet(a.writes, b.reads) || meet(a.reads, b.writes);
}

// Node 2i: start of i; 2i+1: its completion.
using Graph = std::vector<std::vector<std::size_t>>;

Graph graph_of(const isa::Program& program, const std::vector<Event>& events,
               std::vector<std::string>& lines) {
  Graph next(events.size() * 2);
  std::map<int, std::vector<std::size_t>> by_agent;
  std::map<std::size_t, std::vector<std::size_t>> signals;  // semaphore -> events in agent order
  std::map<std::size_t, std::set<int>> signallers;
  for (const auto& stream : program.streams) {
    for (std::size_t k = 0; k < stream.size(); ++k) {
      const std::size_t i = stream[k].source.index();
      next[2 * i].push_back(2 * i + 1);
      if (k > 0) {
        next[2 * stream[k - 1].source.index()].push_back(2 * i);
      }
      by_agent[events[i].agent].push_back(i);
      if (stream[k].signal.valid()) {
        signals[stream[k].signal.index()].push_back(i);
        signallers[stream[k].signal.index()].insert(events[i].agent);
      }
    }
  }
  for (const auto& [agent, list] : by_agent) {
    std::set<int> feeders;
    for (std::size_t k = 0; k < list.size(); ++k) {
      feeders.insert(events[list[k]].stream);
      if (k > 0) {
        next[2 * list[k - 1] + 1].push_back(2 * list[k] + 1);
      }
    }
    if (feeders.size() > 1) {
      lines.push_back(fmt::format("agent {} is fed by {} streams", agent, feeders.size()));
    }
  }
  for (const auto& [semaphore, agents] : signallers) {
    if (agents.size() > 1) {
      lines.push_back(
          fmt::format("semaphore {} is signalled by {} agents", semaphore, agents.size()));
    }
  }
  for (std::size_t i = 0; i < events.size(); ++i) {
    for (const isa::SemaphoreWait& wait : events[i].instruction->waits) {
      const auto& list = signals[wait.semaphore.index()];
      const auto value = static_cast<std::size_t>(wait.at_least);
      if (value == 0 || value > list.size()) {
        lines.push_back(
            fmt::format("instruction {} waits for {} signals of {}", i, value, list.size()));
        continue;
      }
      next[2 * list[value - 1] + 1].push_back(2 * i);
    }
  }
  return next;
}

std::vector<bool> reachable(const Graph& graph, std::size_t from) {
  std::vector<bool> seen(graph.size(), false);
  std::vector<std::size_t> stack{from};
  while (!stack.empty()) {
    const std::size_t node = stack.back();
    stack.pop_back();
    for (const std::size_t next : graph[node]) {
      if (!seen[next]) {
        seen[next] = true;
        stack.push_back(next);
      }
    }
  }
  return seen;
}

}  // namespace

std::vector<std::string> faults(const isa::Program& program, std::size_t instructions) {
  std::vector<std::string> lines;
  const std::vector<Event> events = events_of(program, instructions, lines);
  if (!lines.empty()) {
    return lines;
  }
  const Graph graph = graph_of(program, events, lines);
  for (std::size_t i = 0; i < events.size(); ++i) {
    const std::vector<bool> after = reachable(graph, 2 * i + 1);
    if (after[2 * i + 1]) {
      lines.push_back(fmt::format("instruction {} waits for itself", i));
    }
    for (std::size_t j = i + 1; j < events.size(); ++j) {
      const bool same_engine = events[i].agent == events[j].agent && events[i].agent < 100;
      const bool in_order = same_engine && reachable(graph, 2 * i)[2 * j];
      if (!after[2 * j] && !in_order && conflict(events[i], events[j])) {
        lines.push_back(fmt::format("{} ({}) and {} ({}) touch the same bytes unordered", i,
                                    isa::name_of(events[i].instruction->operation), j,
                                    isa::name_of(events[j].instruction->operation)));
      }
    }
  }
  return lines;
}

bool runs_to_end(const isa::Program& program, std::uint64_t seed) {
  Random random(seed);
  std::array<std::size_t, isa::engine_count> at{};
  std::vector<std::int32_t> values(static_cast<std::size_t>(program.semaphores), 0);
  std::map<int, std::deque<isa::SemaphoreId>> running;  // agent -> started, not completed
  while (true) {
    std::vector<int> choices;  // stream to start, or -1 - agent to complete
    for (int s = 0; s < isa::engine_count; ++s) {
      const auto& stream = program.streams[static_cast<std::size_t>(s)];
      const std::size_t k = at[static_cast<std::size_t>(s)];
      if (k < stream.size() && std::all_of(stream[k].waits.begin(), stream[k].waits.end(),
                                           [&values](const isa::SemaphoreWait& wait) {
                                             return values[wait.semaphore.index()] >= wait.at_least;
                                           })) {
        choices.push_back(s);
      }
    }
    for (const auto& [agent, queue] : running) {
      if (!queue.empty()) {
        choices.push_back(-1 - agent);
      }
    }
    if (choices.empty()) {
      break;
    }
    const int choice = choices[static_cast<std::size_t>(
        random.integer(0, static_cast<std::int64_t>(choices.size()) - 1))];
    if (choice >= 0) {
      const isa::Instruction& instruction =
          program.streams[static_cast<std::size_t>(choice)][at[static_cast<std::size_t>(choice)]++];
      const auto* dma = instruction.operation.get_if<isa::Dma>();
      running[dma == nullptr ? choice : 100 + dma->ring].push_back(instruction.signal);
    } else {
      auto& queue = running[-1 - choice];
      if (queue.front().valid()) {
        ++values[queue.front().index()];
      }
      queue.pop_front();
    }
  }
  for (std::size_t s = 0; s < at.size(); ++s) {
    if (at[s] != program.streams[s].size()) {
      return false;
    }
  }
  return true;
}

}  // namespace systole::lower::testing
