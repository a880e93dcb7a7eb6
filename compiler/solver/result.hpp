// What a strategy hands back: an assignment, its cost, a bound, and how much of that is proven.
//
// Promise: `bound` <= the optimum, always. `status`:
//   proven      assignment is optimal; cost == bound
//   feasible    assignment is valid and finite; bound <= optimum <= cost
//   infeasible  proven: no assignment has finite cost; assignment empty, cost == bound == infinity
//   exhausted   the budget ended before any assignment was found, or the strategy refused; assignment empty;
//               `note` says what would have been needed
// Errors: `verify` compares a result with its problem and returns every contradiction.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/solver/problem.hpp"

namespace systole::solver {

enum class Status { proven, feasible, infeasible, exhausted };

// How the bound of a proven result was reached.
enum class Proof {
  none,         // nothing proven
  bounds,       // lower bound met the cost, no search
  elimination,  // exact variable elimination
  search,       // complete search
  enumeration,  // every assignment was tried
  dynamic,      // dynamic programming over a tree decomposition
  outside       // the proof of a general-purpose solver
};

struct Counter {
  std::string name;
  std::int64_t value = 0;
  bool operator==(const Counter&) const = default;
};

struct Result {
  Status status = Status::exhausted;
  Assignment assignment;
  Cost cost = infinity;
  Cost bound = 0;
  Proof proof = Proof::none;
  std::vector<Counter>
      stats;           // counted work, the same on every run and for every number of threads
  std::string note;    // why a budget ended or a strategy refused; empty otherwise
  double seconds = 0;  // wall clock; the one member that differs between runs

  // (cost - bound) / cost; 0 for proven results, 1 when nothing is known.
  [[nodiscard]] double gap() const;
};

std::string_view name(Status status);
std::string_view name(Proof proof);

// Contradictions between a result and its problem: rows out of range, cost not what evaluate says, bound above cost,
// a status that does not fit. Empty when all is well.
std::vector<Diagnostic> verify(const Problem& problem, const Result& result);

}  // namespace systole::solver
