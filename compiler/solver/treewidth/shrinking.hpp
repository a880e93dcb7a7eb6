// A graph from which vertices are eliminated: the neighbours of an eliminated vertex become a clique.
#pragma once

#include <cstddef>
#include <vector>

namespace systole::solver::treewidth {

class Shrinking {
 public:
  explicit Shrinking(std::vector<std::vector<int>> adjacency) : adjacency_(std::move(adjacency)) {}

  [[nodiscard]] const std::vector<int>& neighbours(int v) const { return adjacency_[at(v)]; }
  [[nodiscard]] bool adjacent(int u, int v) const;
  // Pairs of neighbours that are not adjacent yet.
  [[nodiscard]] int fill(int v) const;
  void eliminate(int v);
  // Merges v into its neighbour u.
  void contract(int v, int u);

 private:
  static std::size_t at(int v) { return static_cast<std::size_t>(v); }

  std::vector<std::vector<int>> adjacency_;
  std::vector<int> merged_;
};

}  // namespace systole::solver::treewidth
