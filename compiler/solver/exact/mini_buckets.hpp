// Lower bounds for networks whose elimination is too large: mini-buckets.
//
// Like elimination, but where the tables that meet in a bag would exceed a limit they are minimised in groups, each
// with its own copy of the variable. That can only lower the result, so it is a bound. Before the groups part, their
// minima per value are averaged over them, which makes the copies agree as well as a shift can (moment matching).
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/solver/exact/clock.hpp"
#include "compiler/solver/exact/network.hpp"

namespace systole::solver::exact {

struct MiniBuckets {
  bool complete = false;  // false: the clock ran out; bound is 0
  Cost bound = 0;         // of the tables' sum, without the network's constant
  std::int64_t cells = 0;
};

// limit: most cells of a group. Entries at or above cap count as cap.
MiniBuckets mini_buckets(const Network& network, const std::vector<int>& order, double limit,
                         Cost cap, const Clock& clock);

}  // namespace systole::solver::exact
