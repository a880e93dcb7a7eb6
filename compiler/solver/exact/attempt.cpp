#include "compiler/solver/exact/attempt.hpp"

#include <algorithm>
#include <numeric>

#include "compiler/solver/exact/eliminate.hpp"
#include "compiler/solver/exact/repeats.hpp"

namespace systole::solver::exact {
namespace {

constexpr double table_bytes_per_cell = 4;
// Looking for repeated layers pays from here on.
constexpr double worth_comparing = 1e6;
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

Plan plan_elimination(const State& state, const Dual& dual, double enough) {
  Plan plan;
  plan.residual = residual_of(state.live, &dual);
  plan.incumbent = values_of(plan.residual, state.live, state.known());
  plan.scale = dual.scale();
  plan.parts = split(plan.residual.network);
  for (const Part& part : plan.parts) {
    plan.orders.push_back(best_order(
        part.network,
        {sweep_order(part, plan.residual.time_forward),
         sweep_order(part, plan.residual.time_backward)},
        std::max(enough, cells_per_variable * static_cast<double>(part.variables.size())),
        state.clock));
    plan.cells += plan.orders.back().cells;
    if (plan.orders.back().variables.size() != part.variables.size()) {
      continue;  // the clock ran out
    }
    plan.bytes += bytes_needed(part.network, plan.orders.back(), table_bytes_per_cell);
  }
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

}  // namespace

bool eliminate_all(State& state, Plan plan) {
  if (plan.cells >= worth_comparing) {
    compare_layers(state, plan);
  }
  std::vector<int> values = plan.incumbent;
  Cost total = 0;  // of the optimum, scaled
  for (std::size_t i = 0; i < plan.parts.size(); ++i) {
    const Part& part = plan.parts[i];
    const Cost cap = plan.cap(part);
    const Elimination solved = eliminate(part.network, plan.orders[i].variables, cap,
                                         {state.budget.threads, plan.repeats, &state.clock});
    state.count("cells", solved.cells);
    if (plan.repeats) {
      state.count("cells_reused", solved.reused);
    }
    if (!solved.complete) {
      return false;
    }
    total += part.network.constant + (solved.found ? solved.value : cap);
    for (std::size_t v = 0; v < part.variables.size() && solved.found; ++v) {
      values[Flat::at(part.variables[v])] = solved.values[v];
    }
  }
  state.offer(rows_of(plan.residual, state.live, values), Proof::elimination);
  if (state.upper < infinity) {
    systole::check(total == plan.scale * state.upper,
                   "the eliminated network's optimum is the cost of its assignment");
  }
  // Without a finite assignment the optimum of the network, where impossible conversions cost `big`, is at least that.
  state.raise(std::min(state.upper, state.live.big), Proof::elimination);
  return true;
}

}  // namespace systole::solver::exact
