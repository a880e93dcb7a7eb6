// Lower bounds by dual ascent, and what follows from them: rounding and pruning.
//
// The objective is split into one factor per operator (its rows) and one per tensor (its conversions); both see the
// layout at each argument slot. A multiplier phi(label) is added on the operator's side and subtracted on the
// tensor's; for every phi the sum of the factors' minima is a lower bound. Sweeps in topological order and back move
// each factor's slack along, which raises the bound monotonically in practice and never makes it invalid.
// Costs are multiplied by `scale` so that dividing slack among neighbours in whole numbers loses little.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/solver/exact/live.hpp"
#include "compiler/solver/local_search.hpp"

namespace systole::solver::exact {

class Dual {
 public:
  // Largest number of layouts of a tensor whose requested sets are enumerated; beyond, conversions are bounded from
  // below by charging pairs of uses their share.
  static constexpr int max_set_layouts = 8;

  Dual(const Live& live, Cost scale);

  // To be called after rows were removed from live.
  void refresh();
  void sweep();  // forward and backward
  // Bound times scale for the present multipliers.
  [[nodiscard]] Cost scaled_bound();
  [[nodiscard]] Cost bound() { return (scaled_bound() + scale_ - 1) / scale_; }
  // Chooses rows in topological order by reduced cost plus conversions of what is decided already.
  void round(LocalSearch& search);
  // Removes every row that no solution of cost <= upper can use. Returns the number removed; calls refresh itself.
  std::int64_t prune(Live& live, Cost upper);

  [[nodiscard]] Cost scale() const { return scale_; }
  [[nodiscard]] Cost phi(int label) const { return phi_[Flat::at(label)]; }

 private:
  enum class Kind : std::uint8_t { constant, unused, pair, sets, shares };
  enum class Want : std::uint8_t { least, producer, uses, all };  // which marginals to compute
  struct TensorShape {
    Kind kind = Kind::constant;
    int count = 0;            // live layouts
    std::size_t layouts = 0;  // start in compact_layouts_
    std::size_t conversion =
        0;                     // start in compact_conversion_; [from][to] over live layouts, scaled
    std::size_t set_cost = 0;  // start in set_cost_; [from][set], scaled
  };

  Cost op_minimum(int op) const;
  void op_forward(int op);
  void op_backward(int op);
  // Fills producer_marginal_ and use_marginal_ of the tensor over its live layouts, as wanted; returns the minimum.
  Cost tensor_marginals(int tensor, Want want);
  Cost pair_marginals(const TensorShape& shape, Want want);
  Cost set_marginals(int tensor, const TensorShape& shape, Want want);
  Cost share_marginals(int tensor, const TensorShape& shape);
  void load_uses(int tensor, const TensorShape& shape);
  void tensor_forward(int tensor);
  void tensor_backward(int tensor);
  void load_producer(int tensor, const TensorShape& shape);
  Cost row_reduced(int op, int row) const;
  void build_shape(int tensor);

  const Live& live_;
  const Flat& flat_;
  Cost scale_;
  std::vector<Cost>
      phi_;  // per label; minus forbidden where dead, so that the tensors' side never takes it
  std::vector<TensorShape> shape_;
  std::vector<int> compact_layouts_;
  std::vector<Cost> compact_conversion_;
  std::vector<Cost> set_cost_;
  // Scratch of one tensor: minus phi, and marginals, over live layouts (uses one after another).
  std::vector<Cost> producer_cost_, use_cost_, producer_marginal_, use_marginal_;
  std::vector<Cost> set_least_, set_sum_, alone_, group_least_;
};

}  // namespace systole::solver::exact
