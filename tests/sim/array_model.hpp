// The tensor engine one processing element and one cycle at a time, independent of sim/: R x C elements, each with an
// active and a shadow weight. Activations enter on the left, row r one cycle after row r - 1, and move right; partial sums
// move down; column c of the result leaves the bottom row. A multiply of N columns feeds N columns in N cycles; the next
// may follow at once, so results of both are in the array together. The token "take the shadow weight" travels with the
// first column of a multiply, so weights change element by element along the wavefront while old columns drain ahead of
// it. Shadow weights are filled `load_rate` columns per cycle while the array multiplies, skewed like the wavefront: an
// element's shadow is replaced only after the token for its predecessor has passed. One instruction issues per cycle.
//
// With `pairs` = 2 (the double row of fp8) every element holds two weights, receives two activations and adds both products
// in its one cycle: row r of the array then serves rows 2r and 2r + 1 of the operands.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

namespace systole::sim::testing {

using Matrix = std::vector<std::vector<float>>;

class ArrayModel {
 public:
  ArrayModel(int rows, int columns, int load_rate, int min_interval, int pairs = 1)
      : rows_(rows),
        pairs_(static_cast<std::size_t>(pairs)),
        columns_(columns),
        load_rate_(load_rate),
        min_interval_(min_interval),
        cells_(static_cast<std::size_t>(rows * columns)) {}

  // Instructions, in order. weights[k][m], moving[k][n]; all rows and columns in use.
  void load(const Matrix& weights) { queue_.push_back({true, weights}); }
  void multiply(const Matrix& moving) { queue_.push_back({false, moving}); }

  // Runs to the end; afterwards results() and cycles().
  void run() {
    while (!queue_.empty() || in_flight_ > 0 || loading_ > 0 || !pending_.empty()) {
      step();
    }
  }
  // One [columns][N] matrix per multiply.
  [[nodiscard]] const std::vector<Matrix>& results() const { return results_; }
  [[nodiscard]] std::int64_t cycles() const { return cycle_; }
  // Cycle in which the last column of the last multiply entered, plus one: when the next could have begun.
  [[nodiscard]] std::int64_t input_end() const { return input_free_; }

 private:
  struct Instruction {
    bool load = false;
    Matrix data;
  };
  using Pair = std::array<float, 2>;
  struct Token {  // an activation and what travels with it
    bool valid = false;
    bool take = false;  // first column of a multiply with fresh weights
    int multiply = 0;
    int column = 0;
    Pair values{};
  };
  struct Sum {
    bool valid = false;
    int multiply = 0;
    int column = 0;
    float value = 0;
  };
  struct Cell {
    Pair active{};
    Token token;
    Sum sum;
  };
  struct Entry {  // column `column` of a multiply enters row r at cycle `at` + r
    std::int64_t at = 0;
    bool take = false;
    int multiply = 0;
    int column = 0;
    std::vector<Pair> values;  // per row of the array
  };

  // Rows r * pairs, ... of one column.
  [[nodiscard]] Pair pair_of(const Matrix& data, int r, int column) const {
    Pair pair{};
    for (std::size_t i = 0; i < pairs_; ++i) {
      pair[i] = data[static_cast<std::size_t>(r) * pairs_ + i][static_cast<std::size_t>(column)];
    }
    return pair;
  }
  Cell& cell(int r, int c) { return cells_[static_cast<std::size_t>(r * columns_ + c)]; }

  void issue() {
    if (queue_.empty() || loading_ > 0) {
      return;
    }
    Instruction& next = queue_.front();
    if (next.load) {
      load_data_ = next.data;
      loading_ = (columns_ + load_rate_ - 1) / load_rate_;
      queue_.pop_front();
      return;
    }
    if (cycle_ < input_free_) {
      return;
    }
    const int n = static_cast<int>(next.data[0].size());
    const int id = static_cast<int>(results_.size());
    results_.emplace_back(static_cast<std::size_t>(columns_),
                          std::vector<float>(static_cast<std::size_t>(n), 0));
    for (int j = 0; j < n; ++j) {
      Entry entry{cycle_ + j, fresh_ && j == 0, id, j, {}};
      for (int r = 0; r < rows_; ++r) {
        entry.values.push_back(pair_of(next.data, r, j));
      }
      pending_.push_back(std::move(entry));
    }
    taken_.push_back(fresh_ ? shadow_ : Matrix{});
    fresh_ = false;
    in_flight_ += n * columns_;
    input_free_ = cycle_ + std::max(n, min_interval_);
    queue_.pop_front();
  }

  void step() {
    issue();
    // Move everything one place: right for activations, down for sums; far elements first.
    for (int r = rows_ - 1; r >= 0; --r) {
      for (int c = columns_ - 1; c >= 0; --c) {
        cell(r, c).token = c > 0 ? cell(r, c - 1).token : Token{};
      }
    }
    for (const Entry& entry : pending_) {
      const std::int64_t row = cycle_ - entry.at;
      if (row >= 0 && row < rows_) {
        cell(static_cast<int>(row), 0).token = {true, entry.take, entry.multiply, entry.column,
                                                entry.values[static_cast<std::size_t>(row)]};
      }
    }
    while (!pending_.empty() && cycle_ - pending_.front().at >= rows_) {
      pending_.pop_front();
    }
    for (int r = rows_ - 1; r >= 0; --r) {
      for (int c = columns_ - 1; c >= 0; --c) {
        compute(r, c);
      }
    }
    for (int c = 0; c < columns_; ++c) {
      Sum& out = cell(rows_ - 1, c).sum;
      if (out.valid) {
        results_[static_cast<std::size_t>(out.multiply)][static_cast<std::size_t>(c)]
                [static_cast<std::size_t>(out.column)] = out.value;
        --in_flight_;
        out.valid = false;
      }
    }
    load_columns();
    ++cycle_;
  }

  void compute(int r, int c) {
    Cell& here = cell(r, c);
    if (!here.token.valid) {
      here.sum.valid = false;
      return;
    }
    if (here.token.take) {
      here.active = pair_of(taken_[static_cast<std::size_t>(here.token.multiply)], r, c);
    }
    float sum = r > 0 ? cell(r - 1, c).sum.value : 0.0F;
    for (std::size_t i = 0; i < pairs_; ++i) {
      sum = std::fma(here.active[i], here.token.values[i], sum);
    }
    here.sum = {true, here.token.multiply, here.token.column, sum};
  }

  void load_columns() {
    if (loading_ > 0 && --loading_ == 0) {
      shadow_ = load_data_;
      fresh_ = true;
    }
  }

  int rows_;
  std::size_t pairs_;
  int columns_;
  int load_rate_;
  int min_interval_;
  std::vector<Cell> cells_;
  std::deque<Instruction> queue_;
  std::deque<Entry> pending_;
  std::vector<Matrix> results_;
  std::vector<Matrix> taken_;  // by multiply: the weights that its first column brings in, if any
  Matrix load_data_;
  Matrix shadow_;
  bool fresh_ = false;  // shadow weights loaded and not yet taken over
  int loading_ = 0;     // cycles left
  std::int64_t cycle_ = 0;
  std::int64_t input_free_ = 0;
  std::int64_t in_flight_ = 0;
};

}  // namespace systole::sim::testing
