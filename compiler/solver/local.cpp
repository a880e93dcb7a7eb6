// Local: every operator takes its cheapest row and conversions are ignored. The baseline that shows what operator
// costs alone achieve. Ties go to the first row.
#include "compiler/solver/strategies.hpp"

namespace systole::solver {

Result run_local(const Problem& problem, const Budget& /*budget*/) {
  Assignment assignment;
  assignment.row.reserve(problem.operators.size());
  for (const Operator& op : problem.operators) {
    std::size_t best = 0;
    for (std::size_t r = 1; r < op.rows.size(); ++r) {
      if (op.rows[r].cost < op.rows[best].cost) {
        best = r;
      }
    }
    assignment.row.add(static_cast<int>(best));
  }
  return heuristic_result(problem, std::move(assignment));
}

}  // namespace systole::solver
