// What a run does to values, whatever decides when: performs instructions one at a time, in an
// order that the semaphores allow, refuses what the machine refuses, and hands out the results.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "sim/check/checker.hpp"
#include "sim/instructions/context.hpp"
#include "sim/memory/memory.hpp"
#include "sim/simulate.hpp"

namespace systole::sim {

class Execution {
 public:
  // Throws Error for inputs that do not fit.
  Execution(const isa::Program& program, const isa::Machine& machine, const Inputs& inputs,
            const Options& options);

  // Every operand lies inside its memory and agrees with the others in size, on which all that follows relies. False if
  // not; then faults() has grown.
  [[nodiscard]] bool in_range();

  // The instruction's waits are satisfied and it starts. False if it was refused; then faults() has
  // grown.
  [[nodiscard]] bool perform(isa::Engine engine, std::size_t index);

  [[nodiscard]] const std::vector<Fault>& faults() const { return faults_; }
  void add_fault(FaultKind kind, isa::Engine engine, std::size_t index, const std::string& problem);
  // The run is complete: false if an output was not written.
  [[nodiscard]] bool finish();
  // Outputs from HBM; empty in a run without values.
  [[nodiscard]] Arrays outputs() const;

 private:
  void place_inputs(const Inputs& inputs);

  const isa::Program& program_;
  const isa::Machine& machine_;
  Options options_;
  std::unique_ptr<Memory> memory_;  // null without values
  std::optional<Context> context_;
  std::unique_ptr<Checker> checker_;  // null without checks
  std::vector<Fault> faults_;
};

}  // namespace systole::sim
