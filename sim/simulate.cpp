#include "sim/simulate.hpp"

#include <fmt/format.h>

#include "isa/binary.hpp"
#include "sim/execution.hpp"
#include "sim/functional.hpp"
#include "sim/machine/machine.hpp"

namespace systole::sim {

std::string_view name_of(Status status) {
  switch (status) {
    case Status::done:
      return "done";
    case Status::fault:
      return "fault";
    case Status::deadlock:
      return "deadlock";
  }
  return "?";
}

std::string_view name_of(FaultKind kind) {
  switch (kind) {
    case FaultKind::out_of_range:
      return "out of range";
    case FaultKind::uninitialised:
      return "uninitialised read";
    case FaultKind::race:
      return "data race";
    case FaultKind::unstarted_accumulation:
      return "accumulation onto unstarted PSUM";
    case FaultKind::bad_index:
      return "index out of range";
    case FaultKind::deadlock:
      return "deadlock";
  }
  return "?";
}

namespace {

// Semaphores and sources are indexed without further checks everywhere behind this.
void expect_ids_in_range(const isa::Program& program) {
  for (std::size_t e = 0; e < program.streams.size(); ++e) {
    for (std::size_t i = 0; i < program.streams[e].size(); ++i) {
      const isa::Instruction& instruction = program.streams[e][i];
      bool good = !instruction.signal.valid() ||
                  instruction.signal.index() < static_cast<std::size_t>(program.semaphores);
      for (const isa::SemaphoreWait& wait : instruction.waits) {
        good = good && wait.semaphore.index() < static_cast<std::size_t>(program.semaphores);
      }
      if (!good) {
        throw Error(fmt::format("program {}, {} instruction {}", program.name,
                                isa::name_of(static_cast<isa::Engine>(e)), i),
                    "names a semaphore that the program does not have", "declare more semaphores");
      }
    }
  }
}

}  // namespace

Outcome simulate(const isa::Program& program, const isa::Machine& machine, const Timing& timing,
                 const Inputs& inputs, const Options& options) {
  isa::expect_machine(program, machine);
  expect_ids_in_range(program);
  Execution execution(program, machine, inputs, options);
  Outcome outcome;
  if (options.timing) {
    run_machine(program, machine, timing, execution, options, outcome);
  } else {
    outcome.status = run_streams(program, execution);
    outcome.faults = execution.faults();
  }
  if (outcome.status == Status::done && !execution.finish()) {
    outcome.status = Status::fault;
    outcome.faults = execution.faults();
  }
  if (outcome.status == Status::done) {
    outcome.outputs = execution.outputs();
  }
  return outcome;
}

}  // namespace systole::sim
