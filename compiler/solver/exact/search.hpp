// Complete search for what elimination refuses: the live rows as weighted MaxSAT, solved by cores.
#pragma once

#include "compiler/solver/exact/core_guided.hpp"
#include "compiler/solver/exact/state.hpp"

namespace systole::solver::exact {

// Improves state.upper and state.lower until they meet, the SAT solver reaches a limit, or the clock runs out. Returns
// whether the state is closed.
bool search(State& state, const ConflictLimits& limits);

}  // namespace systole::solver::exact
