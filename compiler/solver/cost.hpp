// The currency of Layout Selection: non-negative whole numbers with a named infinity.
//
// `infinity` marks what cannot be done: an unsupported row, an impossible conversion. Sums saturate there and never
// overflow. Every finite cost lies in [0, infinity); check(problem) also demands that the worst finite total stays
// below infinity, so a sum is infinite exactly when one of its terms is. Units are the caller's (cycles, as a rule).
#pragma once

#include <cstdint>

namespace systole::solver {

using Cost = std::int64_t;

inline constexpr Cost infinity = Cost{1} << 60;

[[nodiscard]] constexpr Cost add(Cost a, Cost b) {
  return a >= infinity - b ? infinity : a + b;
}

}  // namespace systole::solver
