// Elimination under a threshold: only combinations that can still be part of a solution at or below it are kept.
//
// The network's tables are reduced (non-negative, least entry near 0), so a partial sum above the threshold is dead
// whatever comes later. Where the dual bound is within a few per cent of the optimum, bags of 10^12 cells hold some
// thousands of such entries. Tables are lists of entries; a bag joins the lists over their common variables.
// If no solution is found, every solution costs more than the threshold: that is a bound.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/solver/exact/clock.hpp"
#include "compiler/solver/exact/network.hpp"

namespace systole::solver::exact {

struct Sparse {
  bool complete =
      false;  // false: nothing is known; too many entries, too wide a bag, or the clock ran out
  bool found = false;        // the optimum is at or below the threshold
  Cost value = 0;            // of the tables' sum, without the network's constant, when found
  std::vector<int> values;   // per variable, when found
  std::int64_t entries = 0;  // joined: the work done
};

struct SparseLimits {
  std::int64_t entries = 0;  // joined
  std::int64_t bytes = 0;    // held at once
};

// order names every variable once. Every table entry must be non-negative.
Sparse eliminate_below(const Network& network, const std::vector<int>& order, Cost threshold,
                       const SparseLimits& limits, const Clock& clock);

}  // namespace systole::solver::exact
