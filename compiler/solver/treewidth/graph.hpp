// Undirected graphs and tree decompositions.
//
// Convention used wherever a width is printed: the graph of a problem has one vertex per OPERATOR, sources included,
// and an edge between a producer and each of its consumers. The width of a decomposition is its largest bag minus one.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "compiler/solver/problem.hpp"

namespace systole::solver::treewidth {

struct Graph {
  std::vector<std::vector<int>> adjacency;  // sorted, without loops and repetitions

  [[nodiscard]] int vertices() const { return static_cast<int>(adjacency.size()); }
  bool operator==(const Graph&) const = default;
};

Graph graph_of(const Problem& problem);
Graph graph_of_edges(int vertices, const std::vector<std::pair<int, int>>& edges);

struct Decomposition {
  std::vector<std::vector<int>> bags;      // sorted vertices
  std::vector<std::pair<int, int>> edges;  // between bags

  [[nodiscard]] int width() const;  // -1 without bags
  bool operator==(const Decomposition&) const = default;
};

// Violations of the three conditions of a tree decomposition, and of having no cycle of bags.
std::vector<Diagnostic> check(const Graph& graph, const Decomposition& decomposition);

// One bag per vertex: the vertex and its neighbours when its turn comes. The order names every vertex once.
Decomposition decomposition_of(const Graph& graph, const std::vector<int>& order);

// The reverse: an elimination order whose width is at most that of the decomposition, which must pass check().
std::vector<int> order_of(const Decomposition& decomposition);

// Width of that decomposition without building it; stops and returns `limit` as soon as it reaches it.
int width_of(const Graph& graph, const std::vector<int>& order, int limit);

}  // namespace systole::solver::treewidth
