// VTensor's objective: operators cost the same in every supported layout, and conversions are counted. The problem is
// restated with all rows at cost 0 and every conversion at cost 1, solved exactly, and the answer is judged by the
// real objective. What it gives up is exactly the operator costs.
#include "compiler/solver/strategies.hpp"

namespace systole::solver {

Result run_vtensor(const Problem& problem, const Budget& budget) {
  if (row_bound(problem) >= infinity) {
    return heuristic_result(problem, {});
  }
  Problem counted = problem;
  for (Operator& op : counted.operators) {
    for (Row& row : op.rows) {
      row.cost = row.cost < infinity ? 0 : infinity;
    }
  }
  for (Tensor& tensor : counted.tensors) {
    const auto k = static_cast<std::size_t>(tensor.layouts);
    for (std::size_t i = 0; i < k * k; ++i) {
      Cost& cost = tensor.conversion[i];
      cost = i % (k + 1) == 0 ? 0 : cost < infinity ? 1 : infinity;
    }
  }
  const Result inner = run_exact(counted, budget);
  if (inner.assignment.row.empty() && !problem.operators.empty()) {
    Result result;
    result.status = inner.status;
    result.proof = inner.proof;
    result.bound = inner.status == Status::infeasible ? infinity : row_bound(problem);
    result.note = inner.note;
    return result;
  }
  Result result = heuristic_result(problem, inner.assignment);
  result.stats.push_back({"conversions", inner.cost});
  result.stats.push_back({"fewest_conversions_proven", inner.status == Status::proven ? 1 : 0});
  return result;
}

}  // namespace systole::solver
