// Greedy: operators in topological order take the row that is cheapest together with the conversions from the
// producers already decided; then single operators are re-decided against the whole objective until no single change
// improves it. The paper's Greedy (section 4.1).
#include "compiler/solver/local_search.hpp"
#include "compiler/solver/strategies.hpp"

namespace systole::solver {

Result run_greedy(const Problem& problem, const Budget& budget) {
  if (row_bound(problem) >= infinity) {
    return heuristic_result(problem, {});
  }
  const Flat flat = flatten(problem);
  LocalSearch search(flat);
  start_topologically(flat, search);
  const std::int64_t limit = budget.work > 0 ? budget.work : std::int64_t{1} << 40;
  const std::int64_t work = search.improve_all(limit);
  Result result = heuristic_result(problem, search.assignment());
  result.stats.push_back({"rows_priced", work});
  if (work > limit) {
    result.note = "work budget ended before the fixed point";
  }
  return result;
}

}  // namespace systole::solver
