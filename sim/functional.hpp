// Runs without time: the streams advance in turn, each as far as its semaphores allow.
#pragma once

#include "sim/execution.hpp"

namespace systole::sim {

[[nodiscard]] Status run_streams(const isa::Program& program, Execution& execution);

}  // namespace systole::sim
