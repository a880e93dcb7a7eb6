#include "compiler/solver/exact/dual.hpp"

#include <algorithm>
#include <bit>

namespace systole::solver::exact {
namespace {

// Marks layouts a slot cannot take. Far above every reduced cost, and small enough to be added up a few times.
constexpr Cost forbidden = Cost{1} << 58;

// Most slack goes to one neighbour, and divisions are slow.
constexpr Cost share_of(Cost slack, Cost neighbours) {
  return neighbours == 1 ? slack : slack / neighbours;
}

// Sums with `forbidden` stay far above all others, whatever is added to it.
constexpr bool possible(Cost marginal) {
  return marginal < forbidden / 2;
}

}  // namespace

Dual::Dual(const Live& live, Cost scale)
    : live_(live),
      flat_(*live.flat),
      scale_(scale),
      phi_(live.label_rows.size(), 0),
      shape_(Flat::at(flat_.tensors)) {
  refresh();
}

void Dual::refresh() {
  compact_layouts_.clear();
  compact_conversion_.clear();
  set_cost_.clear();
  for (std::size_t label = 0; label < phi_.size(); ++label) {
    if (live_.label_rows[label] == 0) {
      phi_[label] = -forbidden;
    }
  }
  for (int tensor = 0; tensor < flat_.tensors; ++tensor) {
    build_shape(tensor);
  }
}

void Dual::build_shape(int tensor) {
  TensorShape& shape = shape_[Flat::at(tensor)];
  shape = {};
  shape.layouts = compact_layouts_.size();
  const int producer = flat_.producer_slot[Flat::at(tensor)];
  const auto uses = flat_.uses_of(tensor);
  for (int l = 0; l < flat_.layouts[Flat::at(tensor)]; ++l) {
    bool alive = live_.alive(producer, l);
    for (std::size_t u = 0; u < uses.size() && !alive; ++u) {
      alive = live_.alive(uses[u], l);
    }
    if (alive) {
      compact_layouts_.push_back(l);
      ++shape.count;
    }
  }
  const int k = shape.count;
  if (uses.empty()) {
    shape.kind = Kind::unused;
    return;
  }
  if (k == 1) {
    shape.kind = Kind::constant;
    return;
  }
  shape.conversion = compact_conversion_.size();
  const int* layouts = compact_layouts_.data() + shape.layouts;
  for (int a = 0; a < k; ++a) {
    for (int b = 0; b < k; ++b) {
      compact_conversion_.push_back(scale_ * live_.convert(tensor, layouts[a], layouts[b]));
    }
  }
  if (uses.size() == 1) {
    shape.kind = Kind::pair;
  } else if (k > max_set_layouts) {
    shape.kind = Kind::shares;
  } else {
    shape.kind = Kind::sets;
    shape.set_cost = set_cost_.size();
    const std::size_t sets = std::size_t{1} << static_cast<unsigned>(k);
    for (int a = 0; a < k; ++a) {
      const std::size_t start = set_cost_.size();
      set_cost_.push_back(0);
      for (std::size_t set = 1; set < sets; ++set) {
        const int low = std::countr_zero(set);
        set_cost_.push_back(set_cost_[start + (set & (set - 1))] +
                            compact_conversion_[shape.conversion + Flat::at(a * k + low)]);
      }
    }
  }
}

Cost Dual::row_reduced(int op, int row) const {
  const int* labels = live_.labels_of(op, row);
  Cost sum = scale_ * flat_.row_cost[Flat::at(row)];
  for (int s = 0; s < flat_.slots(op); ++s) {
    sum += phi_[Flat::at(labels[s])];
  }
  return sum;
}

Cost Dual::op_minimum(int op) const {
  Cost least = forbidden;
  for (const int row : live_.rows(op)) {
    least = std::min(least, row_reduced(op, row));
  }
  return least;
}

// The marginal of a label is the cheapest row that uses it; its excess over the minimum is slack that can be given to
// the tensor. use_marginal_ serves as scratch indexed by layout.
void Dual::op_forward(int op) {
  const int inputs = flat_.inputs(op);
  const int share = std::max(1, inputs);
  const int slot = flat_.slot_begin[Flat::at(op)] + inputs;
  const int base = live_.label_begin[Flat::at(slot)];
  const auto k = Flat::at(flat_.layouts[Flat::at(flat_.slot_tensor[Flat::at(slot)])]);
  use_marginal_.assign(k, forbidden);
  Cost least = forbidden;
  for (const int row : live_.rows(op)) {
    const Cost cost = row_reduced(op, row);
    const auto at = Flat::at(live_.labels_of(op, row)[inputs] - base);
    use_marginal_[at] = std::min(use_marginal_[at], cost);
    least = std::min(least, cost);
  }
  for (std::size_t l = 0; l < k; ++l) {
    if (use_marginal_[l] < forbidden) {
      phi_[Flat::at(base) + l] -= share_of(use_marginal_[l] - least, share);
    }
  }
}

void Dual::op_backward(int op) {
  const int inputs = flat_.inputs(op);
  const int begin = flat_.slot_begin[Flat::at(op)];
  if (inputs == 0) {
    return;
  }
  const int first = live_.label_begin[Flat::at(begin)];
  const auto labels = Flat::at(live_.label_begin[Flat::at(begin + inputs)] - first);
  use_marginal_.assign(labels, forbidden);
  Cost least = forbidden;
  for (const int row : live_.rows(op)) {
    const Cost cost = row_reduced(op, row);
    const int* at = live_.labels_of(op, row);
    for (int s = 0; s < inputs; ++s) {
      Cost& marginal = use_marginal_[Flat::at(at[s] - first)];
      marginal = std::min(marginal, cost);
    }
    least = std::min(least, cost);
  }
  for (std::size_t l = 0; l < labels; ++l) {
    if (use_marginal_[l] < forbidden) {
      phi_[Flat::at(first) + l] -= share_of(use_marginal_[l] - least, inputs);
    }
  }
}

void Dual::load_producer(int tensor, const TensorShape& shape) {
  const Cost* phi =
      phi_.data() + live_.label_begin[Flat::at(flat_.producer_slot[Flat::at(tensor)])];
  const int* layouts = compact_layouts_.data() + shape.layouts;
  producer_cost_.resize(Flat::at(shape.count));
  for (std::size_t a = 0; a < producer_cost_.size(); ++a) {
    producer_cost_[a] = -phi[layouts[a]];
  }
}

void Dual::load_uses(int tensor, const TensorShape& shape) {
  const auto uses = flat_.uses_of(tensor);
  const auto k = Flat::at(shape.count);
  const int* layouts = compact_layouts_.data() + shape.layouts;
  use_cost_.resize(uses.size() * k);
  Cost* out = use_cost_.data();
  for (const int use : uses) {
    const Cost* phi = phi_.data() + live_.label_begin[Flat::at(use)];
    for (std::size_t a = 0; a < k; ++a) {
      *out++ = -phi[layouts[a]];
    }
  }
}

Cost Dual::tensor_marginals(int tensor, Want want) {
  const TensorShape& shape = shape_[Flat::at(tensor)];
  load_producer(tensor, shape);
  load_uses(tensor, shape);
  switch (shape.kind) {
    case Kind::constant: {
      Cost sum = producer_cost_[0];
      for (const Cost cost : use_cost_) {
        sum += cost;
      }
      producer_marginal_.assign(1, sum);
      use_marginal_.assign(use_cost_.size(), sum);
      return sum;
    }
    case Kind::unused:
      producer_marginal_ = producer_cost_;
      return *std::min_element(producer_cost_.begin(), producer_cost_.end());
    case Kind::pair:
      return pair_marginals(shape, want);
    case Kind::sets:
      return set_marginals(tensor, shape, want);
    case Kind::shares:
      return share_marginals(tensor, shape);
  }
  return 0;
}

Cost Dual::pair_marginals(const TensorShape& shape, Want want) {
  const auto k = Flat::at(shape.count);
  const Cost* conversion = compact_conversion_.data() + shape.conversion;
  Cost least = forbidden;
  if (want != Want::uses) {
    producer_marginal_.assign(k, forbidden);
    for (std::size_t p = 0; p < k; ++p) {
      Cost best = forbidden;
      for (std::size_t u = 0; u < k; ++u) {
        best = std::min(best, use_cost_[u] + conversion[p * k + u]);
      }
      producer_marginal_[p] = producer_cost_[p] + best;
      least = std::min(least, producer_marginal_[p]);
    }
  }
  if (want == Want::uses || want == Want::all) {
    use_marginal_.assign(k, forbidden);
    for (std::size_t p = 0; p < k; ++p) {
      for (std::size_t u = 0; u < k; ++u) {
        use_marginal_[u] = std::min(use_marginal_[u], producer_cost_[p] + conversion[p * k + u]);
      }
    }
    for (std::size_t u = 0; u < k; ++u) {
      use_marginal_[u] += use_cost_[u];
      least = std::min(least, use_marginal_[u]);
    }
  }
  return least;
}

// A ranges over sets of available layouts. head(A) is the cheapest producer for it, least_u(A) the cheapest layout in
// A for use u, and every marginal is a minimum over sets of head + sum of least.
Cost Dual::set_marginals(int tensor, const TensorShape& shape, Want want) {
  const auto k = Flat::at(shape.count);
  const std::size_t sets = std::size_t{1} << static_cast<unsigned>(k);
  const std::size_t uses = flat_.uses_of(tensor).size();
  const Cost* set_cost = set_cost_.data() + shape.set_cost;
  set_least_.resize(uses * sets);
  set_sum_.assign(sets, 0);
  set_sum_[0] = forbidden;
  for (std::size_t u = 0; u < uses; ++u) {
    Cost* least = set_least_.data() + u * sets;
    least[0] = forbidden;
    for (std::size_t set = 1; set < sets; ++set) {
      const auto low = static_cast<std::size_t>(std::countr_zero(set));
      least[set] = std::min(least[set & (set - 1)], use_cost_[u * k + low]);
      set_sum_[set] =
          least[set] >= forbidden ? forbidden : std::min(forbidden, set_sum_[set] + least[set]);
    }
  }
  producer_marginal_.assign(k, forbidden);
  use_marginal_.assign(uses * k, forbidden);
  Cost best = forbidden;
  for (std::size_t set = 1; set < sets; ++set) {
    if (set_sum_[set] >= forbidden) {
      continue;
    }
    Cost head = forbidden;
    for (std::size_t p = 0; p < k; ++p) {
      if (producer_cost_[p] < forbidden) {
        const Cost cost = producer_cost_[p] + set_cost[p * sets + set];
        head = std::min(head, cost);
        producer_marginal_[p] = std::min(producer_marginal_[p], cost + set_sum_[set]);
      }
    }
    const Cost total = head + set_sum_[set];
    best = std::min(best, total);
    for (std::size_t u = 0; u < uses && (want == Want::uses || want == Want::all); ++u) {
      const Cost rest = total - set_least_[u * sets + set];
      for (std::size_t bits = set; bits != 0; bits &= bits - 1) {
        const auto l = static_cast<std::size_t>(std::countr_zero(bits));
        if (use_cost_[u * k + l] < forbidden) {
          Cost& marginal = use_marginal_[u * k + l];
          marginal = std::min(marginal, rest + use_cost_[u * k + l]);
        }
      }
    }
  }
  return best;
}

// Uses stand in groups of two (the last may be alone), and each of m groups is charged 1/m of what its own conversions
// cost: together never more than one full conversion per distinct layout, and exactly that for two uses. For a given
// producer layout the two of a group either pay one conversion each or share a layout and its conversion.
Cost Dual::share_marginals(int tensor, const TensorShape& shape) {
  const auto k = Flat::at(shape.count);
  const std::size_t uses = flat_.uses_of(tensor).size();
  const std::size_t groups = (uses + 1) / 2;
  const Cost* conversion = compact_conversion_.data() + shape.conversion;
  const auto charge = [&](std::size_t p, std::size_t l) {
    return share_of(conversion[p * k + l], static_cast<Cost>(groups));
  };
  const auto alone = [&](std::size_t p, std::size_t u) {
    Cost least = forbidden;
    for (std::size_t l = 0; l < k; ++l) {
      least = std::min(least, use_cost_[u * k + l] + charge(p, l));
    }
    return least;
  };
  const auto shared = [&](std::size_t p, std::size_t g, std::size_t l) {
    return use_cost_[2 * g * k + l] + use_cost_[(2 * g + 1) * k + l] + charge(p, l);
  };
  producer_marginal_ = producer_cost_;
  use_marginal_.assign(uses * k, forbidden);
  alone_.resize(uses);
  group_least_.resize(groups);
  for (std::size_t p = 0; p < k; ++p) {
    if (!possible(producer_cost_[p])) {
      continue;
    }
    for (std::size_t u = 0; u < uses; ++u) {
      alone_[u] = alone(p, u);
    }
    for (std::size_t g = 0; g < groups; ++g) {
      group_least_[g] = alone_[2 * g];
      if (2 * g + 1 < uses) {
        group_least_[g] += alone_[2 * g + 1];
        for (std::size_t l = 0; l < k; ++l) {
          group_least_[g] = std::min(group_least_[g], shared(p, g, l));
        }
      }
      producer_marginal_[p] += group_least_[g];
    }
    for (std::size_t u = 0; u < uses; ++u) {
      const std::size_t g = u / 2;
      const std::size_t other = u ^ 1U;
      const Cost rest = producer_marginal_[p] - group_least_[g];
      for (std::size_t l = 0; l < k; ++l) {
        Cost mine = use_cost_[u * k + l] + charge(p, l);
        if (other < uses) {
          mine = std::min(mine + alone_[other], shared(p, g, l));
        }
        use_marginal_[u * k + l] = std::min(use_marginal_[u * k + l], rest + mine);
      }
    }
  }
  return *std::min_element(producer_marginal_.begin(), producer_marginal_.end());
}

void Dual::tensor_forward(int tensor) {
  const TensorShape& shape = shape_[Flat::at(tensor)];
  if (shape.kind == Kind::unused || shape.kind == Kind::constant) {
    return;
  }
  const Cost least = tensor_marginals(tensor, Want::uses);
  const auto uses = flat_.uses_of(tensor);
  const auto k = Flat::at(shape.count);
  for (std::size_t u = 0; u < uses.size(); ++u) {
    const int base = live_.label_begin[Flat::at(uses[u])];
    for (std::size_t a = 0; a < k; ++a) {
      const Cost marginal = use_marginal_[u * k + a];
      if (possible(marginal)) {
        phi_[Flat::at(base + compact_layouts_[shape.layouts + a])] +=
            share_of(marginal - least, static_cast<Cost>(uses.size()));
      }
    }
  }
}

void Dual::tensor_backward(int tensor) {
  const TensorShape& shape = shape_[Flat::at(tensor)];
  if (shape.kind == Kind::constant) {
    return;
  }
  const Cost least = tensor_marginals(tensor, Want::producer);
  const auto share = static_cast<Cost>(std::max<std::size_t>(1, flat_.uses_of(tensor).size()));
  const int base = live_.label_begin[Flat::at(flat_.producer_slot[Flat::at(tensor)])];
  for (int a = 0; a < shape.count; ++a) {
    const Cost marginal = producer_marginal_[Flat::at(a)];
    if (possible(marginal)) {
      phi_[Flat::at(base + compact_layouts_[shape.layouts + Flat::at(a)])] +=
          share_of(marginal - least, share);
    }
  }
}

void Dual::sweep() {
  for (const int op : flat_.topological) {
    op_forward(op);
    tensor_forward(flat_.output(op));
  }
  for (auto op = flat_.topological.rbegin(); op != flat_.topological.rend(); ++op) {
    tensor_backward(flat_.output(*op));
    op_backward(*op);
  }
}

Cost Dual::scaled_bound() {
  Cost sum = 0;
  for (int op = 0; op < flat_.operators; ++op) {
    sum += op_minimum(op);
  }
  for (int tensor = 0; tensor < flat_.tensors; ++tensor) {
    sum += tensor_marginals(tensor, Want::least);
  }
  return sum;
}

}  // namespace systole::solver::exact
