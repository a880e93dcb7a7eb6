// What is done where elimination is too large: both bounds are pushed until they meet or the budget ends.
#pragma once

#include "compiler/solver/exact/dual.hpp"
#include "compiler/solver/exact/state.hpp"

namespace systole::solver::exact {

// One round of the dual: sweeps, bound, rounding, local search, pruning.
void ascend(State& state, Dual& dual);

// Closes the state by elimination if that needs at most `cells` cells and fits into memory; where costs take few values,
// by core-guided search if that is faster than large tables.
bool try_elimination(State& state, Dual& dual, double cells);

// Alternates neighbourhood search, mini-buckets, more sweeps and pruning; runs the core-guided search first where costs
// take few values, last otherwise.
void refine(State& state, Dual& dual);

}  // namespace systole::solver::exact
