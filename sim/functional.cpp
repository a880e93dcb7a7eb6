#include "sim/functional.hpp"

#include <fmt/format.h>

#include <array>
#include <vector>

namespace systole::sim {
namespace {

class Streams {
 public:
  Streams(const isa::Program& program, Execution& execution)
      : program_(program),
        execution_(execution),
        values_(static_cast<std::size_t>(program.semaphores), 0) {}

  Status run() {
    bool advanced = true;
    while (advanced) {
      advanced = false;
      for (std::size_t e = 0; e < program_.streams.size(); ++e) {
        while (next_[e] < program_.streams[e].size() && ready(program_.streams[e][next_[e]])) {
          if (!step(e)) {
            return Status::fault;
          }
          advanced = true;
        }
      }
    }
    return report_blocked() ? Status::deadlock : Status::done;
  }

 private:
  [[nodiscard]] bool ready(const isa::Instruction& instruction) const {
    for (const isa::SemaphoreWait& wait : instruction.waits) {
      if (values_[wait.semaphore.index()] < wait.at_least) {
        return false;
      }
    }
    return true;
  }

  bool step(std::size_t e) {
    const isa::Instruction& instruction = program_.streams[e][next_[e]];
    if (!execution_.perform(static_cast<isa::Engine>(e), next_[e])) {
      return false;
    }
    if (instruction.signal.valid()) {
      ++values_[instruction.signal.index()];
    }
    ++next_[e];
    return true;
  }

  bool report_blocked() {
    bool blocked = false;
    for (std::size_t e = 0; e < program_.streams.size(); ++e) {
      if (next_[e] >= program_.streams[e].size()) {
        continue;
      }
      blocked = true;
      for (const isa::SemaphoreWait& wait : program_.streams[e][next_[e]].waits) {
        const std::int32_t value = values_[wait.semaphore.index()];
        if (value < wait.at_least) {
          execution_.add_fault(FaultKind::deadlock, static_cast<isa::Engine>(e), next_[e],
                               fmt::format("waits for semaphore {} to reach {}, its value is {}",
                                           wait.semaphore.index(), wait.at_least, value));
        }
      }
    }
    return blocked;
  }

  const isa::Program& program_;
  Execution& execution_;
  std::vector<std::int32_t> values_;
  std::array<std::size_t, isa::engine_count> next_{};
};

}  // namespace

Status run_streams(const isa::Program& program, Execution& execution) {
  return Streams(program, execution).run();
}

}  // namespace systole::sim
