// The run functions behind the table in strategy.cpp; one file each. Each expects a checked problem.
#pragma once

#include "compiler/solver/strategy.hpp"

namespace systole::solver {

Result run_local(const Problem& problem, const Budget& budget);
Result run_greedy(const Problem& problem, const Budget& budget);
Result run_rule(const Problem& problem, const Budget& budget);
Result run_xla(const Problem& problem, const Budget& budget);
Result run_smartmem(const Problem& problem, const Budget& budget);
Result run_neocpu(const Problem& problem, const Budget& budget);
Result run_vtensor(const Problem& problem, const Budget& budget);
Result run_treewidth(const Problem& problem, const Budget& budget);
Result run_maxsat(const Problem& problem, const Budget& budget);
Result run_exact(const Problem& problem, const Budget& budget);
Result run_brute_force(const Problem& problem, const Budget& budget);

// Result of a heuristic: status feasible with the assignment's cost, or exhausted when that is infinite. The bound is
// the sum of cheapest rows; if cost meets it, the result is proven by bounds.
Result heuristic_result(const Problem& problem, Assignment assignment);

// Sum over operators of the cheapest row: a bound that needs no work. Infinite when an operator has no finite row.
Cost row_bound(const Problem& problem);

}  // namespace systole::solver
