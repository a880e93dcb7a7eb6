// Encoding. Per operator exactly one row literal is true; a label literal says that a slot uses a layout (the row
// literal itself where only one row has the label). Per tensor and layout a request literal follows from the labels of
// the uses. Conversions: the least cost of obtaining layout l from elsewhere is paid once when l is requested and not
// produced; what a particular produced layout costs more is paid on top. Rows pay what they cost above the operator's
// cheapest, so the search starts from the sum of cheapest rows.
#include "compiler/solver/exact/search.hpp"

#include <algorithm>
#include <limits>

#include "compiler/solver/exact/core_guided.hpp"

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

  bool run(int conflicts_per_call) {
    const Cost upper = state_.upper >= infinity ? live_.big : state_.upper;
    const auto outcome = sat_.solve(
        conflicts_per_call, upper - base_,
        [&](const std::vector<bool>& truth) { return take(truth) - base_; },
        [&](Cost bound) { state_.raise(base_ + bound, Proof::search); });
    if (outcome == CoreGuided::Outcome::unsatisfiable) {
      state_.raise(live_.big, Proof::search);
    }
    state_.count("cores", sat_.cores());
    state_.count("sat_calls", sat_.calls());
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
    std::vector<int> some;
    for (const int row : rows) {
      const int literal = sat_.new_variable();
      row_literal_[Flat::at(row)] = literal;
      some.push_back(literal);
      const Cost extra = flat_.row_cost[Flat::at(row)] - least;
      if (extra > 0) {
        sat_.add_soft(-literal, extra);
      }
      if (!state_.best.empty()) {
        sat_.prefer(state_.best[Flat::at(op)] == row ? literal : -literal);
      }
    }
    sat_.add_clause(some);
    at_most_one(some);
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

  // The assignment of a model, improved by local search, offered; returns the model's own cost.
  Cost take(const std::vector<bool>& truth) {
    LocalSearch found(flat_, &live_.row_alive);
    for (int op = 0; op < flat_.operators; ++op) {
      const auto rows = live_.rows(op);
      int chosen = rows.front();
      for (const int row : rows) {
        const int literal = row_literal_[Flat::at(row)];
        if (literal != 0 && truth[Flat::at(literal)]) {
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

bool search(State& state, int conflicts_per_call) {
  return Encoding(state).run(conflicts_per_call);
}

}  // namespace systole::solver::exact
