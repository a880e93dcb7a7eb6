// Rule-based: how a production compiler for a systolic core proceeds (the paper's section 4.1).
//
//  1. Dimension groups. Layouts of different tensors that are about the same logical dimension are united: by the
//     hint `groups` of the tensors, and over every non-anchor operator whose cheapest rows pair an input layout with
//     one output layout.
//  2. Known wishes. Anchors (contractions, convolutions), those with most to lose first, take the row that is cheapest
//     together with the conversions to what is decided around them; the groups of its layouts are wished for.
//  3. Propagation. An undecided operator with exactly one acceptable row that agrees with everything decided around it
//     takes that row, until nothing follows.
//  4. What is left falls into components that share no undecided neighbour. In each: rows that cost several times the
//     operator's cheapest are known-expensive patterns and dropped; rows whose output layout belongs to a wished group
//     displace those that do not; the rest is searched exhaustively when small enough, else operator by operator.
#include <algorithm>
#include <limits>
#include <numeric>

#include "compiler/solver/hints.hpp"
#include "compiler/solver/local_search.hpp"
#include "compiler/solver/strategies.hpp"

namespace systole::solver {
namespace {

constexpr Cost expensive_factor = 4;  // a row this many times the cheapest is a pattern to avoid
constexpr std::int64_t most_combinations = 20'000;  // of a component that is searched exhaustively

class Groups {
 public:
  explicit Groups(const Flat& flat) : begin_(Flat::at(flat.tensors) + 1, 0) {
    for (int tensor = 0; tensor < flat.tensors; ++tensor) {
      begin_[Flat::at(tensor) + 1] = begin_[Flat::at(tensor)] + flat.layouts[Flat::at(tensor)];
    }
    parent_.resize(Flat::at(begin_.back()));
    std::iota(parent_.begin(), parent_.end(), 0);
  }

  [[nodiscard]] int group(int tensor, int layout) {
    int v = begin_[Flat::at(tensor)] + layout;
    while (parent_[Flat::at(v)] != v) {
      parent_[Flat::at(v)] = parent_[Flat::at(parent_[Flat::at(v)])];
      v = parent_[Flat::at(v)];
    }
    return v;
  }
  void unite(int tensor_a, int layout_a, int tensor_b, int layout_b) {
    const int a = group(tensor_a, layout_a);
    const int b = group(tensor_b, layout_b);
    parent_[Flat::at(std::max(a, b))] = std::min(a, b);
  }

 private:
  std::vector<int> begin_;
  std::vector<int> parent_;
};

class Rules {
 public:
  Rules(const Problem& problem, const Flat& flat)
      : problem_(problem),
        flat_(flat),
        anchor_(anchors(problem, flat)),
        groups_(flat),
        search_(flat),
        rank_(Flat::at(flat.operators)) {
    for (std::size_t i = 0; i < flat.topological.size(); ++i) {
      rank_[Flat::at(flat.topological[i])] = static_cast<int>(i);
    }
  }

  Assignment run() {
    unite_groups();
    wished_.assign(total_layouts(), false);
    for (const int op : by_falling_spread(flat_, anchor_)) {
      settle(op, cheapest_now(op));
      propagate_around(op);
    }
    for (const std::vector<int>& component : components()) {
      solve_component(component);
    }
    return search_.assignment();
  }

  std::int64_t components_seen = 0;
  std::int64_t combinations = 0;

 private:
  std::size_t total_layouts() const {
    return Flat::at(std::accumulate(flat_.layouts.begin(), flat_.layouts.end(), 0));
  }

  void unite_groups() {
    std::vector<std::pair<int, std::pair<int, int>>> hinted;  // group, (tensor, layout)
    for (int tensor = 0; tensor < flat_.tensors; ++tensor) {
      const Tensor& given = problem_.tensors[TensorId(Flat::at(tensor))];
      for (std::size_t l = 0; l < given.groups.size(); ++l) {
        if (given.groups[l] >= 0) {
          hinted.push_back({given.groups[l], {tensor, static_cast<int>(l)}});
        }
      }
    }
    std::sort(hinted.begin(), hinted.end());
    for (std::size_t i = 1; i < hinted.size(); ++i) {
      if (hinted[i].first == hinted[i - 1].first) {
        groups_.unite(hinted[i].second.first, hinted[i].second.second, hinted[i - 1].second.first,
                      hinted[i - 1].second.second);
      }
    }
    for (int op = 0; op < flat_.operators; ++op) {
      if (!anchor_[Flat::at(op)]) {
        unite_over(op);
      }
    }
  }

