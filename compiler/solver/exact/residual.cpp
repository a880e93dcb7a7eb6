#include "compiler/solver/exact/residual.hpp"

#include <algorithm>
#include <bit>

namespace systole::solver::exact {
namespace {

// Operators with larger tables get a row variable instead.
constexpr std::size_t largest_operator_table = 4096;
// Tensors with more offered layouts than this get one yes/no variable per layout instead of a set variable.
constexpr int most_set_layouts = 8;
// Impossible combinations. Above every reduced cost; table sums stay far below overflow.
constexpr Cost impossible = Cost{1} << 58;

class Builder {
 public:
  Builder(const Live& live, const Dual* dual) : live_(live), flat_(*live.flat), dual_(dual) {}

  Residual build() {
    position_.resize(Flat::at(flat_.operators));
    for (std::size_t i = 0; i < flat_.topological.size(); ++i) {
      position_[Flat::at(flat_.topological[i])] = static_cast<int>(i);
    }
    out_.row_variable.assign(Flat::at(flat_.operators), -1);
    out_.set_variable.assign(Flat::at(flat_.tensors), -1);
    out_.sets.resize(Flat::at(flat_.tensors));
    out_.offered.resize(Flat::at(flat_.tensors));
    add_slots();
    for (int op = 0; op < flat_.operators; ++op) {
      add_operator(op);
    }
    for (int tensor = 0; tensor < flat_.tensors; ++tensor) {
      add_tensor(tensor);
    }
    normalise(out_.network);
    return std::move(out_);
  }

 private:
  int add_variable(int size, int op, int forward, int backward) {
    out_.time_forward.push_back(forward);
    out_.time_backward.push_back(backward);
    out_.variable_op.push_back(op);
    return out_.network.add_variable(size);
  }

  void add_slots() {
    const auto slots = flat_.slot_tensor.size();
    out_.slot_variable.assign(slots, -1);
    for (std::size_t slot = 0; slot < slots; ++slot) {
      out_.slot_layouts_begin.push_back(static_cast<int>(out_.slot_layouts.size()));
      const int id = static_cast<int>(slot);
      for (int l = 0; l < flat_.layouts[Flat::at(flat_.slot_tensor[slot])]; ++l) {
        if (live_.alive(id, l)) {
          out_.slot_layouts.push_back(l);
        }
      }
      const int size = static_cast<int>(out_.slot_layouts.size()) - out_.slot_layouts_begin.back();
      if (size > 1) {
        const int op = flat_.slot_op[slot];
        const int time = position_[Flat::at(op)];
        out_.slot_variable[slot] = add_variable(size, op, time, -time);
      }
    }
    out_.slot_layouts_begin.push_back(static_cast<int>(out_.slot_layouts.size()));
  }

  // Position of a layout among the slot's live ones.
  [[nodiscard]] int value_of(int slot, int layout) const {
    int value = 0;
    while (out_.layout(slot, value) != layout) {
      ++value;
    }
    return value;
  }
  [[nodiscard]] Cost scale() const { return dual_ == nullptr ? 1 : dual_->scale(); }
  [[nodiscard]] Cost phi(int slot, int layout) const {
    return dual_ == nullptr ? 0 : dual_->phi(live_.label_begin[Flat::at(slot)] + layout);
  }
  [[nodiscard]] Cost reduced(int op, int row) const {
    Cost sum = scale() * flat_.row_cost[Flat::at(row)];
    for (int s = 0; s < flat_.slots(op); ++s) {
      sum += phi(flat_.slot_begin[Flat::at(op)] + s, flat_.layouts_of(op, row)[s]);
    }
    return sum;
  }

  void add_operator(int op) {
    const int begin = flat_.slot_begin[Flat::at(op)];
    std::vector<int> free;  // slots with a variable, as offsets
    std::size_t cells = 1;
    for (int s = 0; s < flat_.slots(op); ++s) {
      if (out_.slot_variable[Flat::at(begin + s)] >= 0) {
        free.push_back(s);
        cells = std::min(cells * Flat::at(out_.choices(begin + s)), largest_operator_table + 1);
      }
    }
    if (cells > largest_operator_table) {
      add_row_variable(op, free);
      return;
    }
    Factor factor;
    for (const int s : free) {
      factor.scope.push_back(out_.slot_variable[Flat::at(begin + s)]);
    }
    factor.table.assign(cells, impossible);
    for (const int row : live_.rows(op)) {
      std::size_t cell = 0;
      for (const int s : free) {
        cell = cell * Flat::at(out_.choices(begin + s)) +
               Flat::at(value_of(begin + s, flat_.layouts_of(op, row)[s]));
      }
      factor.table[cell] = std::min(factor.table[cell], reduced(op, row));
    }
    out_.network.factors.push_back(std::move(factor));
  }

