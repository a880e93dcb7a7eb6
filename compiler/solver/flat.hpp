// A problem as flat arrays, for algorithms that go over it many times.
//
// Operators, tensors and rows are plain int indices (the same numbers as the ids and row positions of the problem);
// rows of infinite cost are left out, `row_index` keeps the position in the problem. Argument slots are numbered
// through: slot slot_begin[o] + i is argument i of operator o, and the last slot of o is its output.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "compiler/solver/problem.hpp"

namespace systole::solver {

struct Flat {
  int operators = 0;
  int tensors = 0;

  std::vector<int> slot_begin;                 // per operator, and one more
  std::vector<int> slot_tensor;                // per slot
  std::vector<int> slot_op;                    // per slot
  std::vector<int> row_begin;                  // per operator, and one more
  std::vector<int> row_index;                  // per row: position in Problem
  std::vector<Cost> row_cost;                  // per row
  std::vector<std::size_t> row_layouts_begin;  // per operator: where its first row's layouts start
  std::vector<int> row_layouts;                // slots of the operator, row after row

  std::vector<int> layouts;                   // per tensor
  std::vector<std::size_t> conversion_begin;  // per tensor
  std::vector<Cost> conversion;
  std::vector<int> producer_slot;  // per tensor: the output slot that produces it
  std::vector<int> use_begin;      // per tensor, and one more
  std::vector<int> use_slot;       // slots that read it, ascending by operator and argument

  std::vector<int> topological;  // operators, producers first

  [[nodiscard]] int slots(int op) const { return slot_begin[at(op) + 1] - slot_begin[at(op)]; }
  [[nodiscard]] int inputs(int op) const { return slots(op) - 1; }
  [[nodiscard]] int output(int op) const { return slot_tensor[at(slot_begin[at(op) + 1] - 1)]; }
  [[nodiscard]] int rows(int op) const { return row_begin[at(op) + 1] - row_begin[at(op)]; }
  [[nodiscard]] int uses(int tensor) const {
    return use_begin[at(tensor) + 1] - use_begin[at(tensor)];
  }
  // Layouts of row `row` (a global row number) of operator `op`.
  [[nodiscard]] const int* layouts_of(int op, int row) const {
    return row_layouts.data() + row_layouts_begin[at(op)] +
           at(row - row_begin[at(op)]) * at(slots(op));
  }
  [[nodiscard]] Cost convert(int tensor, int from, int to) const {
    return conversion[conversion_begin[at(tensor)] + at(from) * at(layouts[at(tensor)]) + at(to)];
  }
  [[nodiscard]] std::span<const int> uses_of(int tensor) const {
    return {use_slot.data() + use_begin[at(tensor)], at(uses(tensor))};
  }

  static std::size_t at(int index) { return static_cast<std::size_t>(index); }
};

// Needs a problem that passed check(). An operator may end up without rows: then no assignment is finite.
Flat flatten(const Problem& problem);

}  // namespace systole::solver
