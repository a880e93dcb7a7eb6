#include "compiler/solver/treewidth/shrinking.hpp"

#include <algorithm>
#include <iterator>

namespace systole::solver::treewidth {

bool Shrinking::adjacent(int u, int v) const {
  const std::vector<int>& near = adjacency_[at(u)];
  return std::binary_search(near.begin(), near.end(), v);
}

int Shrinking::fill(int v) const {
  const std::vector<int>& near = adjacency_[at(v)];
  int missing = 0;
  for (std::size_t i = 0; i < near.size(); ++i) {
    for (std::size_t j = i + 1; j < near.size(); ++j) {
      missing += adjacent(near[i], near[j]) ? 0 : 1;
    }
  }
  return missing;
}

void Shrinking::eliminate(int v) {
  const std::vector<int> near = std::move(adjacency_[at(v)]);
  adjacency_[at(v)].clear();
  for (const int u : near) {
    std::vector<int>& other = adjacency_[at(u)];
    merged_.clear();
    std::set_union(other.begin(), other.end(), near.begin(), near.end(),
                   std::back_inserter(merged_));
    merged_.erase(
        std::remove_if(merged_.begin(), merged_.end(), [&](int w) { return w == u || w == v; }),
        merged_.end());
    other.assign(merged_.begin(), merged_.end());
  }
}

void Shrinking::contract(int v, int u) {
  const std::vector<int> near = std::move(adjacency_[at(v)]);
  adjacency_[at(v)].clear();
  for (const int w : near) {
    std::vector<int>& other = adjacency_[at(w)];
    other.erase(std::lower_bound(other.begin(), other.end(), v));
    if (w != u && !adjacent(u, w)) {
      other.insert(std::lower_bound(other.begin(), other.end(), u), u);
      std::vector<int>& mine = adjacency_[at(u)];
      mine.insert(std::lower_bound(mine.begin(), mine.end(), w), w);
    }
  }
}

}  // namespace systole::solver::treewidth
