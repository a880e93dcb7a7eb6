// What the multipliers are good for: rounding to an assignment, and pruning.
#include <algorithm>

#include "compiler/solver/exact/dual.hpp"

namespace systole::solver::exact {

// phi cancels between an operator and its tensors, so the price of a row is its true cost, plus the conversions it
// newly causes on decided inputs, plus what the tensor's side expects the produced layout to cost its uses.
void Dual::round(LocalSearch& search) {
  std::vector<Cost> expected;
  for (const int op : flat_.topological) {
    const int inputs = flat_.inputs(op);
    const int slot = flat_.slot_begin[Flat::at(op)] + inputs;
    const int tensor = flat_.slot_tensor[Flat::at(slot)];
    const TensorShape& shape = shape_[Flat::at(tensor)];
    tensor_marginals(tensor, Want::producer);
    expected.assign(Flat::at(flat_.layouts[Flat::at(tensor)]), infinity);
    for (int a = 0; a < shape.count; ++a) {
      const int layout = compact_layouts_[shape.layouts + Flat::at(a)];
      const int label = live_.label_begin[Flat::at(slot)] + layout;
      if (live_.label_rows[Flat::at(label)] > 0) {
        expected[Flat::at(layout)] = producer_marginal_[Flat::at(a)] + phi_[Flat::at(label)];
      }
    }
    int best = -1;
    Cost least = 0;
    for (const int row : live_.rows(op)) {
      const Cost price = search.price(op, row);
      const Cost cost = (price >= live_.big ? scale_ * live_.big : scale_ * price) +
                        expected[Flat::at(flat_.layouts_of(op, row)[inputs])];
      if (best < 0 || cost < least) {
        best = row;
        least = cost;
      }
    }
    search.choose(op, best);
  }
}

// A row's reduced cost above its operator's minimum is a lower bound on what using it adds to the total bound; the
// same holds for a label's marginal on the tensor's side.
std::int64_t Dual::prune(Live& live, Cost upper) {
  const Cost slack = upper * scale_ - scaled_bound();
  std::vector<char> dead(phi_.size(), 0);
  const auto judge = [&](int slot, const TensorShape& shape, const Cost* marginals, Cost least) {
    const int base = live_.label_begin[Flat::at(slot)];
    for (int a = 0; a < shape.count; ++a) {
      const int layout = compact_layouts_[shape.layouts + Flat::at(a)];
      dead[Flat::at(base + layout)] = marginals[a] - least > slack;
    }
  };
  for (int tensor = 0; tensor < flat_.tensors; ++tensor) {
    const TensorShape& shape = shape_[Flat::at(tensor)];
    if (shape.kind == Kind::constant) {
      continue;
    }
    const Cost least = tensor_marginals(tensor, Want::all);
    judge(flat_.producer_slot[Flat::at(tensor)], shape, producer_marginal_.data(), least);
    const auto uses = flat_.uses_of(tensor);
    for (std::size_t u = 0; u < uses.size(); ++u) {
      judge(uses[u], shape, use_marginal_.data() + u * Flat::at(shape.count), least);
    }
  }
  std::int64_t removed = 0;
  for (int op = 0; op < flat_.operators; ++op) {
    const Cost least = op_minimum(op);
    for (int i = live.count[Flat::at(op)] - 1; i >= 0; --i) {
      const int row = live.rows(op)[Flat::at(i)];
      const int* labels = live.labels_of(op, row);
      bool remove = row_reduced(op, row) - least > slack;
      for (int s = 0; s < flat_.slots(op) && !remove; ++s) {
        remove = dead[Flat::at(labels[s])] != 0;
      }
      if (remove && live.count[Flat::at(op)] > 1) {
        live.remove(op, i);
        ++removed;
      }
    }
  }
  if (removed > 0) {
    refresh();
  }
  return removed;
}

}  // namespace systole::solver::exact
