// SmartMem: operators fall into four classes by two questions - does the price depend on the input layouts, and can the
// output layout be chosen freely of them - and conversions are avoided by producing what will be wanted.
//
//   dependent, variable    decides: takes its cheapest row, and its inputs are wanted in that row's layouts
//   dependent, fixed       decides in the same way; its output follows
//   independent, variable  passes wishes on: produces the layout wanted most by those behind it
//   independent, fixed     passes wishes on through its row; neither wants nor chooses
//
// Wishes travel from consumers to producers, weighted by what the wishing operator loses with its dearest row; then
// operators are settled in topological order. The classes are read off the rows. After SmartMem (ASPLOS 2024) as the
// paper summarises it.
#include <algorithm>
#include <map>

#include "compiler/solver/hints.hpp"
#include "compiler/solver/local_search.hpp"
#include "compiler/solver/strategies.hpp"

namespace systole::solver {
namespace {

enum class Kind { dependent_variable, dependent_fixed, independent_variable, independent_fixed };

Kind classify(const Flat& flat, int op) {
  // Per combination of input layouts: cheapest row, and whether several outputs are on offer.
  std::map<std::vector<int>, std::pair<Cost, int>> by_inputs;  // cost, output
  bool variable = flat.inputs(op) == 0 && flat.rows(op) > 1;
  for (int row = flat.row_begin[Flat::at(op)]; row < flat.row_begin[Flat::at(op) + 1]; ++row) {
    const int* layouts = flat.layouts_of(op, row);
    const std::vector<int> inputs(layouts, layouts + flat.inputs(op));
    const Cost cost = flat.row_cost[Flat::at(row)];
    const auto [entry, fresh] = by_inputs.insert({inputs, {cost, layouts[flat.inputs(op)]}});
    if (!fresh) {
      variable = variable || entry->second.second != layouts[flat.inputs(op)];
      entry->second.first = std::min(entry->second.first, cost);
    }
  }
  Cost least = infinity;
  Cost most = 0;
  for (const auto& [inputs, cheapest] : by_inputs) {
    least = std::min(least, cheapest.first);
    most = std::max(most, cheapest.first);
  }
  // A tenth more or less is still "independent".
  const bool dependent = flat.inputs(op) > 0 && most > least + least / 10;
  if (dependent) {
    return variable ? Kind::dependent_variable : Kind::dependent_fixed;
  }
  return variable ? Kind::independent_variable : Kind::independent_fixed;
}

bool decides(Kind kind) {
  return kind == Kind::dependent_variable || kind == Kind::dependent_fixed;
}

class Wishes {
 public:
  explicit Wishes(const Flat& flat) : flat_(flat) {
    for (int tensor = 0; tensor < flat.tensors; ++tensor) {
      votes_.emplace_back(Flat::at(flat.layouts[Flat::at(tensor)]), 0);
    }
    for (int op = 0; op < flat.operators; ++op) {
      kind_.push_back(classify(flat, op));
    }
  }

  // Consumers before producers, so an operator's output has all its votes when it passes them on.
  void collect() {
    for (auto at = flat_.topological.rbegin(); at != flat_.topological.rend(); ++at) {
      const int op = *at;
      if (decides(kind_[Flat::at(op)])) {
        vote(op, cheapest_row(flat_, op), cost_spread(flat_, op) + 1);
      } else {
        const int output = flat_.output(op);
        const int layout = wanted(output);
        const int row = layout < 0 ? -1 : cheapest_with_output(op, layout);
        if (row >= 0) {
          vote(op, row, votes_[Flat::at(output)][Flat::at(layout)]);
        }
      }
    }
  }

  void settle(LocalSearch& search) const {
    for (const int op : flat_.topological) {
      const int layout = wanted(flat_.output(op));
      int best = -1;
      Cost least = 0;
      for (int row = flat_.row_begin[Flat::at(op)]; row < flat_.row_begin[Flat::at(op) + 1];
           ++row) {
        const int* layouts = flat_.layouts_of(op, row);
        const bool free = kind_[Flat::at(op)] == Kind::dependent_variable ||
                          kind_[Flat::at(op)] == Kind::independent_variable;
        if (free && layout >= 0 && layouts[flat_.inputs(op)] != layout &&
            cheapest_with_output(op, layout) >= 0) {
          continue;  // the output is produced as wanted
        }
        const Cost cost = search.price(op, row);
        if (best < 0 || cost < least) {
          best = row;
          least = cost;
        }
      }
      search.choose(op, best);
    }
  }

 private:
  void vote(int op, int row, Cost weight) {
    const int* layouts = flat_.layouts_of(op, row);
    for (int s = 0; s < flat_.inputs(op); ++s) {
      const int tensor = flat_.slot_tensor[Flat::at(flat_.slot_begin[Flat::at(op)] + s)];
      Cost& votes = votes_[Flat::at(tensor)][Flat::at(layouts[s])];
      votes = add(votes, weight);
    }
  }

  // The layout with most votes, the first on ties; -1 when nobody wishes.
  [[nodiscard]] int wanted(int tensor) const {
    const std::vector<Cost>& votes = votes_[Flat::at(tensor)];
    const auto most = std::max_element(votes.begin(), votes.end());
    return *most == 0 ? -1 : static_cast<int>(most - votes.begin());
  }

  [[nodiscard]] int cheapest_with_output(int op, int layout) const {
    int best = -1;
    for (int row = flat_.row_begin[Flat::at(op)]; row < flat_.row_begin[Flat::at(op) + 1]; ++row) {
      if (flat_.layouts_of(op, row)[flat_.inputs(op)] == layout &&
          (best < 0 || flat_.row_cost[Flat::at(row)] < flat_.row_cost[Flat::at(best)])) {
        best = row;
      }
    }
    return best;
  }

  const Flat& flat_;
  std::vector<Kind> kind_;
  std::vector<std::vector<Cost>> votes_;  // per tensor and layout
};

}  // namespace

Result run_smartmem(const Problem& problem, const Budget& /*budget*/) {
  if (row_bound(problem) >= infinity) {
    return heuristic_result(problem, {});
  }
  const Flat flat = flatten(problem);
  Wishes wishes(flat);
  wishes.collect();
  LocalSearch search(flat);
  wishes.settle(search);
  return heuristic_result(problem, search.assignment());
}

}  // namespace systole::solver
