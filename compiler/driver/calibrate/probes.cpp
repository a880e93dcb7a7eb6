#include "compiler/driver/calibrate/probes.hpp"

#include <algorithm>

#include "compiler/solver/strategy.hpp"
#include "isa/base/random.hpp"

namespace systole::driver {
namespace {

// The best assignment in which each held operator has its row; held by operator, -1 where free.
solver::Assignment best_around(const solver::Problem& problem, const std::vector<int>& held) {
  solver::Problem restricted = problem;
  for (const solver::OperatorId op : problem.operators.ids()) {
    const int row = held[op.index()];
    if (row >= 0) {
      restricted.operators[op].rows = {problem.operators[op].rows[static_cast<std::size_t>(row)]};
    }
  }
  solver::Budget budget;
  budget.threads = 1;
  solver::Assignment assignment =
      solver::solve(*solver::find_strategy("exact"), restricted, budget).assignment;
  for (const solver::OperatorId op : assignment.row.ids()) {
    if (held[op.index()] >= 0) {
      assignment.row[op] = held[op.index()];
    }
  }
  return assignment;
}

}  // namespace

std::vector<solver::Assignment> probes(const solver::Problem& problem, std::size_t count,
                                       std::uint64_t seed) {
  Random random(seed);
  const std::size_t operators = problem.operators.size();
  std::vector<solver::Assignment> out;
  for (std::size_t i = 0; i <= count; ++i) {
    std::vector<int> held(operators, -1);
    // Near the optimum, where strategies differ: every other time few operators are held. From there to all of them.
    const double few = 3.0 / static_cast<double>(std::max<std::size_t>(1, operators));
    const double share = i == 0 ? 0 : i % 2 == 0 ? random.uniform() : few;
    for (const solver::OperatorId op : problem.operators.ids()) {
      const auto rows = static_cast<std::int64_t>(problem.operators[op].rows.size());
      if (i > 0 && random.uniform() < share) {
        held[op.index()] = static_cast<int>(random.integer(0, rows - 1));
      }
    }
    solver::Assignment assignment = best_around(problem, held);
    if (!assignment.row.empty() && std::find(out.begin(), out.end(), assignment) == out.end()) {
      out.push_back(std::move(assignment));
    }
  }
  return out;
}

}  // namespace systole::driver