  // Unites input layout and output layout where acceptable rows pair each with one partner only.
  void unite_over(int op) {
    const int inputs = flat_.inputs(op);
    const int begin = flat_.slot_begin[Flat::at(op)];
    const int output = flat_.output(op);
    for (int s = 0; s < inputs; ++s) {
      const int tensor = flat_.slot_tensor[Flat::at(begin + s)];
      std::vector<int> partner(Flat::at(flat_.layouts[Flat::at(tensor)]), -1);  // -2: several
      std::vector<int> back(Flat::at(flat_.layouts[Flat::at(output)]), -1);
      for (const int row : acceptable(op)) {
        const int in = flat_.layouts_of(op, row)[s];
        const int out = flat_.layouts_of(op, row)[inputs];
        int& p = partner[Flat::at(in)];
        int& b = back[Flat::at(out)];
        p = p == -1 || p == out ? out : -2;
        b = b == -1 || b == in ? in : -2;
      }
      for (std::size_t in = 0; in < partner.size(); ++in) {
        if (partner[in] >= 0 && back[Flat::at(partner[in])] == static_cast<int>(in)) {
          groups_.unite(tensor, static_cast<int>(in), output, partner[in]);
        }
      }
    }
  }

  // Rows without known-expensive patterns.
  std::vector<int> acceptable(int op) const {
    const Cost limit = flat_.row_cost[Flat::at(cheapest_row(flat_, op))] * expensive_factor;
    std::vector<int> rows;
    for (int row = flat_.row_begin[Flat::at(op)]; row < flat_.row_begin[Flat::at(op) + 1]; ++row) {
      if (flat_.row_cost[Flat::at(row)] <= limit) {
        rows.push_back(row);
      }
    }
    return rows;
  }

  int cheapest_now(int op) const {
    int best = flat_.row_begin[Flat::at(op)];
    for (int row = best + 1; row < flat_.row_begin[Flat::at(op) + 1]; ++row) {
      if (search_.price(op, row) < search_.price(op, best)) {
        best = row;
      }
    }
    return best;
  }

  void settle(int op, int row) {
    if (search_.row(op) >= 0) {
      return;
    }
    search_.choose(op, row);
    if (anchor_[Flat::at(op)]) {
      for (int s = 0; s < flat_.slots(op); ++s) {
        const int tensor = flat_.slot_tensor[Flat::at(flat_.slot_begin[Flat::at(op)] + s)];
        wished_[Flat::at(groups_.group(tensor, flat_.layouts_of(op, row)[s]))] = true;
      }
    }
  }

  template <class Visit>
  void neighbours(int op, const Visit& visit) const {
    for (int slot = flat_.slot_begin[Flat::at(op)]; slot < flat_.slot_begin[Flat::at(op) + 1];
         ++slot) {
      const int tensor = flat_.slot_tensor[Flat::at(slot)];
      visit(flat_.slot_op[Flat::at(flat_.producer_slot[Flat::at(tensor)])]);
      for (const int use : flat_.uses_of(tensor)) {
        visit(flat_.slot_op[Flat::at(use)]);
      }
    }
  }

  void propagate_around(int start) {
    std::vector<int> queue{start};
    while (!queue.empty()) {
      const int op = queue.back();
      queue.pop_back();
      neighbours(op, [&](int next) {
        if (search_.row(next) >= 0 || anchor_[Flat::at(next)]) {
          return;
        }
        int only = -1;
        int fitting = 0;
        for (const int row : acceptable(next)) {
          // No conversion anywhere around: the price is the row's own cost.
          if (search_.price(next, row) == flat_.row_cost[Flat::at(row)]) {
            only = row;
            ++fitting;
          }
        }
        if (fitting == 1) {
          settle(next, only);
          queue.push_back(next);
        }
      });
    }
  }

