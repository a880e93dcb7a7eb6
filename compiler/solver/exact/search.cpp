// Encoding. Per operator exactly one row literal is true; a label literal says that a slot uses a layout (the row
// literal itself where only one row has the label). Operators that allow at least half of all combinations do without
// row literals: their labels are free, and clauses forbid or price combinations. Per tensor and layout a request literal follows from the labels of
// the uses. Conversions: the least cost of obtaining layout l from elsewhere is paid once when l is requested and not
// produced; what a particular produced layout costs more is paid on top. Rows pay what they cost above the operator's
// cheapest, so the search starts from the sum of cheapest rows.
#include "compiler/solver/exact/search.hpp"

#include <algorithm>
#include <cstdlib>

namespace systole::solver::exact {
namespace {

class Encoding {
 public:
  Encoding(State& state) : state_(state), flat_(state.flat), live_(state.live), sat_(state.clock) {
    row_literal_.assign(flat_.row_cost.size(), 0);
    label_literal_.assign(live_.label_rows.size(), 0);
    for (int op = 0; op < flat_.operators; ++op) {
      add_operator(op);
    }
    for (int tensor = 0; tensor < flat_.tensors; ++tensor) {
      add_tensor(tensor);
    }
  }

  bool run(const ConflictLimits& limits) {
    const Cost upper = state_.upper >= infinity ? live_.big : state_.upper;
    sat_.solve(
        limits, upper - base_, [&](const std::vector<bool>& truth) { return take(truth) - base_; },
        [&](Cost bound) { state_.raise(base_ + bound, Proof::search); });
    state_.count("cores", sat_.cores());
    state_.count("sat_calls", sat_.calls());
    state_.count("conflicts", sat_.conflicts());
    return state_.closed();
  }

 private:
  // Literal 0 stands for "always true" in label_literal_.
  void add_operator(int op) {
    const auto rows = live_.rows(op);
    Cost least = infinity;
    for (const int row : rows) {
      least = std::min(least, flat_.row_cost[Flat::at(row)]);
    }
    base_ += least;
    if (rows.size() == 1) {
      return;
    }
    if (!add_table(op, least)) {
      add_rows(op, least);
    }
  }

  // Operators that allow most combinations: a variable per label, a clause per combination that is forbidden or costs.
  bool add_table(int op, Cost least) {
    const auto rows = live_.rows(op);
    const int begin = flat_.slot_begin[Flat::at(op)];
    std::vector<std::vector<int>> labels;  // live ones, per slot
    std::size_t cells = 1;
    for (int s = 0; s < flat_.slots(op); ++s) {
      labels.emplace_back();
      for (int l = live_.label_begin[Flat::at(begin + s)];
           l < live_.label_begin[Flat::at(begin + s) + 1]; ++l) {
        if (live_.label_rows[Flat::at(l)] > 0) {
          labels.back().push_back(l);
        }
      }
      cells = std::min(cells * labels.back().size(), 2 * rows.size() + 1);
    }
    if (rows.size() < 3 || cells > 2 * rows.size()) {
      return false;
    }
    std::vector<Cost> price(cells, infinity);
    for (const int row : rows) {
      std::size_t cell = 0;
      for (std::size_t s = 0; s < labels.size(); ++s) {
        const int label = live_.labels_of(op, row)[s];
        cell = cell * labels[s].size() +
               static_cast<std::size_t>(
                   std::lower_bound(labels[s].begin(), labels[s].end(), label) - labels[s].begin());
      }
      price[cell] = std::min(price[cell], flat_.row_cost[Flat::at(row)] - least);
    }
    for (std::size_t s = 0; s < labels.size(); ++s) {
      add_free_labels(labels[s], op, static_cast<int>(s));
    }
    for (std::size_t cell = 0; cell < cells; ++cell) {
      std::vector<int> clause;
      std::size_t rest = cell;
      for (std::size_t s = labels.size(); s-- > 0;) {
        const int label = labels[s][rest % labels[s].size()];
        rest /= labels[s].size();
        if (labels[s].size() > 1) {
          clause.push_back(-label_literal_[Flat::at(label)]);
        }
      }
      if (price[cell] > 0) {
        pay(std::move(clause), price[cell]);
      }
    }
    return true;
  }

  // Exactly one of the labels; two share a variable.
  void add_free_labels(const std::vector<int>& labels, int op, int position) {
    if (labels.size() == 1) {
      return;
    }
    std::vector<int> literals;
    for (const int label : labels) {
      const bool other = labels.size() == 2 && literals.size() == 1;
      literals.push_back(other ? -literals.front() : sat_.new_variable());
      label_literal_[Flat::at(label)] = literals.back();
      if (!state_.best.empty() &&
          live_.labels_of(op, state_.best[Flat::at(op)])[position] == label) {
        sat_.prefer(literals.back());
      }
    }
    if (literals.size() > 2) {
      sat_.add_clause(literals);
      at_most_one(literals);
    }
  }

