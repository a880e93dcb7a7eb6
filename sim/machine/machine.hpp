// The machine on its SystemC kernel. No SystemC type appears here; machine.cpp is the only file that includes it.
#pragma once

#include "sim/execution.hpp"
#include "sim/simulate.hpp"
#include "sim/timing/timing.hpp"

namespace systole::sim {

// Runs the program to its end, a refusal or a deadlock; fills everything but the outputs.
void run_machine(const isa::Program& program, const isa::Machine& machine, const Timing& timing,
                 Execution& execution, const Options& options, Outcome& outcome);

}  // namespace systole::sim
