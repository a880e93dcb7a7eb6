// Complete search for what elimination refuses: the live rows as weighted MaxSAT, solved by cores.
#pragma once

#include "compiler/solver/exact/state.hpp"

namespace systole::solver::exact {

// Improves state.upper and state.lower until they meet, a call of the SAT solver needs more than conflicts_per_call
// conflicts, or the clock runs out. Returns whether the state is closed.
bool search(State& state, int conflicts_per_call);

}  // namespace systole::solver::exact
