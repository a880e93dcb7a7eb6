// An assignment that can be changed one operator at a time, with the exact price of each change.
//
// Keeps, per tensor and layout, how many uses request it, so the price of a row given everything else is read off in
// time proportional to the operator's slots. Rows are the global row numbers of Flat; -1 is "not chosen yet", and
// operators not chosen yet neither produce nor request anything (conversions from an unknown layout cost nothing).
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/solver/flat.hpp"

namespace systole::solver {

class LocalSearch {
 public:
  // allowed: per row, whether improve() may choose it; nullptr allows all. Both must outlive this object.
  explicit LocalSearch(const Flat& flat, const std::vector<char>* allowed = nullptr);

  [[nodiscard]] int row(int op) const { return row_[Flat::at(op)]; }
  // Removes the choice of op; no effect when it has none.
  void clear(int op);
  // Chooses a row for an operator that has none.
  void choose(int op, int row);
  // What choosing `row` would add to the objective, for an operator that has no choice now.
  [[nodiscard]] Cost price(int op, int row) const;
  // Gives op its cheapest row, everything else fixed; keeps the present one on ties, else the lowest number.
  // Returns whether the objective went down.
  bool improve(int op);
  // Improves operators in topological order and back until nothing changes. Returns the number of price() calls;
  // stops early when it exceeds `limit`.
  std::int64_t improve_all(std::int64_t limit);

  [[nodiscard]] Assignment assignment() const;

 private:
  [[nodiscard]] std::size_t request(int tensor, int layout) const {
    return request_begin_[Flat::at(tensor)] + Flat::at(layout);
  }
  [[nodiscard]] Cost output_price(int tensor, int layout) const;

  const Flat& flat_;
  const std::vector<char>* allowed_;
  std::vector<int> row_;
  std::vector<int> produced_;  // per tensor; -1 unknown
  std::vector<std::size_t> request_begin_;
  std::vector<int> requests_;
};

// Topological start: every operator takes the row that is cheapest given its predecessors.
void start_topologically(const Flat& flat, LocalSearch& search);

}  // namespace systole::solver
