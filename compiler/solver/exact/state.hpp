// What the phases of the exact strategy share: the problem, what is still alive, and what is known so far.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/solver/exact/clock.hpp"
#include "compiler/solver/exact/live.hpp"
#include "compiler/solver/exact/order.hpp"
#include "compiler/solver/local_search.hpp"
#include "compiler/solver/strategy.hpp"

namespace systole::solver::exact {

struct State {
  State(const Problem& given, const Budget& limits);

  const Problem& problem;
  const Budget& budget;
  Clock clock;
  Flat flat;
  Live live;

  Cost lower = 0;
  Cost upper = infinity;
  // Row per operator (global row numbers), live rows only: the cheapest assignment (empty: none yet), and some
  // assignment, perhaps impossible, that stands in for it.
  std::vector<int> best;
  std::vector<int> trial;
  Proof proof = Proof::none;
  std::vector<Counter> counters;
  std::string note;
  // Elimination orders of the parts of what is left, and with how many live rows they were found: rows only die, so the
  // same number is the same network.
  std::vector<Order> orders;
  std::size_t orders_rows = 0;

  // Nothing is left to prove: the bound meets the cost, or exceeds every finite total.
  [[nodiscard]] bool closed() const { return lower >= std::min(upper, live.big); }
  [[nodiscard]] bool stopped() const { return closed() || clock.expired(); }
  // Raises the bound; remembers how when that closes the gap.
  void raise(Cost bound, Proof how);
  // Takes over an assignment (row per operator) if it is cheaper, by the definition of cost.
  bool offer(const std::vector<int>& rows, Proof how);
  bool offer(const LocalSearch& search, Proof how);
  // Rows to start from: best, or trial.
  [[nodiscard]] const std::vector<int>& known() const { return best.empty() ? trial : best; }
  [[nodiscard]] std::size_t live_rows() const;
  void count(std::string_view name, std::int64_t value);  // adds to a counter
  Result result();
};

}  // namespace systole::solver::exact
