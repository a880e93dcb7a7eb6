#include "compiler/solver/exact/refine.hpp"

#include <algorithm>
#include <limits>
#include <set>

#include "compiler/solver/exact/attempt.hpp"
#include "compiler/solver/exact/mini_buckets.hpp"
#include "compiler/solver/exact/neighbourhood.hpp"
#include "compiler/solver/exact/search.hpp"

namespace systole::solver::exact {
namespace {

constexpr int sweeps_per_round = 10;
constexpr std::int64_t default_work =
    4'000'000'000;  // cells, when neither work nor seconds are given
constexpr std::int64_t cells_per_round = 100'000'000;
constexpr std::int64_t cells_to_warm_up = 10'000'000;
constexpr double first_group = 2e4;  // mini-bucket limits: first, growth per round, last
constexpr double group_growth = 8;
constexpr double last_group = 1e7;
constexpr double any_cells = std::numeric_limits<double>::infinity();
constexpr double worth_sparse = 1e7;  // cells of a plan
constexpr double most_in_vain =
    2e8;  // cells that may be spent on them before anything else is tried
constexpr double cells_per_entry = 40;  // of equal time
constexpr std::int64_t first_entries =
    1'000'000;  // of sparse elimination in a round; doubled every round
constexpr ConflictLimits last_resort{1'000'000, std::numeric_limits<std::int64_t>::max()};
constexpr double worth_search = 5e7;        // cells of a plan
constexpr double cells_per_conflict = 4e3;  // of equal time
constexpr std::size_t few = 8;  // different positive costs: the sign of a combinatorial core

// Unit-like costs make bounds by cost splitting useless and cores short.
bool few_costs(const State& state) {
  std::set<Cost> seen;
  const auto collect = [&](const std::vector<Cost>& costs) {
    for (const Cost cost : costs) {
      if (cost > 0 && cost < infinity && seen.size() <= few) {
        seen.insert(cost);
      }
    }
  };
  collect(state.flat.row_cost);
  collect(state.flat.conversion);
  return seen.size() <= few;
}

// A gap in which lists could be short: an eighth.
bool narrow(const State& state) {
  return state.upper < infinity && state.lower >= state.upper - state.upper / 8;
}

class Refinement {
 public:
  Refinement(State& state, Dual& dual) : state_(state), dual_(dual) {
    limit_ = state.budget.work > 0      ? state.budget.work
             : state.budget.seconds > 0 ? std::int64_t{1} << 60
                                        : default_work;
  }

  // A first improvement of the assignment, for a search that holds none of its own until it ends.
  void warm_up(const Plan& plan) { neighbourhoods(plan, 1, cells_to_warm_up); }

  void run() {
    double group = first_group;
    Cost last_lower = 0;
    std::size_t last_rows = state_.live_rows();
    Plan plan = plan_elimination(state_, dual_, 1e7, any_cells);
    for (std::uint64_t round = 1; !state_.stopped() && work_ < limit_; ++round) {
      neighbourhoods(plan, round, cells_per_round);
      if (group <= last_group && !state_.stopped()) {
        bound_by_groups(plan, group);
        group *= group_growth;
      } else if (state_.lower == last_lower && round > 40 && state_.budget.seconds <= 0) {
        break;  // nothing has moved for long
      }
      if (!state_.stopped() && narrow(state_)) {
        below_thresholds(plan, round);
      }
      last_lower = state_.lower;
      for (int i = 0; i < 3 && round <= 4 && !state_.stopped(); ++i) {
        ascend(state_, dual_);
      }
      if (state_.stopped()) {
        return;
      }
      if (state_.live_rows() != last_rows || round <= 4) {
        last_rows = state_.live_rows();
        plan = plan_elimination(state_, dual_, 1e7, any_cells);
      } else {
        plan.incumbent = values_of(plan.residual, state_.live, state_.known());
      }
    }
  }

 private:
  void neighbourhoods(const Plan& plan, std::uint64_t seed, std::int64_t cells) {
    std::vector<int> values = plan.incumbent;
    std::size_t variables = 0;
    for (const Part& part : plan.parts) {
      variables += part.variables.size();
    }
    for (const Part& part : plan.parts) {
      std::vector<int> mine;
      for (const int v : part.variables) {
        mine.push_back(values[Flat::at(v)]);
      }
      const auto share =
          static_cast<std::int64_t>(static_cast<double>(cells) * static_cast<double>(mine.size()) /
                                    static_cast<double>(std::max<std::size_t>(1, variables)));
      const Improvement step =
          improve_by_neighbourhoods(part.network, mine, share, seed, state_.clock);
      state_.count("neighbourhoods", step.solved);
      state_.count("cells", step.cells);
      work_ += share;
      for (std::size_t i = 0; i < mine.size(); ++i) {
        values[Flat::at(part.variables[i])] = mine[i];
      }
    }
    const std::vector<int> rows = rows_of(plan.residual, state_.live, values);
    LocalSearch polished(state_.flat, &state_.live.row_alive);
    for (int op = 0; op < state_.flat.operators; ++op) {
      polished.choose(op, rows[Flat::at(op)]);
    }
    polished.improve_all(std::int64_t{1} << 40);
    state_.offer(rows, Proof::bounds);
    state_.offer(polished, Proof::bounds);
  }

