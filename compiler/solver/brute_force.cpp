// Brute force: every combination of rows, cut off only where the cost so far already reaches the best found. It shares
// nothing with the other exact strategies and is the yardstick of their tests. For tiny problems.
//
// Operators are taken in topological order, so a tensor's produced layout is known before any use, and a conversion
// is charged by the first use that requests its layout.
#include <algorithm>

#include "compiler/solver/exact/clock.hpp"
#include "compiler/solver/strategies.hpp"
#include "compiler/solver/structure.hpp"

namespace systole::solver {
namespace {

constexpr std::int64_t steps_between_looks = 1 << 16;  // at the clock

class Enumeration {
 public:
  Enumeration(const Problem& problem, std::int64_t limit, double seconds)
      : problem_(problem),
        structure_(structure_of(problem)),
        limit_(limit),
        clock_(seconds),
        produced_(problem.tensors.size(), 0),
        requests_(problem.tensors.size()) {
    for (const TensorId id : problem.tensors.ids()) {
      requests_[id].assign(static_cast<std::size_t>(problem.tensors[id].layouts), 0);
    }
    present_.row.resize(problem.operators.size());
  }

  void descend(std::size_t depth, Cost cost) {
    if (cost >= best_cost_ || steps_ > limit_) {
      return;
    }
    if (depth == structure_.topological.size()) {
      best_cost_ = cost;
      best_ = present_;
      return;
    }
    const OperatorId id = structure_.topological[depth];
    const Operator& op = problem_.operators[id];
    for (std::size_t r = 0; r < op.rows.size(); ++r) {
      if (++steps_ % steps_between_looks == 0 && clock_.expired()) {
        limit_ = std::min(limit_, steps_ - 1);
      }
      present_.row[id] = static_cast<int>(r);
      const Cost extra = enter(op, op.rows[r]);
      descend(depth + 1, add(cost, extra));
      leave(op, op.rows[r]);
    }
  }

  [[nodiscard]] Result result() const {
    Result result;
    result.stats.push_back({"rows_tried", steps_});
    const bool complete = steps_ <= limit_;
    if (best_cost_ < infinity) {
      result.status = complete ? Status::proven : Status::feasible;
      result.assignment = best_;
      result.cost = best_cost_;
      result.bound = complete ? best_cost_ : row_bound(problem_);
    } else {
      result.status = complete ? Status::infeasible : Status::exhausted;
      result.bound = complete ? infinity : row_bound(problem_);
    }
    if (complete) {
      result.proof = Proof::enumeration;
    } else {
      result.note = "the budget ended before every combination was tried";
    }
    return result;
  }

 private:
  Cost enter(const Operator& op, const Row& row) {
    Cost cost = row.cost;
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      const TensorId tensor = op.inputs[i];
      const int layout = row.layouts[i];
      if (requests_[tensor][static_cast<std::size_t>(layout)]++ == 0) {
        cost = add(cost, problem_.tensors[tensor].convert(produced_[tensor], layout));
      }
    }
    produced_[op.output] = row.layouts.back();
    return cost;
  }

  void leave(const Operator& op, const Row& row) {
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      --requests_[op.inputs[i]][static_cast<std::size_t>(row.layouts[i])];
    }
  }

  const Problem& problem_;
  Structure structure_;
  std::int64_t limit_;
  exact::Clock clock_;
  std::int64_t steps_ = 0;
  IdVector<TensorId, int> produced_;
  IdVector<TensorId, std::vector<int>> requests_;
  Assignment present_;
  Assignment best_;
  Cost best_cost_ = infinity;
};

}  // namespace

Result run_brute_force(const Problem& problem, const Budget& budget) {
  Enumeration enumeration(problem, budget.work > 0 ? budget.work : 200'000'000, budget.seconds);
  enumeration.descend(0, 0);
  return enumeration.result();
}

}  // namespace systole::solver
