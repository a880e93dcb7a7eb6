// Elimination orders for a cost network, judged by simulation.
//
// Eliminating a variable builds a table over it and its neighbours (the bag) and connects the neighbours. The price of
// an order is the sum of bag sizes in cells; it varies between heuristics by many orders of magnitude, so several are
// simulated and the cheapest is kept. A simulation stops as soon as it is dearer than the best so far.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/solver/exact/clock.hpp"
#include "compiler/solver/exact/network.hpp"

namespace systole::solver::exact {

struct Order {
  std::vector<int> variables;
  double cells = 0;    // sum of bag sizes
  double largest = 0;  // largest bag
};

enum class Score { weight, fill, weighted_fill, fill_and_weight };

// Adjacency of a network: variables that share a factor. Sorted lists.
std::vector<std::vector<int>> adjacency_of(const Network& network);

// Simulates a given order; cells is infinite when the total exceeds `limit` or the clock runs out.
Order simulate(const std::vector<int>& domain, std::vector<std::vector<int>> adjacency,
               std::vector<int> variables, double limit, const Clock* clock = nullptr);

// Greedy: always eliminates a variable of least score. seed 0 breaks ties by number; other seeds perturb the scores.
Order greedy_order(const std::vector<int>& domain, std::vector<std::vector<int>> adjacency,
                   Score score, double limit, std::uint64_t seed, const Clock* clock = nullptr);

// The best of all heuristics; `sweeps` holds orders to try besides the greedy ones. Stops searching when the total is
// below `enough`; gives up on an order when it is above `most`.
// When the clock runs out, what is known so far is returned; cells is infinite when that is nothing.
Order best_order(const Network& network, const std::vector<std::vector<int>>& sweeps, double enough,
                 double most, const Clock& clock);

// What eliminating in this order needs at once: live tables of `cell_bytes` per cell plus the kept choices.
double bytes_needed(const Network& network, const Order& order, double cell_bytes);

}  // namespace systole::solver::exact
