// XLA's layout assignment: constraints with priorities, spread through the graph, and copies where they clash.
//
// Mandatory constraints come from operators with a single row. Then anchors (contractions and convolutions), those
// with most to lose first, take their cheapest row among those that respect what is fixed; each choice fixes the
// layouts of the tensors it touches, softly: a tensor keeps the first layout it was given, which has the higher
// priority. After each choice the new layouts spread, first forward (an operator whose input is fixed takes the
// cheapest row reading it so), then backward (an operator whose output is fixed takes the cheapest row producing it),
// until nothing follows any more. Operators never reached take their cheapest row that fits. Where a chosen row and a
// tensor's produced layout differ, a copy is paid. Modelled on XLA's pass as the paper describes it (section 2.1).
#include <algorithm>
#include <deque>

#include "compiler/solver/hints.hpp"
#include "compiler/solver/local_search.hpp"
#include "compiler/solver/strategies.hpp"

namespace systole::solver {
namespace {

class Propagation {
 public:
  Propagation(const Flat& flat, LocalSearch& search)
      : flat_(flat), search_(search), fixed_(Flat::at(flat.tensors), -1) {}

  // Takes the row that breaks the fewest fixed layouts, the cheapest of those; fixes what is still open.
  void decide(int op) {
    int best = -1;
    int fewest = 0;
    for (int row = flat_.row_begin[Flat::at(op)]; row < flat_.row_begin[Flat::at(op) + 1]; ++row) {
      const int broken = clashes(op, row);
      if (best < 0 || broken < fewest ||
          (broken == fewest && flat_.row_cost[Flat::at(row)] < flat_.row_cost[Flat::at(best)])) {
        best = row;
        fewest = broken;
      }
    }
    choose(op, best);
  }

  // An anchor insists on its cheapest row, of equals the one with fewest clashes; clashes become copies.
  void insist(int op) {
    const int cheapest = cheapest_row(flat_, op);
    int best = cheapest;
    for (int row = cheapest + 1; row < flat_.row_begin[Flat::at(op) + 1]; ++row) {
      if (flat_.row_cost[Flat::at(row)] == flat_.row_cost[Flat::at(cheapest)] &&
          clashes(op, row) < clashes(op, best)) {
        best = row;
      }
    }
    choose(op, best);
  }

  void spread() {
    while (!forward_.empty() || !backward_.empty()) {
      std::deque<int>& queue = forward_.empty() ? backward_ : forward_;
      const bool onward = !forward_.empty();
      const int tensor = queue.front();
      queue.pop_front();
      if (onward) {
        for (const int use : flat_.uses_of(tensor)) {
          follow(flat_.slot_op[Flat::at(use)]);
        }
        backward_.push_back(tensor);
      } else {
        follow(flat_.slot_op[Flat::at(flat_.producer_slot[Flat::at(tensor)])]);
      }
    }
  }

  void mark_anchor(const std::vector<bool>& anchor) { anchor_ = anchor; }

 private:
  void follow(int op) {
    if (search_.row(op) < 0 && !anchor_[Flat::at(op)]) {
      decide(op);
    }
  }

  [[nodiscard]] int clashes(int op, int row) const {
    const int* layouts = flat_.layouts_of(op, row);
    int broken = 0;
    for (int s = 0; s < flat_.slots(op); ++s) {
      const int fixed =
          fixed_[Flat::at(flat_.slot_tensor[Flat::at(flat_.slot_begin[Flat::at(op)] + s)])];
      broken += fixed >= 0 && fixed != layouts[s] ? 1 : 0;
    }
    return broken;
  }

  void choose(int op, int row) {
    search_.choose(op, row);
    const int* layouts = flat_.layouts_of(op, row);
    for (int s = 0; s < flat_.slots(op); ++s) {
      const int tensor = flat_.slot_tensor[Flat::at(flat_.slot_begin[Flat::at(op)] + s)];
      if (fixed_[Flat::at(tensor)] < 0) {
        fixed_[Flat::at(tensor)] = layouts[s];
        forward_.push_back(tensor);
      }
    }
  }

  const Flat& flat_;
  LocalSearch& search_;
  std::vector<int> fixed_;  // per tensor: its constraint, -1 none yet
  std::vector<bool> anchor_;
  std::deque<int> forward_;
  std::deque<int> backward_;
};

}  // namespace

Result run_xla(const Problem& problem, const Budget& /*budget*/) {
  if (row_bound(problem) >= infinity) {
    return heuristic_result(problem, {});
  }
  const Flat flat = flatten(problem);
  LocalSearch search(flat);
  Propagation propagation(flat, search);
  const std::vector<bool> anchor = anchors(problem, flat);
  propagation.mark_anchor(anchor);
  for (const int op : flat.topological) {
    if (flat.rows(op) == 1) {
      propagation.insist(op);
    }
  }
  for (const int op : by_falling_spread(flat, anchor)) {
    if (search.row(op) < 0) {
      propagation.insist(op);
      propagation.spread();
    }
  }
  propagation.spread();
  for (const int op : flat.topological) {
    if (search.row(op) < 0) {
      propagation.decide(op);
      propagation.spread();
    }
  }
  return heuristic_result(problem, search.assignment());
}

}  // namespace systole::solver
