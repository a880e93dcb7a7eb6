#include "compiler/solver/exact/attempt.hpp"

#include <algorithm>
#include <numeric>

#include "compiler/solver/exact/eliminate.hpp"

namespace systole::solver::exact {
namespace {

constexpr double table_bytes_per_cell = 4;

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
  plan.residual = residual_of(state.live, dual);
  plan.incumbent = values_of(plan.residual, state.live, state.known());
  plan.scale = dual.scale();
  plan.parts = split(plan.residual.network);
  for (const Part& part : plan.parts) {
    plan.orders.push_back(best_order(part.network,
                                     {sweep_order(part, plan.residual.time_forward),
                                      sweep_order(part, plan.residual.time_backward)},
                                     enough));
    plan.cells += plan.orders.back().cells;
    plan.bytes += bytes_needed(part.network, plan.orders.back(), table_bytes_per_cell);
  }
  return plan;
}

void eliminate_all(State& state, const Plan& plan) {
  std::vector<int> values = plan.incumbent;
  for (std::size_t i = 0; i < plan.parts.size(); ++i) {
    const Part& part = plan.parts[i];
    const Elimination solved =
        eliminate(part.network, plan.orders[i].variables, plan.cap(part), state.budget.threads);
    state.count("cells", solved.cells);
    for (std::size_t v = 0; v < part.variables.size() && solved.found; ++v) {
      values[Flat::at(part.variables[v])] = solved.values[v];
    }
  }
  const std::vector<int> rows = rows_of(plan.residual, state.live, values);
  state.offer(rows, Proof::elimination);
  // Without a finite assignment the optimum of the network, where impossible conversions cost `big`, is at least that.
  state.raise(std::min(state.upper, state.live.big), Proof::elimination);
}

}  // namespace systole::solver::exact
