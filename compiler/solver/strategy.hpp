// The strategies: everything that can turn a Problem into a Result, in one table.
//
// A strategy is a pure function of problem and budget. Budgets are counted work first (the same everywhere), seconds
// second (a safety net: results cut off by the clock may differ between runs, and their note says so).
// Errors: solve() throws Error for a problem that fails check(); it aborts if a strategy returns a result that does
// not survive verify(), because that is a bug of ours.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "compiler/solver/problem.hpp"
#include "compiler/solver/result.hpp"

namespace systole::solver {

struct Budget {
  std::int64_t work = 0;  // elementary steps of the strategy; 0: its own default
  double seconds = 0;     // wall clock; 0: its own default
  std::int64_t memory_bytes = 1'000'000'000;  // for tables; what does not fit is not started
  int threads = 2;                            // never changes the result
  std::vector<int> elimination_order;  // of the operators, for treewidth; empty: it finds its own
};

struct Strategy {
  std::string_view name;
  std::string_view description;  // one line
  bool exact = false;            // can prove optimality, given the budget
  Result (*run)(const Problem&, const Budget&) = nullptr;
};

// All strategies, in the order in which help and comparisons list them.
std::span<const Strategy> strategies();

// The strategy of that name; nullptr when there is none.
const Strategy* find_strategy(std::string_view name);

// Checks the problem, runs the strategy, evaluates its assignment anew, verifies, and stamps the time.
Result solve(const Strategy& strategy, const Problem& problem, const Budget& budget = {});

}  // namespace systole::solver
