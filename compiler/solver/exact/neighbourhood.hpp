// Large-neighbourhood search on a cost network: free a connected set of variables, solve it exactly with the others
// fixed, keep what is cheaper.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/solver/exact/clock.hpp"
#include "compiler/solver/exact/network.hpp"

namespace systole::solver::exact {

struct Improvement {
  Cost gained = 0;          // how much the tables' sum went down
  std::int64_t cells = 0;   // computed by the sub-solves
  std::int64_t solved = 0;  // neighbourhoods
};

// Changes `values` in place. Works until `cells` are computed or the clock runs out; the same seed repeats the run.
Improvement improve_by_neighbourhoods(const Network& network, std::vector<int>& values,
                                      std::int64_t cells, std::uint64_t seed, const Clock& clock);

}  // namespace systole::solver::exact
