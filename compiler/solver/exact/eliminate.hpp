// Exact solving of a cost network by eliminating variables one after another.
//
// Eliminating x adds all tables that contain x and keeps, for every combination of the other variables, the minimum
// over x and the value that reaches it. In reverse order the kept values give an optimal solution. Values at or above
// `cap` count as impossible, so tables hold at most cap and, whenever it is small enough, 32-bit numbers suffice.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/solver/exact/clock.hpp"
#include "compiler/solver/exact/network.hpp"

namespace systole::solver::exact {

struct Elimination {
  bool complete =
      false;           // false: nothing is known, because the clock ran out or costs are too large
  bool found = false;  // a solution below cap exists
  Cost value = 0;      // of the tables' sum, without the network's constant
  std::vector<int> values;  // per variable, when found
  std::int64_t cells = 0;   // cells computed
  std::int64_t reused = 0;  // cells of bags that were recognised and not computed
};

struct Settings {
  int threads = 1;     // never changes the outcome
  bool reuse = false;  // recognise repeated bags (repeats.hpp); never changes value or proof
  const Clock* clock = nullptr;
};

// order names every variable once. Every table entry must be non-negative.
Elimination eliminate(const Network& network, const std::vector<int>& order, Cost cap,
                      const Settings& settings = {});

}  // namespace systole::solver::exact