  void add_row_variable(int op, const std::vector<int>& free) {
    const int begin = flat_.slot_begin[Flat::at(op)];
    const auto rows = live_.rows(op);
    const int time = position_[Flat::at(op)];
    const int variable = add_variable(static_cast<int>(rows.size()), op, time, -time);
    out_.row_variable[Flat::at(op)] = variable;
    Factor costs{{variable}, {}};
    for (const int row : rows) {
      costs.table.push_back(reduced(op, row));
    }
    out_.network.factors.push_back(std::move(costs));
    for (const int s : free) {
      const int choices = out_.choices(begin + s);
      Factor link{{variable, out_.slot_variable[Flat::at(begin + s)]}, {}};
      for (const int row : rows) {
        const int value = value_of(begin + s, flat_.layouts_of(op, row)[s]);
        for (int c = 0; c < choices; ++c) {
          link.table.push_back(c == value ? 0 : impossible);
        }
      }
      out_.network.factors.push_back(std::move(link));
    }
  }

  void add_tensor(int tensor) {
    const int producer = flat_.producer_slot[Flat::at(tensor)];
    std::vector<int> free;
    std::vector<int> fixed;  // layouts that settled uses request
    Cost settled = 0;
    for (const int use : flat_.uses_of(tensor)) {
      if (out_.slot_variable[Flat::at(use)] >= 0) {
        free.push_back(use);
      } else {
        const int layout = out_.layout(use, 0);
        settled -= phi(use, layout);
        if (std::find(fixed.begin(), fixed.end(), layout) == fixed.end()) {
          fixed.push_back(layout);
        }
      }
    }
    out_.network.constant += settled;
    std::vector<int> offered;
    for (const int use : free) {
      for (int value = 0; value < out_.choices(use); ++value) {
        if (std::find(offered.begin(), offered.end(), out_.layout(use, value)) == offered.end()) {
          offered.push_back(out_.layout(use, value));
        }
      }
    }
    if (free.size() <= 2) {
      add_direct(tensor, producer, free, fixed);
    } else if (static_cast<int>(offered.size()) <= most_set_layouts) {
      add_set_variable(tensor, producer, free, fixed, offered);
    } else {
      add_flags(tensor, producer, free, fixed, offered);
    }
  }

  // Conversions from layout p for a set of distinct layouts.
  [[nodiscard]] Cost conversions(int tensor, int p, const std::vector<int>& wanted) const {
    Cost sum = 0;
    for (const int l : wanted) {
      sum += live_.convert(tensor, p, l);
    }
    return scale() * sum;
  }

  void scope_of_producer(Factor& factor, int producer) const {
    if (out_.slot_variable[Flat::at(producer)] >= 0) {
      factor.scope.push_back(out_.slot_variable[Flat::at(producer)]);
    }
  }

  void add_direct(int tensor, int producer, const std::vector<int>& free,
                  const std::vector<int>& fixed) {
    Factor factor;
    scope_of_producer(factor, producer);
    for (const int use : free) {
      factor.scope.push_back(out_.slot_variable[Flat::at(use)]);
    }
    const int first = free.empty() ? 1 : out_.choices(free[0]);
    const int second = free.size() < 2 ? 1 : out_.choices(free[1]);
    for (int p = 0; p < out_.choices(producer); ++p) {
      const int from = out_.layout(producer, p);
      for (int a = 0; a < first; ++a) {
        for (int b = 0; b < second; ++b) {
          std::vector<int> wanted = fixed;
          Cost cost = -phi(producer, from);
          const int values[] = {a, b};
          for (std::size_t i = 0; i < free.size(); ++i) {
            const int l = out_.layout(free[i], values[i]);
            cost -= phi(free[i], l);
            if (std::find(wanted.begin(), wanted.end(), l) == wanted.end()) {
              wanted.push_back(l);
            }
          }
          factor.table.push_back(cost + conversions(tensor, from, wanted));
        }
      }
    }
    out_.network.factors.push_back(std::move(factor));
  }

