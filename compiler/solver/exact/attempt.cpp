#include "compiler/solver/exact/attempt.hpp"

#include <algorithm>
#include <numeric>

#include "compiler/solver/exact/eliminate.hpp"
#include "compiler/solver/exact/repeats.hpp"
#include "compiler/solver/exact/sparse.hpp"

namespace systole::solver::exact {
namespace {

constexpr double table_bytes_per_cell = 4;
// Looking for repeated layers pays from here on.
constexpr double worth_comparing = 1e6;
// Parts below are solved densely in any case.
constexpr double dense_cells = 2e6;
// The first threshold is this part of the gap.
constexpr Cost first_threshold = 64;
// An order this cheap is not worth improving.
constexpr double cells_per_variable = 100;

std::vector<int> sweep_order(const Part& part, const std::vector<int>& time) {
  std::vector<int> order(part.variables.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    return time[Flat::at(part.variables[Flat::at(a)])] <
           time[Flat::at(part.variables[Flat::at(b)])];
  });
  return order;
}

}  // namespace

Cost Plan::cap(const Part& part) const {
  std::vector<int> mine;
  mine.reserve(part.variables.size());
  for (const int v : part.variables) {
    mine.push_back(incumbent[Flat::at(v)]);
  }
  Cost sum = 0;
  for (const Factor& factor : part.network.factors) {
    sum += value_at(part.network, factor, mine);
  }
  return sum;
}

Plan plan_elimination(State& state, const Dual& dual, double enough, double most) {
  Plan plan;
  plan.residual = residual_of(state.live, &dual);
  plan.incumbent = values_of(plan.residual, state.live, state.known());
  plan.scale = dual.scale();
  plan.parts = split(plan.residual.network);
  const std::size_t rows = state.live_rows();
  const bool known = state.orders_rows == rows && state.orders.size() == plan.parts.size();
  for (std::size_t i = 0; i < plan.parts.size(); ++i) {
    const Part& part = plan.parts[i];
    const std::size_t variables = part.variables.size();
    if (known && state.orders[i].variables.size() == variables) {
      plan.orders.push_back(state.orders[i]);
    } else {
      plan.orders.push_back(
          best_order(part.network,
                     {sweep_order(part, plan.residual.time_forward),
                      sweep_order(part, plan.residual.time_backward)},
                     std::max(enough, cells_per_variable * static_cast<double>(variables)), most,
                     state.clock));
    }
    plan.cells += plan.orders.back().cells;
    if (plan.orders.back().variables.size() != variables) {
      continue;  // there is no order, or the clock ran out
    }
    // Small ones are not worth looking into: no more than all their tables at once.
    plan.bytes += plan.orders.back().cells <= worth_comparing
                      ? 2 * table_bytes_per_cell * plan.orders.back().cells
                      : bytes_needed(part.network, plan.orders.back(), table_bytes_per_cell);
  }
  state.orders = plan.orders;
  state.orders_rows = rows;
  return plan;
}

namespace {

// Where layers repeat, multipliers would hide it: they differ from layer to layer. The order stays.
void compare_layers(const State& state, Plan& plan) {
  Network plain = residual_of(state.live, nullptr).network;
  if (has_repeats(plain)) {
    plan.parts = split(std::move(plain));
    plan.scale = 1;
    plan.repeats = true;
  }
}

// What is known about a part: its optimum and values that reach it, or a bound.
struct Outcome {
  bool exact = false;
  Cost bound = 0;           // scaled, constant left out
  std::vector<int> values;  // empty: those of the best known assignment
};

Outcome eliminated(State& state, const Plan& plan, std::size_t i) {
  const Part& part = plan.parts[i];
  const Cost cap = plan.cap(part);
  Elimination solved = eliminate(part.network, plan.orders[i].variables, cap,
                                 {state.budget.threads, plan.repeats, &state.clock});
  state.count("cells", solved.cells);
  if (plan.repeats) {
    state.count("cells_reused", solved.reused);
  }
  return {solved.complete, solved.found ? solved.value : cap, std::move(solved.values)};
}

// A solution found below a threshold is the optimum. Thresholds that are passed in vain are bounds.
Outcome below_thresholds(State& state, const Plan& plan, std::size_t i, std::int64_t& entries) {
  const Part& part = plan.parts[i];
  const Cost cap = plan.cap(part);
  Outcome outcome;
  for (Cost threshold = cap / first_threshold;; threshold += threshold / 3 + 1) {
    threshold = std::min(threshold, cap - 1);
    Sparse found = eliminate_below(part.network, plan.orders[i].variables, threshold,
                                   {entries, state.budget.memory_bytes}, state.clock);
    state.count("sparse_entries", found.entries);
    entries = std::max<std::int64_t>(0, entries - found.entries);
    if (!found.complete) {
      return outcome;
    }
    if (found.found) {
      return {true, found.value, std::move(found.values)};
    }
    outcome.bound = threshold + 1;
    if (outcome.bound >= cap) {
      return {true, cap, {}};
    }
  }
}

// Puts the parts together: a bound, and the optimum when every part is exact.
bool conclude(State& state, const Plan& plan, const std::vector<Outcome>& outcomes) {
  std::vector<int> values = plan.incumbent;
  Cost total = 0;
  bool exact = true;
  for (std::size_t i = 0; i < plan.parts.size(); ++i) {
    const Part& part = plan.parts[i];
    total += part.network.constant + outcomes[i].bound;
    exact = exact && outcomes[i].exact;
    for (std::size_t v = 0; v < outcomes[i].values.size(); ++v) {
      values[Flat::at(part.variables[v])] = outcomes[i].values[v];
    }
  }
  state.offer(rows_of(plan.residual, state.live, values), Proof::elimination);
  if (!exact) {
    state.raise(total <= 0 ? 0 : (total + plan.scale - 1) / plan.scale, Proof::elimination);
    return state.closed();
  }
  if (state.upper < infinity) {
    systole::check(total == plan.scale * state.upper,
                   "the eliminated network's optimum is the cost of its assignment");
  }
  // Without a finite assignment the optimum of the network, where impossible conversions cost `big`, is at least that.
  state.raise(std::min(state.upper, state.live.big), Proof::elimination);
  return true;
}

}  // namespace

bool eliminate_all(State& state, Plan plan) {
  if (plan.cells >= worth_comparing) {
    compare_layers(state, plan);
  }
  std::vector<Outcome> outcomes;
  for (std::size_t i = 0; i < plan.parts.size(); ++i) {
    outcomes.push_back(eliminated(state, plan, i));
    if (!outcomes.back().exact) {
      return false;
    }
  }
  return conclude(state, plan, outcomes);
}

bool eliminate_sparsely(State& state, const Plan& plan, std::int64_t entries) {
  std::vector<Outcome> outcomes;
  for (std::size_t i = 0; i < plan.parts.size() && !state.clock.expired(); ++i) {
    if (plan.orders[i].variables.size() != plan.parts[i].variables.size()) {
      return false;  // no order was found in time
    }
    outcomes.push_back(plan.orders[i].cells < dense_cells
                           ? eliminated(state, plan, i)
                           : below_thresholds(state, plan, i, entries));
  }
  return outcomes.size() == plan.parts.size() && conclude(state, plan, outcomes);
}

}  // namespace systole::solver::exact