  void bound_by_groups(const Plan& plan, double group) {
    Cost sum = 0;
    for (std::size_t i = 0; i < plan.parts.size(); ++i) {
      const Part& part = plan.parts[i];
      if (plan.orders[i].variables.size() != part.variables.size()) {
        return;  // no order was found in time
      }
      const MiniBuckets found = mini_buckets(part.network, plan.orders[i].variables, group,
                                             plan.cap(part) + 1, state_.clock);
      state_.count("mini_bucket_cells", found.cells);
      work_ += found.cells;
      if (!found.complete) {
        return;
      }
      sum += part.network.constant + found.bound;
    }
    state_.raise(sum <= 0 ? 0 : (sum + plan.scale - 1) / plan.scale, Proof::elimination);
  }

  // As much again as all rounds before; an attempt that failed is not repeated with the same means.
  void below_thresholds(const Plan& plan, std::uint64_t round) {
    const std::int64_t most = state_.budget.memory_bytes / 8;
    const std::int64_t entries =
        std::min(most, first_entries << std::min<std::uint64_t>(round, 20));
    if (entries < most || !spent_) {
      spent_ = entries >= most;
      eliminate_sparsely(state_, plan, entries);
      work_ += entries * static_cast<std::int64_t>(cells_per_entry);
    }
  }

  State& state_;
  Dual& dual_;
  bool spent_ = false;  // the largest sparse attempt was made
  std::int64_t limit_ = 0;
  std::int64_t work_ = 0;
};

}  // namespace

void ascend(State& state, Dual& dual) {
  for (int i = 0; i < sweeps_per_round; ++i) {
    dual.sweep();
  }
  state.count("sweeps", sweeps_per_round);
  state.raise(dual.bound(), Proof::bounds);
  LocalSearch search(state.flat, &state.live.row_alive);
  dual.round(search);
  state.count("rows_priced", search.improve_all(std::int64_t{1} << 40));
  state.offer(search, Proof::bounds);
  if (state.upper < infinity && !state.closed()) {
    state.count("rows_pruned", dual.prune(state.live, state.upper));
  }
}

bool try_elimination(State& state, Dual& dual, double cells) {
  Plan plan = plan_elimination(state, dual, 2e5, narrow(state) ? any_cells : cells);
  // Lists under the gap first, for a tenth of what the tables would cost: nothing else tells whether they are short.
  const double affordable = plan.cells > cells ? std::min(cells, most_in_vain) : plan.cells;
  if (plan.cells > worth_sparse && narrow(state) &&
      eliminate_sparsely(state, plan,
                         static_cast<std::int64_t>(affordable / cells_per_entry / 10))) {
    return true;
  }
  if (plan.cells > cells || plan.bytes > static_cast<double>(state.budget.memory_bytes)) {
    return false;
  }
  // Where cores are short they are found long before the tables are full: as long as filling them would take.
  if (plan.cells > worth_search && few_costs(state)) {
    Refinement(state, dual).warm_up(plan);
    const auto conflicts = static_cast<std::int64_t>(plan.cells / cells_per_conflict);
    if (!state.stopped()) {
      search(state, {last_resort.per_call, conflicts});
    }
    if (state.stopped()) {
      return state.closed();
    }
    plan.incumbent = values_of(plan.residual, state.live, state.known());
  }
  state.count("variables", static_cast<std::int64_t>(plan.residual.network.domain.size()));
  state.count("parts", static_cast<std::int64_t>(plan.parts.size()));
  return eliminate_all(state, std::move(plan));
}

void refine(State& state, Dual& dual) {
  const bool combinatorial = few_costs(state);
  if (combinatorial && !state.stopped()) {
    Refinement(state, dual).warm_up(plan_elimination(state, dual, 1e7, any_cells));
  }
  if (combinatorial && !state.stopped()) {
    search(state, last_resort);
  }
  if (!state.stopped()) {
    Refinement(state, dual).run();
  }
  if (!combinatorial && !state.stopped() && state.budget.seconds > 0) {
    search(state, last_resort);
  }
}

}  // namespace systole::solver::exact
