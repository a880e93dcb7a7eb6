// Dominance between the rows of one operator.
//
// Row a is replaceable by row b when, whatever the rest of the solution does,
//   cost(b) + (most that producing b's output layout instead of a's can add)
//           + sum over inputs (most that reading b's layout instead of a's can add) <= cost(a).
// Output: at most min(n, k) distinct layouts are requested, so the most is the sum of that many largest positive
// differences of conversion costs. Input: the request for b's layout may be new, costing Ctr(p, lb); the request for
// a's layout certainly disappears only if this slot is the tensor's only use.
#include <algorithm>
#include <functional>

#include "compiler/solver/exact/live.hpp"

namespace systole::solver::exact {
namespace {

class Dominance {
 public:
  explicit Dominance(Live& live) : live_(live), flat_(*live.flat) {}

  std::int64_t run() {
    std::int64_t removed = 0;
    for (int op = 0; op < flat_.operators; ++op) {
      removed += thin_out(op);
    }
    return removed;
  }

 private:
  std::int64_t thin_out(int op) {
    std::int64_t removed = 0;
    for (int i = 0; i < live_.count[Flat::at(op)];) {
      bool dead = false;
      for (int j = 0; j < live_.count[Flat::at(op)] && !dead; ++j) {
        dead = i != j && replaceable(op, live_.rows(op)[Flat::at(i)], live_.rows(op)[Flat::at(j)]);
      }
      if (dead) {
        live_.remove(op, i);
        ++removed;
      } else {
        ++i;
      }
    }
    return removed;
  }

  // Removal is one at a time among the live rows, so mutual replacement cannot empty an operator.
  bool replaceable(int op, int a, int b) {
    const Cost allowance = flat_.row_cost[Flat::at(a)] - flat_.row_cost[Flat::at(b)];
    if (allowance < 0) {
      return false;
    }
    const int* from = flat_.layouts_of(op, a);
    const int* to = flat_.layouts_of(op, b);
    const int inputs = flat_.inputs(op);
    const int begin = flat_.slot_begin[Flat::at(op)];
    Cost extra = output_extra(flat_.output(op), from[inputs], to[inputs]);
    for (int s = 0; s < inputs && extra <= allowance; ++s) {
      extra += input_extra(flat_.slot_tensor[Flat::at(begin + s)], from[s], to[s]);
    }
    return extra <= allowance;
  }

  Cost output_extra(int tensor, int la, int lb) {
    const int uses = flat_.uses(tensor);
    if (la == lb || uses == 0) {
      return 0;
    }
    const int k = flat_.layouts[Flat::at(tensor)];
    differences_.clear();
    for (int x = 0; x < k; ++x) {
      differences_.push_back(
          std::max(Cost{0}, live_.convert(tensor, lb, x) - live_.convert(tensor, la, x)));
    }
    const int most = std::min(uses, k);
    std::partial_sort(differences_.begin(), differences_.begin() + most, differences_.end(),
                      std::greater<>());
    Cost sum = 0;
    for (int i = 0; i < most; ++i) {
      sum = add(sum, differences_[Flat::at(i)]);
    }
    return sum;
  }

  Cost input_extra(int tensor, int la, int lb) const {
    if (la == lb) {
      return 0;
    }
    const bool only = flat_.uses(tensor) == 1;
    const int producer = flat_.producer_slot[Flat::at(tensor)];
    Cost most = 0;
    for (int p = 0; p < flat_.layouts[Flat::at(tensor)]; ++p) {
      if (live_.alive(producer, p)) {
        most = std::max(most,
                        live_.convert(tensor, p, lb) - (only ? live_.convert(tensor, p, la) : 0));
      }
    }
    return most;
  }

  Live& live_;
  const Flat& flat_;
  std::vector<Cost> differences_;
};

}  // namespace

std::int64_t remove_dominated(Live& live) {
  return Dominance(live).run();
}

}  // namespace systole::solver::exact
