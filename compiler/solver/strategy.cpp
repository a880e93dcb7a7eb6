#include "compiler/solver/strategy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>

#include "compiler/solver/strategies.hpp"
#include "isa/base/error.hpp"

namespace systole::solver {
namespace {

// The one list of strategies: help, comparisons and tests read it.
constexpr std::array table{
    Strategy{"local", "cheapest row of each operator, conversions ignored", false, run_local},
    Strategy{"greedy", "topological start, then single-operator improvement to a fixed point",
             false, run_greedy},
    Strategy{"rule", "dimension groups, propagation from anchors, small components by rules", false,
             run_rule},
    Strategy{"xla", "anchors fix layouts by priority, forward and backward propagation, copies",
             false, run_xla},
    Strategy{"smartmem", "four operator classes; produce what consumers will want", false,
             run_smartmem},
    Strategy{"neocpu", "dynamic programming over convolutions, approximate at joins", false,
             run_neocpu},
    Strategy{"vtensor", "fewest conversions, operators all alike", false, run_vtensor},
    Strategy{"treewidth",
             "dynamic program over a nice tree decomposition (Theorem 4), memory budget", true,
             run_treewidth},
    Strategy{"maxsat", "the paper's weighted MaxSAT encoding on Z3, time budget", true, run_maxsat},
    Strategy{"exact", "own solver: bounds, pruning, variable elimination, search; proves or bounds",
             true, run_exact},
    Strategy{"brute_force", "every combination; for tests and tiny problems", true,
             run_brute_force},
};

}  // namespace

std::span<const Strategy> strategies() {
  return table;
}

const Strategy* find_strategy(std::string_view name) {
  const auto* found = std::find_if(table.begin(), table.end(),
                                   [&](const Strategy& strategy) { return strategy.name == name; });
  return found == table.end() ? nullptr : found;
}

Result solve(const Strategy& strategy, const Problem& problem, const Budget& budget) {
  const auto start = std::chrono::steady_clock::now();
  const std::vector<Diagnostic> mistakes = check(problem);
  if (!mistakes.empty()) {
    throw Error(mistakes.front().where, mistakes.front().what,
                mistakes.size() > 1
                    ? fmt::format("{} more mistakes; correct the problem", mistakes.size() - 1)
                    : "correct the problem");
  }
  Result result = strategy.run(problem, budget);
  const std::vector<Diagnostic> contradictions = verify(problem, result);
  if (!contradictions.empty()) {
    systole::check(false, fmt::format("strategy {} returned a wrong result: {}: {}", strategy.name,
                                      contradictions.front().where, contradictions.front().what));
  }
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  result.seconds = elapsed.count();
  return result;
}

Cost row_bound(const Problem& problem) {
  Cost total = 0;
  for (const Operator& op : problem.operators) {
    Cost least = infinity;
    for (const Row& row : op.rows) {
      least = std::min(least, row.cost);
    }
    total = add(total, least);
  }
  return total;
}

Result heuristic_result(const Problem& problem, Assignment assignment) {
  Result result;
  result.bound = row_bound(problem);
  if (result.bound >= infinity) {
    result.status = Status::infeasible;
    result.proof = Proof::bounds;
    return result;
  }
  const Cost cost = evaluate(problem, assignment);
  if (cost >= infinity) {
    result.note = "the heuristic ended at an impossible assignment";
    return result;
  }
  result.cost = cost;
  result.assignment = std::move(assignment);
  result.status = cost == result.bound ? Status::proven : Status::feasible;
  result.proof = cost == result.bound ? Proof::bounds : Proof::none;
  return result;
}

}  // namespace systole::solver
