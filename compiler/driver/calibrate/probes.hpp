// Assignments for measuring: they reach configurations and conversions that no strategy would choose, which is where a
// cost model errs unseen.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "compiler/solver/problem.hpp"

namespace systole::driver {

// The optimum, then up to `count` seeded ones: some operators are held to a random row, the others solved exactly around
// them. All different. The problem has passed check().
[[nodiscard]] std::vector<solver::Assignment> probes(const solver::Problem& problem,
                                                     std::size_t count, std::uint64_t seed);

}  // namespace systole::driver
