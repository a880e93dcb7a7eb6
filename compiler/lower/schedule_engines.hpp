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

struct Duration {
  std::int64_t elements = 0;  // until the last element is through
  std::int64_t interval = 0;  // until the engine (the array: the same tiles) takes another one
};
// Of anything but a transfer (schedule_transfers).
[[nodiscard]] Duration estimated(const isa::Operation& operation, isa::Engine engine,
                                 const isa::Machine& machine);

// The function whose table the Scalar engine needs for the operation; loading another one than the
// last takes table_load ticks. Plain copies (with scale and bias) need none.
[[nodiscard]] std::optional<isa::Function> table_of(const isa::Operation& operation);
inline constexpr std::int64_t table_load = 6200;

// The operation as `engine` executes it: itself, or an equal one (on floats, a Copy, a product and
// a sum with scalars and a maximum with 0 are Activations of the Scalar engine); nothing if the
// engine cannot.
[[nodiscard]] std::optional<isa::Operation> as_executed_on(const isa::Operation& operation,
                                                           isa::Engine engine,
                                                           const isa::Machine& machine);

}  // namespace systole::lower