  std::vector<std::vector<int>> components() const {
    std::vector<std::vector<int>> out;
    std::vector<bool> seen(Flat::at(flat_.operators), false);
    for (const int first : flat_.topological) {
      if (seen[Flat::at(first)] || search_.row(first) >= 0) {
        continue;
      }
      std::vector<int> component{first};
      seen[Flat::at(first)] = true;
      for (std::size_t i = 0; i < component.size(); ++i) {
        neighbours(component[i], [&](int next) {
          if (!seen[Flat::at(next)] && search_.row(next) < 0) {
            seen[Flat::at(next)] = true;
            component.push_back(next);
          }
        });
      }
      out.push_back(std::move(component));
    }
    return out;
  }

  std::vector<int> sensible(int op) {
    std::vector<int> rows = acceptable(op);
    const int output = flat_.output(op);
    const auto is_wished = [&](int row) {
      return bool{
          wished_[Flat::at(groups_.group(output, flat_.layouts_of(op, row)[flat_.inputs(op)]))]};
    };
    if (std::any_of(rows.begin(), rows.end(), is_wished)) {
      rows.erase(std::remove_if(rows.begin(), rows.end(), [&](int row) { return !is_wished(row); }),
                 rows.end());
    }
    return rows;
  }

  void solve_component(std::vector<int> component) {
    ++components_seen;
    std::sort(component.begin(), component.end(),
              [&](int a, int b) { return rank_[Flat::at(a)] < rank_[Flat::at(b)]; });
    std::vector<std::vector<int>> rows;
    std::int64_t product = 1;
    for (const int op : component) {
      rows.push_back(sensible(op));
      product =
          std::min(product * static_cast<std::int64_t>(rows.back().size()), most_combinations + 1);
    }
    if (product > most_combinations) {
      for (std::size_t i = 0; i < component.size(); ++i) {
        settle(component[i], cheapest_of(component[i], rows[i]));
      }
      return;
    }
    combinations += product;
    std::vector<int> best;
    std::vector<int> chosen(component.size());
    Cost least = std::numeric_limits<Cost>::max();
    enumerate(component, rows, 0, 0, chosen, best, least);
    for (std::size_t i = 0; i < component.size(); ++i) {
      search_.choose(component[i], best[i]);
    }
  }

  int cheapest_of(int op, const std::vector<int>& rows) const {
    return *std::min_element(rows.begin(), rows.end(), [&](int a, int b) {
      return search_.price(op, a) < search_.price(op, b);
    });
  }

  void enumerate(const std::vector<int>& component, const std::vector<std::vector<int>>& rows,
                 std::size_t depth, Cost cost, std::vector<int>& chosen, std::vector<int>& best,
                 Cost& least) {
    if (cost >= least) {
      return;
    }
    if (depth == component.size()) {
      least = cost;
      best = chosen;
      return;
    }
    const int op = component[depth];
    for (const int row : rows[depth]) {
      const Cost extra = search_.price(op, row);
      chosen[depth] = row;
      search_.choose(op, row);
      enumerate(component, rows, depth + 1, add(cost, extra), chosen, best, least);
      search_.clear(op);
    }
  }

  const Problem& problem_;
  const Flat& flat_;
  std::vector<bool> anchor_;
  Groups groups_;
  LocalSearch search_;
  std::vector<int> rank_;     // topological position per operator
  std::vector<bool> wished_;  // per group
};

}  // namespace

Result run_rule(const Problem& problem, const Budget& /*budget*/) {
  if (row_bound(problem) >= infinity) {
    return heuristic_result(problem, {});
  }
  const Flat flat = flatten(problem);
  Rules rules(problem, flat);
  Result result = heuristic_result(problem, rules.run());
  result.stats.push_back({"components", rules.components_seen});
  result.stats.push_back({"combinations", rules.combinations});
  return result;
}

}  // namespace systole::solver
