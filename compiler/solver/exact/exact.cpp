// The exact strategy: bounds first, elimination for what bounds leave open.
//
//  1. Dominated rows go. 2. Dual ascent raises a lower bound; every few sweeps the multipliers are rounded to an
//  assignment, improved by local search, and rows that cannot be part of anything better are removed. 3. If bound and
//  cost meet, that is the proof. 4. Otherwise what is left becomes a cost network over layout variables, falls into
//  parts that share nothing, and every part is solved by variable elimination in the cheapest order found.
#include <algorithm>

#include "compiler/solver/exact/clock.hpp"
#include "compiler/solver/exact/dual.hpp"
#include "compiler/solver/exact/eliminate.hpp"
#include "compiler/solver/exact/order.hpp"
#include "compiler/solver/exact/residual.hpp"
#include "compiler/solver/strategies.hpp"

namespace systole::solver {
namespace exact {
namespace {

Cost scale_for(Cost big) {
  for (const Cost scale : {256, 16}) {
    if (big < (Cost{1} << 48) / scale) {
      return scale;
    }
  }
  return 1;
}

class Solver {
 public:
  Solver(const Problem& problem, const Budget& budget)
      : problem_(problem),
        budget_(budget),
        clock_(budget.seconds),
        flat_(flatten(problem)),
        live_(all_alive(flat_)) {}

  Result run() {
    count("rows", static_cast<std::int64_t>(flat_.row_cost.size()));
    count("rows_dominated", remove_dominated(live_));
    Dual dual(live_, scale_for(live_.big));
    ascend(dual);
    if (lower_ < upper_) {
      eliminate_rest(dual);
    }
    return finish();
  }

 private:
  void count(const char* name, std::int64_t value) { result_.stats.push_back({name, value}); }

  void ascend(Dual& dual) {
    std::int64_t sweeps = 0;
    std::int64_t pruned = 0;
    for (int round = 0; round < 6 && lower_ < upper_ && !clock_.expired(); ++round) {
      for (int i = 0; i < 10; ++i) {
        dual.sweep();
        ++sweeps;
      }
      lower_ = std::max(lower_, dual.bound());
      LocalSearch search(flat_);
      dual.round(search);
      search.improve_all(std::int64_t{1} << 40);
      offer(search);
      if (upper_ < infinity && lower_ < upper_) {
        pruned += dual.prune(live_, upper_);
      }
    }
    count("sweeps", sweeps);
    count("rows_pruned", pruned);
    if (lower_ >= upper_) {
      proof_ = Proof::bounds;
    }
  }

  void offer(const LocalSearch& search) {
    Assignment assignment = search.assignment();
    const Cost cost = evaluate(problem_, assignment);
    if (cost < upper_) {
      upper_ = cost;
      best_ = std::move(assignment);
      best_rows_.clear();
      for (int op = 0; op < flat_.operators; ++op) {
        best_rows_.push_back(search.row(op));
      }
    }
  }

  void eliminate_rest(Dual& dual) {
    const Residual residual = residual_of(live_, dual);
    const std::vector<int> incumbent = values_of(residual, live_, best_rows_);
    std::vector<int> values = incumbent;
    count("variables", static_cast<std::int64_t>(residual.network.domain.size()));
    std::vector<Part> parts = split(residual.network);
    count("parts", static_cast<std::int64_t>(parts.size()));
    std::int64_t cells = 0;
    double largest = 0;
    bool complete = true;
    for (const Part& part : parts) {
      std::vector<int> mine;
      for (const int v : part.variables) {
        mine.push_back(incumbent[Flat::at(v)]);
      }
      Cost cap = 0;
      for (const Factor& factor : part.network.factors) {
        cap += value_at(part.network, factor, mine);
      }
      std::vector<std::vector<int>> sweeps;
      for (const std::vector<int>* time : {&residual.time_forward, &residual.time_backward}) {
        std::vector<int> order(part.variables.size());
        for (std::size_t i = 0; i < order.size(); ++i) {
          order[i] = static_cast<int>(i);
        }
        std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
          return (*time)[Flat::at(part.variables[Flat::at(a)])] <
                 (*time)[Flat::at(part.variables[Flat::at(b)])];
        });
        sweeps.push_back(std::move(order));
      }
      const Order order = best_order(part.network, sweeps, 3e6);
      largest = std::max(largest, order.largest);
      if (order.cells > 2e10) {
        complete = false;
        continue;
      }
      const Elimination solved = eliminate(part.network, order.variables, cap, budget_.threads);
      cells += solved.cells;
      for (std::size_t i = 0; i < part.variables.size() && solved.found; ++i) {
        values[Flat::at(part.variables[i])] = solved.values[i];
      }
    }
    count("cells", cells);
    count("largest_bag", static_cast<std::int64_t>(std::min(largest, 1e18)));
    adopt(rows_of(residual, live_, values));
    if (complete) {
      lower_ = upper_;
      proof_ = Proof::elimination;
    }
  }

  void adopt(const std::vector<int>& rows) {
    Assignment assignment;
    for (const int row : rows) {
      assignment.row.add(flat_.row_index[Flat::at(row)]);
    }
    const Cost cost = evaluate(problem_, assignment);
    systole::check(cost <= upper_, "elimination does not lose what was known");
    upper_ = cost;
    best_ = std::move(assignment);
  }

  Result finish() {
    result_.bound = std::min(lower_, upper_);
    result_.cost = upper_;
    result_.assignment = best_;
    result_.status = lower_ >= upper_ ? Status::proven : Status::feasible;
    result_.proof = lower_ >= upper_ ? proof_ : Proof::none;
    return std::move(result_);
  }

  const Problem& problem_;
  const Budget& budget_;
  Clock clock_;
  Flat flat_;
  Live live_;
  Result result_;
  Cost lower_ = 0;
  Cost upper_ = infinity;
  Assignment best_;
  std::vector<int> best_rows_;
  Proof proof_ = Proof::none;
};

}  // namespace
}  // namespace exact

Result run_exact(const Problem& problem, const Budget& budget) {
  return exact::Solver(problem, budget).run();
}

}  // namespace systole::solver
