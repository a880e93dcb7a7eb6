#include "sim/simulate.hpp"

#include <fmt/format.h>

#include "isa/binary.hpp"
#include "isa/verify.hpp"
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
    case FaultKind::broken_rule:
      return "broken rule";
    case FaultKind::deadlock:
      return "deadlock";
  }
  return "?";
}

namespace {

// Semaphores are indexed, and operations taken for what their engine can do, without further checks behind this. Empty if
// all is well.
std::string find_malformed(const isa::Instruction& instruction, isa::Engine stream,
                           const isa::Program& program, const isa::Machine& machine) {
  const auto known = [&program](isa::SemaphoreId id) {
    return id.index() < static_cast<std::size_t>(program.semaphores);
  };
  bool good = !instruction.signal.valid() || known(instruction.signal);
  for (const isa::SemaphoreWait& wait : instruction.waits) {
    good = good && known(wait.semaphore);
  }
  if (!good) {
    return "names a semaphore that the program does not have";
  }
  return isa::executes_on(instruction.operation, stream, machine.scalar_copy)
             ? ""
             : "is nothing that this engine executes";
}

void expect_well_formed(const isa::Program& program, const isa::Machine& machine) {
  // Memories are made to the size of the tensors.
  if (const auto problems = isa::verify_frame(program, machine); !problems.empty()) {
    throw Error("program " + program.name, isa::describe(problems.front(), program),
                "correct the program; systole compile writes valid ones");
  }
  for (std::size_t e = 0; e < program.streams.size(); ++e) {
    const auto engine = static_cast<isa::Engine>(e);
    for (std::size_t i = 0; i < program.streams[e].size(); ++i) {
      const isa::Instruction& instruction = program.streams[e][i];
      if (std::string problem = find_malformed(instruction, engine, program, machine);
          !problem.empty()) {
        throw Error(fmt::format("program {}, {} instruction {} ({}) of {}", program.name,
                                isa::name_of(engine), i, isa::name_of(instruction.operation),
                                isa::source_name(program, instruction)),
                    problem, "correct the program; systole compile writes valid ones");
      }
    }
  }
}

constexpr std::size_t rules_told = 10;

std::vector<Fault> broken_rules(const isa::Program& program, const isa::Machine& machine) {
  std::vector<Fault> faults;
  for (const isa::Diagnostic& broken : isa::verify_instructions(program, machine)) {
    if (faults.size() < rules_told) {
      const bool known = broken.source.valid() && broken.source.index() < program.sources.size();
      faults.push_back({FaultKind::broken_rule, broken.engine.value_or(isa::Engine::sync),
                        broken.instruction, known ? program.sources[broken.source].name : "",
                        fmt::format("{}: {}", name_of(FaultKind::broken_rule),
                                    isa::describe(broken, program))});
    }
  }
  return faults;
}

}  // namespace

Outcome simulate(const isa::Program& program, const isa::Machine& machine, const Timing& timing,
                 const Inputs& inputs, const Options& options) {
  isa::expect_machine(program, machine);
  expect_well_formed(program, machine);
  Execution execution(program, machine, inputs, options);
  Outcome outcome;
  if (!execution.in_range()) {
    outcome.status = Status::fault;
    outcome.faults = execution.faults();
    return outcome;
  }
  if (options.rules) {
    outcome.faults = broken_rules(program, machine);
    if (!outcome.faults.empty()) {
      outcome.status = Status::fault;
      return outcome;
    }
  }
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
