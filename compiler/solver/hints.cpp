#include "compiler/solver/hints.hpp"

#include <algorithm>

namespace systole::solver {

int cheapest_row(const Flat& flat, int op) {
  int best = flat.row_begin[Flat::at(op)];
  for (int row = best + 1; row < flat.row_begin[Flat::at(op) + 1]; ++row) {
    if (flat.row_cost[Flat::at(row)] < flat.row_cost[Flat::at(best)]) {
      best = row;
    }
  }
  return best;
}

Cost cost_spread(const Flat& flat, int op) {
  Cost most = 0;
  for (int row = flat.row_begin[Flat::at(op)]; row < flat.row_begin[Flat::at(op) + 1]; ++row) {
    most = std::max(most, flat.row_cost[Flat::at(row)]);
  }
  return most - flat.row_cost[Flat::at(cheapest_row(flat, op))];
}

std::vector<bool> anchors(const Problem& problem, const Flat& flat) {
  std::vector<bool> out;
  bool any = false;
  for (const Operator& op : problem.operators) {
    out.push_back(op.family == "contraction" || op.family == "convolution");
    any = any || out.back();
  }
  if (any || flat.operators == 0) {
    return out;
  }
  Cost total = 0;
  for (int op = 0; op < flat.operators; ++op) {
    total += flat.row_cost[Flat::at(cheapest_row(flat, op))];
  }
  const Cost average = total / flat.operators;
  for (int op = 0; op < flat.operators; ++op) {
    out[Flat::at(op)] = flat.row_cost[Flat::at(cheapest_row(flat, op))] > average;
  }
  return out;
}

std::vector<int> by_falling_spread(const Flat& flat, const std::vector<bool>& chosen) {
  std::vector<int> out;
  std::vector<Cost> spread(Flat::at(flat.operators));
  for (const int op : flat.topological) {
    if (chosen[Flat::at(op)]) {
      spread[Flat::at(op)] = cost_spread(flat, op);
      out.push_back(op);
    }
  }
  std::stable_sort(out.begin(), out.end(),
                   [&](int a, int b) { return spread[Flat::at(a)] > spread[Flat::at(b)]; });
  return out;
}

}  // namespace systole::solver
