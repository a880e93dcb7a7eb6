// NeoCPU: dynamic programming over the graph in which only convolutions (and contractions) have prices of their own;
// everything else is layout-tolerant and follows.
//
//   f(o, r) = cost(r) if o is an anchor else 0, plus for each input the cheapest way to have it in the row's layout:
//   g(t, l) = min over the producer's rows r' of f(o', r') / uses(t) + Ctr(layout produced by r', l)
//
// A tensor with several uses is a join; dividing its history among the uses is the approximation. Choices are taken
// from the outputs back: an operator's row minimises f plus the conversions to what its decided consumers asked for,
// with its own true cost breaking the indifference of tolerant operators. After NeoCPU (ATC 2019) as the paper
// summarises it.
#include <algorithm>

#include "compiler/solver/hints.hpp"
#include "compiler/solver/local_search.hpp"
#include "compiler/solver/strategies.hpp"

namespace systole::solver {
namespace {

class Programme {
 public:
  Programme(const Problem& problem, const Flat& flat)
      : flat_(flat), anchor_(anchors(problem, flat)), value_(flat.row_cost.size(), 0) {}

  void forward() {
    reach_.resize(Flat::at(flat_.tensors));
    for (const int op : flat_.topological) {
      const int begin = flat_.slot_begin[Flat::at(op)];
      const int inputs = flat_.inputs(op);
      for (int row = flat_.row_begin[Flat::at(op)]; row < flat_.row_begin[Flat::at(op) + 1];
           ++row) {
        const int* layouts = flat_.layouts_of(op, row);
        Cost sum = anchor_[Flat::at(op)] ? flat_.row_cost[Flat::at(row)] : 0;
        for (int s = 0; s < inputs; ++s) {
          sum = add(sum,
                    reach_[Flat::at(flat_.slot_tensor[Flat::at(begin + s)])][Flat::at(layouts[s])]);
        }
        value_[Flat::at(row)] = sum;
      }
      extend(op);
    }
  }

  void backward(LocalSearch& search) const {
    for (auto at = flat_.topological.rbegin(); at != flat_.topological.rend(); ++at) {
      const int op = *at;
      int best = -1;
      Cost least = 0;
      for (int row = flat_.row_begin[Flat::at(op)]; row < flat_.row_begin[Flat::at(op) + 1];
           ++row) {
        // Producers are undecided, so price is the row's cost plus conversions to decided consumers.
        const Cost own =
            search.price(op, row) - (anchor_[Flat::at(op)] ? flat_.row_cost[Flat::at(row)] : 0);
        const Cost cost = add(value_[Flat::at(row)], own);
        if (best < 0 || cost < least) {
          best = row;
          least = cost;
        }
      }
      search.choose(op, best);
    }
  }

 private:
  // g of the tensor that op produces.
  void extend(int op) {
    const int tensor = flat_.output(op);
    const int k = flat_.layouts[Flat::at(tensor)];
    const Cost shares = std::max(1, flat_.uses(tensor));
    std::vector<Cost>& reach = reach_[Flat::at(tensor)];
    reach.assign(Flat::at(k), infinity);
    for (int row = flat_.row_begin[Flat::at(op)]; row < flat_.row_begin[Flat::at(op) + 1]; ++row) {
      const int from = flat_.layouts_of(op, row)[flat_.inputs(op)];
      for (int to = 0; to < k; ++to) {
        reach[Flat::at(to)] = std::min(reach[Flat::at(to)], add(value_[Flat::at(row)] / shares,
                                                                flat_.convert(tensor, from, to)));
      }
    }
  }

  const Flat& flat_;
  std::vector<bool> anchor_;
  std::vector<Cost> value_;               // f per row
  std::vector<std::vector<Cost>> reach_;  // g per tensor and layout
};

}  // namespace

Result run_neocpu(const Problem& problem, const Budget& /*budget*/) {
  if (row_bound(problem) >= infinity) {
    return heuristic_result(problem, {});
  }
  const Flat flat = flatten(problem);
  Programme programme(problem, flat);
  programme.forward();
  LocalSearch search(flat);
  programme.backward(search);
  return heuristic_result(problem, search.assignment());
}

}  // namespace systole::solver
