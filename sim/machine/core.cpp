#include "sim/machine/core.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace systole::sim {

Core::Core(const isa::Program& program, const isa::Machine& machine, const Timing& timing,
           Execution& execution, const Options& options)
    : execution_(execution),
      semaphores_(program.semaphores, *this),
      ports_(timing),
      attribution_(program.sources.size()),
      dma_(machine, timing, *this,
           {[this](const TransferEnd& end) { on_transfer_end(end); },
            [this](isa::SourceId source, Ticks from, Ticks until) {
              attribution_.serve_dma(source, from, until);
            }}),
      shared_{program,
              machine,
              timing,
              execution,
              *this,
              semaphores_,
              ports_,
              dma_,
              attribution_,
              report_,
              options.trace ? &trace_ : nullptr,
              {},
              0,
              false} {
  due_.fill(never);
  report_.program = program.name;
  report_.machine = machine.name;
  report_.sources.resize(program.sources.size());
  for (int e = 0; e < isa::engine_count; ++e) {
    engines_.push_back(std::make_unique<Engine>(static_cast<isa::Engine>(e), shared_));
  }
}

void Core::wake(int unit, Ticks at) {
  Ticks& due = due_[static_cast<std::size_t>(unit)];
  due = std::min(due, at);
}

void Core::on_transfer_end(const TransferEnd& end) {
  shared_.end = std::max(shared_.end, end.complete);
  if (end.signal.valid()) {
    semaphores_.increment(end.signal, end.complete, true, isa::engine_count + end.ring,
                          end.complete);
  }
  if (shared_.trace != nullptr) {
    trace_.slices.push_back(
        {isa::engine_count + end.ring, end.source, "dma", end.tag, end.began, end.complete});
  }
}

Ticks Core::dispatch(Ticks now) {
  const auto take = [&](int unit) {
    Ticks& due = due_[static_cast<std::size_t>(unit)];
    const bool is_due = due <= now;
    due = is_due ? never : due;
    return is_due;
  };
  if (take(dma_unit)) {
    dma_.step(now);
  }
  for (int e = 0; e < isa::engine_count; ++e) {
    if (take(e)) {
      engines_[static_cast<std::size_t>(e)]->step(now);
    }
  }
  return shared_.stopped ? never : next_due();
}

bool Core::report_blocked() {
  bool blocked = false;
  for (int e = 0; e < isa::engine_count; ++e) {
    const Engine& engine = *engines_[static_cast<std::size_t>(e)];
    if (engine.finished()) {
      continue;
    }
    blocked = true;
    const isa::Instruction& instruction =
        shared_.program.streams[static_cast<std::size_t>(e)][engine.next()];
    for (const isa::SemaphoreWait& wait : instruction.waits) {
      const std::int64_t value = semaphores_.value(wait.semaphore, never);
      if (value < wait.at_least) {
        execution_.add_fault(FaultKind::deadlock, static_cast<isa::Engine>(e), engine.next(),
                             fmt::format("waits for semaphore {} to reach {}, its value is {}",
                                         wait.semaphore.index(), wait.at_least, value));
      }
    }
  }
  return blocked;
}

void Core::fill_report(Outcome& outcome) {
  const Timing& timing = shared_.timing;
  const isa::Machine& machine = shared_.machine;
  report_.total = shared_.end;
  for (std::size_t e = 0; e < engines_.size(); ++e) {
    report_.engines[e] = engines_[e]->finish(report_.total);
    const std::vector<Ticks>& stalls = engines_[e]->semaphore_stalls();
    for (std::size_t s = 0; s < stalls.size(); ++s) {
      if (stalls[s] > Ticks(0)) {
        report_.semaphore_stalls.push_back(
            {static_cast<isa::Engine>(e), isa::SemaphoreId(s), stalls[s]});
      }
    }
  }
  std::stable_sort(
      report_.semaphore_stalls.begin(), report_.semaphore_stalls.end(),
      [](const SemaphoreStall& a, const SemaphoreStall& b) { return a.waited > b.waited; });
  report_.semaphore_stalls.resize(std::min<std::size_t>(report_.semaphore_stalls.size(), 16));

  attribution_.finish(report_.total);
  WholeCycles whole(timing);
  for (std::size_t s = 0; s < report_.sources.size(); ++s) {
    report_.sources[s].attributed = attribution_.shares()[s];
    report_.sources[s].cycles = whole.next(report_.sources[s].attributed);
  }
  report_.unattributed = attribution_.unknown();
  report_.unattributed_cycles = whole.next(report_.unattributed);
  report_.rings = dma_.rings();
  report_.dma_busy = dma_.any_busy();
  report_.dma_engine_busy = dma_.engine_busy();
  report_.cycles = reference_cycles(timing, report_.total).count();
  report_.microseconds = microseconds(timing, report_.total);

  const std::int64_t cells = std::int64_t{machine.array_rows} * machine.array_columns;
  report_.peak_bound =
      ticks_of_cycles(timing, isa::Engine::tensor, (shared_.cell_cycles + cells - 1) / cells);
  report_.bandwidth_bound =
      ticks_of_ns(timing, static_cast<double>(report_.hbm_read_bytes + report_.hbm_written_bytes) /
                              timing.hbm_bytes_per_ns);
  report_.roofline = Ticks(report_.dma_engine_busy.count() / std::max(1, machine.dma_engines));
  for (const EngineReport& engine : report_.engines) {
    report_.roofline = std::max(report_.roofline, engine.busy);
  }
  report_.utilisation = report_.total > Ticks(0) ? static_cast<double>(report_.peak_bound.count()) /
                                                       static_cast<double>(report_.total.count())
                                                 : 0.0;
  outcome.report = std::move(report_);
}

void Core::finish(Outcome& outcome) {
  const bool blocked = !shared_.stopped && report_blocked();
  outcome.status = shared_.stopped ? Status::fault : (blocked ? Status::deadlock : Status::done);
  outcome.faults = execution_.faults();
  fill_report(outcome);
  outcome.trace = std::move(trace_);
}

}  // namespace systole::sim
