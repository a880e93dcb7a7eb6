// The exact strategy: bounds first, elimination for what bounds leave open, search for what elimination refuses.
//
//  1. Dominated rows go.
//  2. Dual ascent raises a lower bound; every few sweeps the multipliers are rounded to an assignment, improved by
//     local search, and rows that cannot be part of anything better are removed.
//  3. If bound and cost meet, that is the proof. Otherwise what is left becomes a cost network over layout variables,
//     falls into parts that share nothing, and every part is solved by variable elimination in the cheapest order
//     found. This is tried as soon as it is cheap; what more sweeps could prune is not waited for.
//  4. Where elimination is too large, refine.cpp pushes both bounds: neighbourhood search, mini-buckets, cores.
#include <array>

#include "compiler/solver/exact/dual.hpp"
#include "compiler/solver/exact/refine.hpp"
#include "compiler/solver/exact/state.hpp"
#include "compiler/solver/strategies.hpp"

namespace systole::solver {
namespace exact {
namespace {

// After which round elimination is tried, and up to how many cells it is begun.
struct Try {
  int round;
  double cells;
};
constexpr std::array tries{Try{2, 2e6}, Try{4, 2e8}, Try{6, 2e10}};

// Multipliers are divided in whole numbers; the larger the scale, the less is lost.
Cost scale_for(Cost big) {
  for (const Cost scale : {256, 16}) {
    if (big < (Cost{1} << 48) / scale) {
      return scale;
    }
  }
  return 1;
}

void solve_exactly(State& state) {
  state.count("rows", static_cast<std::int64_t>(state.flat.row_cost.size()));
  state.count("rows_dominated", remove_dominated(state.live));
  // Something to hold from the first moment on, whatever the clock says.
  LocalSearch start(state.flat, &state.live.row_alive);
  start_topologically(state.flat, start);
  state.offer(start, Proof::bounds);
  state.raise(row_bound(state.problem), Proof::bounds);
  Dual dual(state.live, scale_for(state.live.big));
  int round = 0;
  for (const Try& next : tries) {
    for (; round < next.round && !state.stopped(); ++round) {
      ascend(state, dual);
    }
    if (state.stopped() || try_elimination(state, dual, next.cells)) {
      return;
    }
  }
  refine(state, dual);
}

}  // namespace
}  // namespace exact

Result run_exact(const Problem& problem, const Budget& budget) {
  exact::State state(problem, budget);
  if (row_bound(problem) >= infinity) {
    return heuristic_result(problem, {});
  }
  exact::solve_exactly(state);
  if (!state.closed()) {
    state.note =
        state.clock.expired() ? "the clock ended the search" : "the work budget ended the search";
  }
  return state.result();
}

}  // namespace systole::solver
