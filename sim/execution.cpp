#include "sim/execution.hpp"

#include <fmt/format.h>

#include "sim/check/bounds.hpp"
#include "sim/instructions/execute.hpp"
#include "sim/memory/host.hpp"

namespace systole::sim {

Execution::Execution(const isa::Program& program, const isa::Machine& machine, const Inputs& inputs,
                     const Options& options)
    : program_(program), machine_(machine), options_(options) {
  if (options_.checks) {
    checker_ = std::make_unique<Checker>(program, machine);
  }
  if (options_.values) {
    memory_ = std::make_unique<Memory>(machine, program, options.poison);
    context_.emplace(machine_, *memory_);
    place_inputs(inputs);
  }
}

void Execution::place_inputs(const Inputs& inputs) {
  const std::byte padding = options_.poison ? std::byte{0xff} : std::byte{0};
  for (const auto& [name, array] : inputs.arrays) {
    bool known = false;
    for (const isa::HbmTensor& tensor : program_.tensors) {
      known = known || (tensor.name == name && tensor.role == isa::Role::input);
    }
    if (!known) {
      throw Error("input " + name, "the program has no input of this name",
                  "use the names of the program's inputs");
    }
  }
  for (const isa::TensorId id : program_.tensors.ids()) {
    const isa::HbmTensor& tensor = program_.tensors[id];
    if (tensor.role == isa::Role::constant && !tensor.data && isa::elements(tensor) > 0) {
      throw Error("constant " + tensor.name, "the program does not carry its data",
                  "compile with weights, or run for timing only");
    }
    if (tensor.role != isa::Role::input) {
      continue;
    }
    const auto found = inputs.arrays.find(tensor.name);
    if (found == inputs.arrays.end()) {
      throw Error("input " + tensor.name, "no array was given", "give one, or run for timing only");
    }
    pack(tensor, found->second, memory_->writable_tensor(id), padding);
  }
}

void Execution::add_fault(FaultKind kind, isa::Engine engine, std::size_t index,
                          const std::string& problem) {
  const isa::Instruction& instruction = program_.streams[static_cast<std::size_t>(engine)][index];
  Fault fault;
  fault.kind = kind;
  fault.engine = engine;
  fault.instruction = index;
  fault.source = isa::source_name(program_, instruction);
  fault.text =
      fmt::format("{}: {} instruction {} ({}) of {}: {}", name_of(kind), isa::name_of(engine),
                  index, isa::name_of(instruction.operation), fault.source, problem);
  faults_.push_back(std::move(fault));
}

bool Execution::in_range() {
  for (std::size_t e = 0; e < program_.streams.size(); ++e) {
    const auto& stream = program_.streams[e];
    for (std::size_t i = 0; i < stream.size(); ++i) {
      if (const std::string problem = find_out_of_range(stream[i], program_, machine_);
          !problem.empty()) {
        add_fault(FaultKind::out_of_range, static_cast<isa::Engine>(e), i, problem);
        return false;
      }
    }
  }
  return true;
}

bool Execution::perform(isa::Engine engine, std::size_t index) {
  const isa::Instruction& instruction = program_.streams[static_cast<std::size_t>(engine)][index];
  if (checker_) {
    std::optional<std::vector<std::int64_t>> rows;
    if (const auto* indirect = instruction.operation.get_if<isa::DmaIndirect>();
        indirect != nullptr && context_) {
      rows = selected_rows(*indirect, *context_);
    }
    if (const auto problem = checker_->start(engine, index, rows ? &*rows : nullptr)) {
      add_fault(problem->kind, engine, index, problem->text);
      return false;
    }
  }
  if (context_) {
    execute_operation(instruction.operation, *context_);
    if (!context_->fault.empty()) {
      add_fault(FaultKind::bad_index, engine, index, context_->fault);
      return false;
    }
  }
  return true;
}

bool Execution::finish() {
  const auto unwritten = checker_ ? checker_->unwritten_output() : std::nullopt;
  if (!unwritten) {
    return true;
  }
  Fault fault;
  fault.kind = FaultKind::uninitialised;
  fault.source = "the host";
  fault.text = fmt::format("{}: the host reads output {}, not all of which was written",
                           name_of(fault.kind), *unwritten);
  faults_.push_back(std::move(fault));
  return false;
}

Arrays Execution::outputs() const {
  Arrays arrays;
  if (!memory_) {
    return arrays;
  }
  for (const isa::TensorId id : program_.tensors.ids()) {
    const isa::HbmTensor& tensor = program_.tensors[id];
    if (tensor.role == isa::Role::output) {
      arrays.emplace(tensor.name, unpack(tensor, memory_->tensor(id)));
    }
  }
  return arrays;
}

}  // namespace systole::sim