  // Sets that leave some use without a live layout are not offered. The least of -phi a use can reach within a set is
  // moved from the link to the set, which keeps the sum of minima equal to the dual's bound.
  void add_set_variable(int tensor, int producer, const std::vector<int>& free,
                        const std::vector<int>& fixed, const std::vector<int>& offered) {
    std::vector<unsigned> sets;
    std::vector<std::vector<Cost>> least;  // [set][use]
    for (unsigned set = 1; set < (1U << offered.size()); ++set) {
      if (static_cast<std::size_t>(std::popcount(set)) > free.size()) {
        continue;
      }
      std::vector<Cost> of_use(free.size(), impossible);
      for (std::size_t u = 0; u < free.size(); ++u) {
        for (std::size_t i = 0; i < offered.size(); ++i) {
          if ((set >> i & 1U) != 0 && live_.alive(free[u], offered[i])) {
            of_use[u] = std::min(of_use[u], -phi(free[u], offered[i]));
          }
        }
      }
      if (*std::max_element(of_use.begin(), of_use.end()) < impossible) {
        sets.push_back(set);
        least.push_back(std::move(of_use));
      }
    }
    const int op = flat_.slot_op[Flat::at(producer)];
    int last = 0;
    for (const int use : free) {
      last = std::max(last, position_[Flat::at(flat_.slot_op[Flat::at(use)])]);
    }
    const int variable =
        add_variable(static_cast<int>(sets.size()), op, last, -position_[Flat::at(op)]);
    Factor costs;
    scope_of_producer(costs, producer);
    costs.scope.push_back(variable);
    for (int p = 0; p < out_.choices(producer); ++p) {
      const int from = out_.layout(producer, p);
      for (std::size_t s = 0; s < sets.size(); ++s) {
        std::vector<int> wanted = fixed;
        for (std::size_t i = 0; i < offered.size(); ++i) {
          if ((sets[s] >> i & 1U) != 0 &&
              std::find(fixed.begin(), fixed.end(), offered[i]) == fixed.end()) {
            wanted.push_back(offered[i]);
          }
        }
        Cost cost = conversions(tensor, from, wanted) - phi(producer, from);
        for (const Cost part : least[s]) {
          cost += part;
        }
        costs.table.push_back(cost);
      }
    }
    out_.network.factors.push_back(std::move(costs));
    for (std::size_t u = 0; u < free.size(); ++u) {
      Factor link{{variable, out_.slot_variable[Flat::at(free[u])]}, {}};
      for (std::size_t s = 0; s < sets.size(); ++s) {
        for (int value = 0; value < out_.choices(free[u]); ++value) {
          const int l = out_.layout(free[u], value);
          const auto bit = std::find(offered.begin(), offered.end(), l) - offered.begin();
          link.table.push_back((sets[s] >> bit & 1U) != 0 ? -phi(free[u], l) - least[s][u]
                                                          : impossible);
        }
      }
      out_.network.factors.push_back(std::move(link));
    }
    out_.set_variable[Flat::at(tensor)] = variable;
    out_.sets[Flat::at(tensor)] = std::move(sets);
    out_.offered[Flat::at(tensor)] = offered;
  }

  // One variable per offered layout: is it made available? The bound of such a tensor is weaker.
  void add_flags(int tensor, int producer, const std::vector<int>& free,
                 const std::vector<int>& fixed, const std::vector<int>& offered) {
    const int op = flat_.slot_op[Flat::at(producer)];
    for (const int use : free) {
      Factor shift{{out_.slot_variable[Flat::at(use)]}, {}};
      for (int value = 0; value < out_.choices(use); ++value) {
        shift.table.push_back(-phi(use, out_.layout(use, value)));
      }
      out_.network.factors.push_back(std::move(shift));
    }
    Factor base;
    scope_of_producer(base, producer);
    for (int p = 0; p < out_.choices(producer); ++p) {
      const int from = out_.layout(producer, p);
      base.table.push_back(conversions(tensor, from, fixed) - phi(producer, from));
    }
    out_.network.factors.push_back(std::move(base));
    for (const int l : offered) {
      if (std::find(fixed.begin(), fixed.end(), l) != fixed.end()) {
        continue;
      }
      int last = 0;
      for (const int use : free) {
        last = std::max(last, position_[Flat::at(flat_.slot_op[Flat::at(use)])]);
      }
      const int flag = add_variable(2, op, last, -position_[Flat::at(op)]);
      out_.flags.push_back({flag, tensor, l});
      Factor cost;
      scope_of_producer(cost, producer);
      cost.scope.push_back(flag);
      for (int p = 0; p < out_.choices(producer); ++p) {
        cost.table.push_back(0);
        cost.table.push_back(scale() * live_.convert(tensor, out_.layout(producer, p), l));
      }
      out_.network.factors.push_back(std::move(cost));
      for (const int use : free) {
        if (!live_.alive(use, l)) {
          continue;
        }
        Factor link{{flag, out_.slot_variable[Flat::at(use)]}, {}};
        for (int on = 0; on < 2; ++on) {
          for (int value = 0; value < out_.choices(use); ++value) {
            link.table.push_back(on == 0 && out_.layout(use, value) == l ? impossible : 0);
          }
        }
        out_.network.factors.push_back(std::move(link));
      }
    }
  }

