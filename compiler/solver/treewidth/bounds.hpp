// Bounds on treewidth and, for small cases, the exact value.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/solver/treewidth/graph.hpp"

namespace systole::solver::treewidth {

// Minor-min-width: repeatedly contract a vertex of least degree into the neighbour it shares fewest neighbours with;
// the largest least degree met is a lower bound.
int lower_bound(const Graph& graph);

std::vector<int> min_degree_order(const Graph& graph);
// seed 0: ties by vertex number; other seeds break ties at random.
std::vector<int> min_fill_order(const Graph& graph, std::uint64_t seed = 0);

struct Width {
  int lower = 0;
  int upper = 0;
  std::vector<int> order;  // elimination order of width `upper`
  std::int64_t steps = 0;

  [[nodiscard]] bool exact() const { return lower == upper; }
};

// Best of min-degree, min-fill and `restarts` randomised min-fill orders, and the lower bound.
Width width_bounds(const Graph& graph, int restarts = 16);

// Exact by safe reductions (simplicial and almost simplicial vertices) and branch and bound over elimination orders,
// component by component; stays an interval when more than `steps` search nodes would be needed.
Width exact_width(const Graph& graph, std::int64_t steps = 200'000);

}  // namespace systole::solver::treewidth
