// The live rest of a problem as a cost network over layout variables (the normal factor graph).
//
// Variables: one per argument slot with two or more live layouts; per tensor with three or more free uses a set
// variable (which layouts are made available); per operator whose table would be large a row variable.
// Factors: operators see their slots, tensors see producer and uses. Multipliers of the dual are kept in the tables
// (costs are scaled and reduced), so every table is non-negative and the network's constant is the dual bound.
// Without a dual, tables hold the true costs: the same network, in which equal parts of the problem look equal.
#pragma once

#include <vector>

#include "compiler/solver/exact/dual.hpp"
#include "compiler/solver/exact/network.hpp"

namespace systole::solver::exact {

// Yes/no variable: is `layout` of `tensor` made available to its uses?
struct Flag {
  int variable = 0;
  int tensor = 0;
  int layout = 0;
};

struct Residual {
  Network network;
  std::vector<int> slot_variable;       // per slot; -1 when its layout is settled
  std::vector<int> slot_layouts_begin;  // per slot, and one more
  std::vector<int>
      slot_layouts;  // live layouts of each slot: value i of its variable is layout i of these
  std::vector<int> row_variable;  // per operator; -1 when it has none
  std::vector<int> set_variable;  // per tensor; -1 when it has none
  std::vector<std::vector<unsigned>>
      sets;  // per tensor with set variable: bit masks over offered layouts
  std::vector<std::vector<int>>
      offered;                     // per tensor with set variable: the layouts the bits stand for
  std::vector<Flag> flags;         // for tensors with too many layouts for set variables
  std::vector<int> time_forward;   // per variable: operator position at which a sweep can drop it
  std::vector<int> time_backward;  // the same for a sweep from the end
  std::vector<int> variable_op;    // per variable: the operator it belongs to

  [[nodiscard]] int layout(int slot, int value) const {
    return slot_layouts[Flat::at(slot_layouts_begin[Flat::at(slot)] + value)];
  }
  [[nodiscard]] int choices(int slot) const {
    return slot_layouts_begin[Flat::at(slot) + 1] - slot_layouts_begin[Flat::at(slot)];
  }
};

Residual residual_of(const Live& live, const Dual* dual);

// Values of all variables for an assignment given as one live row per operator (a global row number).
std::vector<int> values_of(const Residual& residual, const Live& live,
                           const std::vector<int>& rows);

// The cheapest live row per operator that fits the variables' values.
std::vector<int> rows_of(const Residual& residual, const Live& live, const std::vector<int>& value);

}  // namespace systole::solver::exact