  const Live& live_;
  const Flat& flat_;
  const Dual* dual_;
  std::vector<int> position_;
  Residual out_;
};

}  // namespace

Residual residual_of(const Live& live, const Dual* dual) {
  return Builder(live, dual).build();
}

std::vector<int> values_of(const Residual& residual, const Live& live,
                           const std::vector<int>& rows) {
  const Flat& flat = *live.flat;
  std::vector<int> value(residual.network.domain.size(), 0);
  const auto layout_at = [&](int slot) {
    const int op = flat.slot_op[Flat::at(slot)];
    return flat.layouts_of(op, rows[Flat::at(op)])[slot - flat.slot_begin[Flat::at(op)]];
  };
  for (int slot = 0; slot < static_cast<int>(residual.slot_variable.size()); ++slot) {
    const int variable = residual.slot_variable[Flat::at(slot)];
    for (int i = 0; variable >= 0 && i < residual.choices(slot); ++i) {
      if (residual.layout(slot, i) == layout_at(slot)) {
        value[Flat::at(variable)] = i;
      }
    }
  }
  for (int op = 0; op < flat.operators; ++op) {
    const int variable = residual.row_variable[Flat::at(op)];
    if (variable >= 0) {
      const auto live_rows = live.rows(op);
      value[Flat::at(variable)] = static_cast<int>(
          std::find(live_rows.begin(), live_rows.end(), rows[Flat::at(op)]) - live_rows.begin());
    }
  }
  for (int tensor = 0; tensor < flat.tensors; ++tensor) {
    const int variable = residual.set_variable[Flat::at(tensor)];
    if (variable < 0) {
      continue;
    }
    const auto& offered = residual.offered[Flat::at(tensor)];
    unsigned wanted = 0;
    for (const int use : flat.uses_of(tensor)) {
      if (residual.slot_variable[Flat::at(use)] >= 0) {
        wanted |=
            1U << (std::find(offered.begin(), offered.end(), layout_at(use)) - offered.begin());
      }
    }
    const auto& sets = residual.sets[Flat::at(tensor)];
    value[Flat::at(variable)] =
        static_cast<int>(std::find(sets.begin(), sets.end(), wanted) - sets.begin());
  }
  for (const Flag& flag : residual.flags) {
    for (const int use : flat.uses_of(flag.tensor)) {
      if (residual.slot_variable[Flat::at(use)] >= 0 && layout_at(use) == flag.layout) {
        value[Flat::at(flag.variable)] = 1;
      }
    }
  }
  return value;
}

std::vector<int> rows_of(const Residual& residual, const Live& live,
                         const std::vector<int>& value) {
  const Flat& flat = *live.flat;
  std::vector<int> rows(Flat::at(flat.operators), -1);
  for (int op = 0; op < flat.operators; ++op) {
    const int begin = flat.slot_begin[Flat::at(op)];
    for (const int row : live.rows(op)) {
      bool fits = true;
      for (int s = 0; s < flat.slots(op) && fits; ++s) {
        const int variable = residual.slot_variable[Flat::at(begin + s)];
        fits = variable < 0 ||
               residual.layout(begin + s, value[Flat::at(variable)]) == flat.layouts_of(op, row)[s];
      }
      int& best = rows[Flat::at(op)];
      if (fits && (best < 0 || flat.row_cost[Flat::at(row)] < flat.row_cost[Flat::at(best)])) {
        best = row;
      }
    }
  }
  return rows;
}

}  // namespace systole::solver::exact
