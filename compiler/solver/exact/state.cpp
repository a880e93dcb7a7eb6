#include "compiler/solver/exact/state.hpp"

#include <algorithm>
#include <numeric>

namespace systole::solver::exact {
namespace {

Assignment assignment_of(const Flat& flat, const std::vector<int>& rows) {
  Assignment assignment;
  assignment.row.reserve(rows.size());
  for (const int row : rows) {
    assignment.row.add(flat.row_index[Flat::at(row)]);
  }
  return assignment;
}

}  // namespace

State::State(const Problem& given, const Budget& limits)
    : problem(given),
      budget(limits),
      clock(limits.seconds),
      flat(flatten(given)),
      live(all_alive(flat)) {}

void State::raise(Cost bound, Proof how) {
  if (bound > lower && !closed()) {
    lower = bound;
    proof = closed() ? how : proof;
  }
}

bool State::offer(const std::vector<int>& rows, Proof how) {
  trial = rows;
  const Cost cost = evaluate(problem, assignment_of(flat, rows));
  if (cost >= upper) {
    return false;
  }
  const bool was_closed = closed();
  upper = cost;
  best = rows;
  proof = closed() && !was_closed ? how : proof;
  return true;
}

bool State::offer(const LocalSearch& search, Proof how) {
  std::vector<int> rows;
  rows.reserve(Flat::at(flat.operators));
  for (int op = 0; op < flat.operators; ++op) {
    rows.push_back(search.row(op));
  }
  return offer(rows, how);
}

std::size_t State::live_rows() const {
  return std::accumulate(live.count.begin(), live.count.end(), std::size_t{0},
                         [](std::size_t sum, int count) { return sum + Flat::at(count); });
}

void State::count(std::string_view name, std::int64_t value) {
  const auto found = std::find_if(counters.begin(), counters.end(),
                                  [&](const Counter& counter) { return counter.name == name; });
  if (found == counters.end()) {
    counters.push_back({std::string(name), value});
  } else {
    found->value += value;
  }
}

Result State::result() {
  Result result;
  result.stats = std::move(counters);
  result.note = std::move(note);
  if (upper >= infinity) {
    // No finite assignment. A bound at or above every finite total proves that there is none.
    const bool impossible = lower >= live.big;
    result.status = impossible ? Status::infeasible : Status::exhausted;
    result.bound = impossible ? infinity : lower;
    result.proof = impossible ? proof : Proof::none;
    return result;
  }
  result.cost = upper;
  result.bound = std::min(lower, upper);
  result.assignment = assignment_of(flat, best);
  result.status = closed() ? Status::proven : Status::feasible;
  result.proof = closed() ? proof : Proof::none;
  return result;
}

}  // namespace systole::solver::exact