  void add_rows(int op, Cost least) {
    const auto rows = live_.rows(op);
    std::vector<int> some;
    for (const int row : rows) {
      const bool other = rows.size() == 2 && some.size() == 1;
      const int literal = other ? -some.front() : sat_.new_variable();
      row_literal_[Flat::at(row)] = literal;
      some.push_back(literal);
      const Cost extra = flat_.row_cost[Flat::at(row)] - least;
      if (extra > 0) {
        sat_.add_soft(-literal, extra);
      }
      if (!state_.best.empty() && state_.best[Flat::at(op)] == row) {
        sat_.prefer(literal);
      } else if (rows.size() > 2 && !state_.best.empty()) {
        sat_.prefer(-literal);
      }
    }
    if (rows.size() > 2) {
      sat_.add_clause(some);
      at_most_one(some);
    }
    const int begin = flat_.slot_begin[Flat::at(op)];
    for (int s = 0; s < flat_.slots(op); ++s) {
      add_labels(op, s, begin + s);
    }
  }

  void add_labels(int op, int position, int slot) {
    const int first = live_.label_begin[Flat::at(slot)];
    const int last = live_.label_begin[Flat::at(slot) + 1];
    std::vector<int> literals;
    for (int label = first; label < last; ++label) {
      const int rows_with = live_.label_rows[Flat::at(label)];
      if (rows_with == 0 || rows_with == live_.count[Flat::at(op)]) {
        continue;
      }
      std::vector<int> rows;
      for (const int row : live_.rows(op)) {
        if (live_.labels_of(op, row)[position] == label) {
          rows.push_back(row_literal_[Flat::at(row)]);
        }
      }
      int literal = rows.front();
      if (rows.size() > 1) {
        literal = sat_.new_variable();
        std::vector<int> reason{-literal};
        for (const int row : rows) {
          sat_.add_clause({-row, literal});
          reason.push_back(row);
        }
        sat_.add_clause(reason);
      }
      label_literal_[Flat::at(label)] = literal;
      literals.push_back(literal);
    }
    at_most_one(literals);
  }

  // Pairwise for few literals, a chain of "one of the first i" otherwise.
  void at_most_one(const std::vector<int>& literals) {
    if (literals.size() <= 24) {
      for (std::size_t i = 0; i < literals.size(); ++i) {
        for (std::size_t j = i + 1; j < literals.size(); ++j) {
          sat_.add_clause({-literals[i], -literals[j]});
        }
      }
      return;
    }
    int before = literals.front();
    for (std::size_t i = 1; i < literals.size(); ++i) {
      sat_.add_clause({-before, -literals[i]});
      const int now = sat_.new_variable();
      sat_.add_clause({-before, now});
      sat_.add_clause({-literals[i], now});
      before = now;
    }
  }

  struct Truth {
    bool possible = false;
    bool certain = false;
    int literal = 0;  // when neither impossible nor certain
  };

  [[nodiscard]] Truth label_truth(int slot, int layout) const {
    const int label = live_.label_begin[Flat::at(slot)] + layout;
    const int op = flat_.slot_op[Flat::at(slot)];
    const int rows_with = live_.label_rows[Flat::at(label)];
    return {rows_with > 0, rows_with == live_.count[Flat::at(op)], label_literal_[Flat::at(label)]};
  }

  Truth request_truth(int tensor, int layout) {
    std::vector<int> reasons;
    for (const int use : flat_.uses_of(tensor)) {
      const Truth truth = label_truth(use, layout);
      if (truth.certain) {
        return {true, true, 0};
      }
      if (truth.possible) {
        reasons.push_back(truth.literal);
      }
    }
    if (reasons.empty()) {
      return {};
    }
    if (reasons.size() == 1) {
      return {true, false, reasons.front()};
    }
    const int literal = sat_.new_variable();
    for (const int reason : reasons) {
      sat_.add_clause({-reason, literal});
    }
    return {true, false, literal};
  }

  void add_tensor(int tensor) {
    const int producer = flat_.producer_slot[Flat::at(tensor)];
    if (flat_.layouts[Flat::at(tensor)] == 2 && add_single_conversion(tensor, producer)) {
      return;
    }
    for (int l = 0; l < flat_.layouts[Flat::at(tensor)]; ++l) {
      const Truth produced = label_truth(producer, l);
      if (produced.certain) {
        continue;
      }
      const Truth requested = request_truth(tensor, l);
      if (requested.possible) {
        add_conversions(tensor, producer, l, produced, requested);
      }
    }
  }

