// Rough durations for the scheduler's choices: which engine takes an instruction that several can
// execute.
//
// In ticks of 1/5.6 GHz (v2; 1/4.8 GHz on v3), from the published rates and costs per element; they
// need only rank the choices. The machine's own timing is the simulator's and is not read here.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "isa/instruction.hpp"
#include "isa/machine.hpp"

namespace systole::lower {

[[nodiscard]] std::int64_t estimated_ticks(const isa::Operation& operation, isa::Engine engine,
                                           const isa::Machine& machine);

// The operation as `engine` executes it: itself, or an equal one (a Copy is an Activation on a
// Scalar engine without copies); nothing if the engine cannot.
[[nodiscard]] std::optional<isa::Operation> as_executed_on(const isa::Operation& operation,
                                                           isa::Engine engine,
                                                           const isa::Machine& machine);

}  // namespace systole::lower
