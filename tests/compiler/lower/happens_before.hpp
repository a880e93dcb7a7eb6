// An independent judge of schedules, for small programs: every pair of instructions that touch a
// common byte, one of them writing, must be ordered as it was before scheduling. Bytes are
// enumerated one by one; the order is the transitive closure of: stream order of starts, completion
// order of each engine and ring, and waits on semaphores.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "isa/program.hpp"

namespace systole::lower::testing {

// The instructions' sources must be their places in the sequential order (SourceId 0, 1, 2 ...).
// Returns a line for each fault: uncovered pairs, a semaphore signalled by two agents, a wait that
// never comes true, a lost instruction.
[[nodiscard]] std::vector<std::string> faults(const isa::Program& program,
                                              std::size_t instructions);

// Runs the streams in a random legal order; false if they get stuck.
[[nodiscard]] bool runs_to_end(const isa::Program& program, std::uint64_t seed);

}  // namespace systole::lower::testing
