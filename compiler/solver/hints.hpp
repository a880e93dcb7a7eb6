// Reading the hints: which operators a heuristic should settle first.
#pragma once

#include <vector>

#include "compiler/solver/flat.hpp"

namespace systole::solver {

// True for operators whose layouts matter most: families contraction and convolution; in a problem without any such
// family, operators whose cheapest row costs more than the average cheapest row.
std::vector<bool> anchors(const Problem& problem, const Flat& flat);

// The cheapest row (global row number) of an operator; the first one on ties.
int cheapest_row(const Flat& flat, int op);

// cheapest row's cost, and how much the dearest row costs above it: what a wrong choice can lose.
Cost cost_spread(const Flat& flat, int op);

// Operators sorted by falling spread, ties in topological order.
std::vector<int> by_falling_spread(const Flat& flat, const std::vector<bool>& chosen);

}  // namespace systole::solver
