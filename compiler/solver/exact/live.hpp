// The rows and labels of a problem that can still be part of a better solution.
//
// A label is a layout of one argument slot. Rows die by dominance or by reduced cost; a label dies with the last row
// that uses it. Row numbers are the global ones of Flat, label numbers are label_begin[slot] + layout.
// Conversions of infinite cost are kept as `big`, a finite number above every finite total, so that bounds need no
// special cases; a solution that costs `big` or more is impossible.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "compiler/solver/flat.hpp"

namespace systole::solver::exact {

struct Live {
  const Flat* flat = nullptr;
  std::vector<int> row;          // live rows of operator o: row[flat.row_begin[o]] ... + count[o]
  std::vector<char> row_alive;   // per row
  std::vector<int> count;        // per operator
  std::vector<int> label_begin;  // per slot, and one more
  std::vector<int> label_rows;   // per label: live rows that use it
  std::vector<int> row_label;    // like Flat::row_layouts, but label numbers
  std::vector<Cost> conversion;  // like Flat::conversion, infinity replaced by big
  Cost big = 0;                  // above every finite total

  [[nodiscard]] std::span<const int> rows(int op) const {
    return {row.data() + flat->row_begin[Flat::at(op)], Flat::at(count[Flat::at(op)])};
  }
  [[nodiscard]] const int* labels_of(int op, int r) const {
    return row_label.data() + flat->row_layouts_begin[Flat::at(op)] +
           Flat::at(r - flat->row_begin[Flat::at(op)]) * Flat::at(flat->slots(op));
  }
  [[nodiscard]] bool alive(int slot, int layout) const {
    return label_rows[Flat::at(label_begin[Flat::at(slot)] + layout)] > 0;
  }
  [[nodiscard]] Cost convert(int tensor, int from, int to) const {
    return conversion[flat->conversion_begin[Flat::at(tensor)] +
                      Flat::at(from) * Flat::at(flat->layouts[Flat::at(tensor)]) + Flat::at(to)];
  }
  // Removes the i-th live row of op; the others keep their order.
  void remove(int op, int i);
};

Live all_alive(const Flat& flat);

// Removes rows that another row of the same operator replaces in every solution without loss: the other's cost plus
// the most that switching each slot's layout can add is no more. Returns the number of rows removed.
// Never empties an operator; ties are broken so that two rows cannot remove each other.
std::int64_t remove_dominated(Live& live);

}  // namespace systole::solver::exact