  // Of two layouts one is produced, so one conversion at most is paid: both ways share a soft literal.
  bool add_single_conversion(int tensor, int producer) {
    const Cost price[] = {live_.convert(tensor, 1, 0), live_.convert(tensor, 0, 1)};
    const Cost shared = std::min(price[0], price[1]);
    for (int l = 0; l < 2; ++l) {
      if (!label_truth(producer, l).possible || price[l] <= 0 || price[l] >= live_.big) {
        return false;
      }
    }
    const Truth requested[] = {request_truth(tensor, 0), request_truth(tensor, 1)};
    const int paid = sat_.new_variable();
    for (int l = 0; l < 2; ++l) {
      if (!requested[l].possible) {
        continue;
      }
      std::vector<int> clause{label_truth(producer, l).literal};
      if (!requested[l].certain) {
        clause.push_back(-requested[l].literal);
      }
      if (price[l] > shared) {
        pay(clause, price[l] - shared);
      }
      clause.push_back(paid);
      sat_.add_clause(clause);
    }
    sat_.add_soft(-paid, shared);
    return true;
  }

  void add_conversions(int tensor, int producer, int l, const Truth& produced,
                       const Truth& requested) {
    Cost least = infinity;
    for (int p = 0; p < flat_.layouts[Flat::at(tensor)]; ++p) {
      if (p != l && label_truth(producer, p).possible) {
        least = std::min(least, live_.convert(tensor, p, l));
      }
    }
    if (least > 0) {
      std::vector<int> clause;
      if (!requested.certain) {
        clause.push_back(-requested.literal);
      }
      if (produced.possible) {
        clause.push_back(produced.literal);
      }
      pay(clause, least);
    }
    for (int p = 0; p < flat_.layouts[Flat::at(tensor)]; ++p) {
      const Truth from = label_truth(producer, p);
      if (p == l || !from.possible || live_.convert(tensor, p, l) == least) {
        continue;
      }
      std::vector<int> clause;
      if (!requested.certain) {
        clause.push_back(-requested.literal);
      }
      if (!from.certain) {
        clause.push_back(-from.literal);
      }
      const Cost whole = live_.convert(tensor, p, l);
      pay(clause, whole >= live_.big ? whole : whole - least);
    }
  }

  // The clause may be violated for this price.
  void pay(std::vector<int> clause, Cost price) {
    if (clause.empty()) {
      base_ += price;
    } else if (clause.size() == 1 && price < live_.big) {
      sat_.add_soft(clause.front(), price);
    } else if (price >= live_.big) {
      sat_.add_clause(clause);
    } else {
      const int paid = sat_.new_variable();
      clause.push_back(paid);
      sat_.add_clause(clause);
      sat_.add_soft(-paid, price);
    }
  }

  // Whether a model chooses the row, or rows with its labels.
  [[nodiscard]] bool holds(const std::vector<bool>& truth, int op, int row) const {
    const auto is = [&](int literal) {
      return literal == 0 || truth[Flat::at(std::abs(literal))] == (literal > 0);
    };
    bool labels = is(row_literal_[Flat::at(row)]);
    for (int s = 0; s < flat_.slots(op) && labels; ++s) {
      labels = is(label_literal_[Flat::at(live_.labels_of(op, row)[s])]);
    }
    return labels;
  }

  // The assignment of a model, improved by local search, offered; returns the model's own cost.
  Cost take(const std::vector<bool>& truth) {
    LocalSearch found(flat_, &live_.row_alive);
    for (int op = 0; op < flat_.operators; ++op) {
      const auto rows = live_.rows(op);
      int chosen = -1;
      for (const int row : rows) {
        if (holds(truth, op, row) &&
            (chosen < 0 || flat_.row_cost[Flat::at(row)] < flat_.row_cost[Flat::at(chosen)])) {
          chosen = row;
        }
      }
      found.choose(op, chosen);
    }
    state_.offer(found, Proof::search);
    found.improve_all(std::int64_t{1} << 40);
    state_.offer(found, Proof::search);
    return std::min(state_.upper, live_.big);
  }

  State& state_;
  const Flat& flat_;
  const Live& live_;
  CoreGuided sat_;
  Cost base_ = 0;
  std::vector<int> row_literal_;
  std::vector<int> label_literal_;
};

}  // namespace

bool search(State& state, const ConflictLimits& limits) {
  return Encoding(state).run(limits);
}

}  // namespace systole::solver::exact
