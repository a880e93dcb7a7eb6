// MaxSAT: the paper's encoding (section 3.2.2), clause for clause, on Z3's optimizer.
//
// x(o, c): operator o uses row c. y(t, l): some consumer of t needs layout l. Hard: some row, no two rows; a chosen row
// that reads t in l implies y(t, l). Soft: not x(o, c) with weight cost(c); not (x(producer, c) and y(t, l')) with weight
// Ctr(l, l') for every row c of the producer with output l and every l' != l. Impossible rows have no variable and
// impossible conversions are hard clauses.
//
// Anytime: the answer starts from `greedy`; whatever Z3 holds when its time (600 s unless the budget says otherwise) is
// over is taken if better, and Z3's lower bound is reported. A budget of work is counted in Z3's resource units and ends
// at the same place on every run; seconds do not.
#include <fmt/format.h>
#include <z3++.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <optional>

#include "compiler/solver/flat.hpp"
#include "compiler/solver/strategies.hpp"

namespace systole::solver {
namespace {

constexpr double default_seconds = 3;

class Encoding {
 public:
  explicit Encoding(const Flat& flat) : flat_(flat), optimize_(context_), rows_(context_) {
    for (int op = 0; op < flat.operators; ++op) {
      add_rows(op);
    }
    for (int tensor = 0; tensor < flat.tensors; ++tensor) {
      add_conversions(tensor);
    }
  }

  // units: Z3's own count of work; 0: no limit.
  void solve(double seconds, std::int64_t units) {
    z3::params params(context_);
    if (units > 0) {
      params.set("rlimit", static_cast<unsigned>(std::min<std::int64_t>(units, UINT32_MAX)));
    }
    params.set("timeout", static_cast<unsigned>(std::max(1.0, std::min(seconds, 4e6) * 1000)));
    optimize_.set(params);
    answer_ = optimize_.check();
  }

  [[nodiscard]] z3::check_result answer() const { return answer_; }

  // Lower bound on the weight, when Z3 has one.
  [[nodiscard]] Cost bound() {
    if (!softs_) {
      return 0;
    }
    const std::string text = optimize_.lower(*handle_).to_string();
    Cost value = 0;
    return std::sscanf(text.c_str(), "%ld", &value) == 1 && value > 0 ? value : 0;
  }

  // Z3's present assignment; empty when it has none.
  [[nodiscard]] Assignment assignment() {
    Assignment out;
    try {
      const z3::model model = optimize_.get_model();
      for (int op = 0; op < flat_.operators; ++op) {
        int chosen = flat_.row_begin[Flat::at(op)];
        for (int row = chosen; row < flat_.row_begin[Flat::at(op) + 1]; ++row) {
          if (model.eval(rows_[row], true).is_true()) {
            chosen = row;
            break;
          }
        }
        out.row.add(flat_.row_index[Flat::at(chosen)]);
      }
    } catch (const z3::exception&) {
      out.row = {};  // no model yet
    }
    return out;
  }

 private:
  void soft(const z3::expr& clause, Cost weight) {
    if (weight > 0) {
      handle_ = optimize_.add_soft(clause, std::to_string(weight).c_str());
      softs_ = true;
    }
  }

  void add_rows(int op) {
    z3::expr_vector some(context_);
    const int begin = flat_.row_begin[Flat::at(op)];
    const int end = flat_.row_begin[Flat::at(op) + 1];
    for (int row = begin; row < end; ++row) {
      const z3::expr x = context_.bool_const(fmt::format("x{}", row).c_str());
      rows_.push_back(x);
      some.push_back(x);
      soft(!x, flat_.row_cost[Flat::at(row)]);
    }
    optimize_.add(z3::mk_or(some));
    for (int a = begin; a < end; ++a) {
      for (int b = a + 1; b < end; ++b) {
        optimize_.add(!rows_[a] || !rows_[b]);
      }
    }
    for (int row = begin; row < end; ++row) {
      for (int s = 0; s < flat_.inputs(op); ++s) {
        const int tensor = flat_.slot_tensor[Flat::at(flat_.slot_begin[Flat::at(op)] + s)];
        optimize_.add(!rows_[row] || request(tensor, flat_.layouts_of(op, row)[s]));
      }
    }
  }

  z3::expr request(int tensor, int layout) {
    return context_.bool_const(fmt::format("y{}_{}", tensor, layout).c_str());
  }

  void add_conversions(int tensor) {
    if (flat_.uses(tensor) == 0) {
      return;
    }
    const int producer = flat_.slot_op[Flat::at(flat_.producer_slot[Flat::at(tensor)])];
    for (int row = flat_.row_begin[Flat::at(producer)];
         row < flat_.row_begin[Flat::at(producer) + 1]; ++row) {
      const int from = flat_.layouts_of(producer, row)[flat_.inputs(producer)];
      for (int to = 0; to < flat_.layouts[Flat::at(tensor)]; ++to) {
        const Cost cost = flat_.convert(tensor, from, to);
        const z3::expr clause = !rows_[row] || !request(tensor, to);
        if (to != from && cost >= infinity) {
          optimize_.add(clause);
        } else if (to != from) {
          soft(clause, cost);
        }
      }
    }
  }

  const Flat& flat_;
  z3::context context_;
  z3::optimize optimize_;
  z3::expr_vector rows_;
  std::optional<z3::optimize::handle> handle_;
  bool softs_ = false;
  z3::check_result answer_ = z3::unknown;
};

}  // namespace

Result run_maxsat(const Problem& problem, const Budget& budget) {
  Result result = run_greedy(problem, budget);
  result.stats.clear();
  if (result.proof != Proof::none) {
    return result;  // settled before any search
  }
  const Flat flat = flatten(problem);
  Encoding encoding(flat);
  encoding.solve(budget.seconds > 0 ? budget.seconds : default_seconds, budget.work);
  if (encoding.answer() == z3::unsat) {
    Result none;
    none.status = Status::infeasible;
    none.bound = infinity;
    none.proof = Proof::outside;
    return none;
  }
  Assignment found = encoding.assignment();
  if (!found.row.empty()) {
    const Cost cost = evaluate(problem, found);
    if (cost < result.cost || encoding.answer() == z3::sat) {
      result.cost = cost;
      result.assignment = std::move(found);
      result.status = Status::feasible;
      result.note.clear();
    }
  }
  result.bound = std::min(result.cost, std::max(result.bound, encoding.bound()));
  if (encoding.answer() == z3::sat) {
    result.bound = result.cost;
    result.status = Status::proven;
    result.proof = Proof::outside;
  } else {
    result.note = budget.work > 0 ? "the budget ended before the proof" : "time budget ended before the proof";
  }
  return result;
}

}  // namespace systole::solver
