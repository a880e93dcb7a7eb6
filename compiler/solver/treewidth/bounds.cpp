#include "compiler/solver/treewidth/bounds.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <queue>
#include <set>

#include "compiler/solver/treewidth/shrinking.hpp"
#include "isa/base/random.hpp"

namespace systole::solver::treewidth {
namespace {

std::size_t at(int index) {
  return static_cast<std::size_t>(index);
}

// Greedy elimination by a score, with a heap whose outdated entries are skipped.
template <class ScoreOf>
std::vector<int> greedy(const Graph& graph, const ScoreOf& score_of) {
  struct Entry {
    double score;
    int vertex;
    bool operator>(const Entry& other) const {
      return score != other.score ? score > other.score : vertex > other.vertex;
    }
  };
  Shrinking shrinking(graph.adjacency);
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
  std::vector<double> current(graph.adjacency.size());
  std::vector<bool> gone(graph.adjacency.size(), false);
  const auto rate = [&](int v) {
    current[at(v)] = score_of(shrinking, v);
    queue.push({current[at(v)], v});
  };
  for (int v = 0; v < graph.vertices(); ++v) {
    rate(v);
  }
  std::vector<int> order;
  while (!queue.empty()) {
    const Entry top = queue.top();
    queue.pop();
    if (gone[at(top.vertex)] || top.score != current[at(top.vertex)]) {
      continue;
    }
    gone[at(top.vertex)] = true;
    order.push_back(top.vertex);
    const std::vector<int> near = shrinking.neighbours(top.vertex);
    shrinking.eliminate(top.vertex);
    std::set<int> touched(near.begin(), near.end());
    for (const int u : near) {  // fill changes for their neighbours too
      touched.insert(shrinking.neighbours(u).begin(), shrinking.neighbours(u).end());
    }
    for (const int u : touched) {
      rate(u);
    }
  }
  return order;
}

}  // namespace

int lower_bound(const Graph& graph) {
  Shrinking shrinking(graph.adjacency);
  std::set<std::pair<int, int>> by_degree;  // degree, vertex
  const auto degree = [&](int v) { return static_cast<int>(shrinking.neighbours(v).size()); };
  for (int v = 0; v < graph.vertices(); ++v) {
    by_degree.insert({degree(v), v});
  }
  int bound = 0;
  while (!by_degree.empty()) {
    const auto [least, v] = *by_degree.begin();
    by_degree.erase(by_degree.begin());
    bound = std::max(bound, least);
    if (least == 0) {
      continue;
    }
    const std::vector<int> near = shrinking.neighbours(v);
    int partner = near.front();
    int fewest = std::numeric_limits<int>::max();
    for (const int u : near) {
      int common = 0;
      for (const int w : near) {
        common += shrinking.adjacent(u, w) ? 1 : 0;
      }
      if (common < fewest) {
        fewest = common;
        partner = u;
      }
    }
    for (const int u : near) {
      by_degree.erase({degree(u), u});
    }
    shrinking.contract(v, partner);
    for (const int u : near) {
      by_degree.insert({degree(u), u});
    }
  }
  return bound;
}

std::vector<int> min_degree_order(const Graph& graph) {
  return greedy(graph, [](const Shrinking& shrinking, int v) {
    return static_cast<double>(shrinking.neighbours(v).size());
  });
}

std::vector<int> min_fill_order(const Graph& graph, std::uint64_t seed) {
  Random random(seed);
  return greedy(graph, [&](const Shrinking& shrinking, int v) {
    return shrinking.fill(v) + (seed == 0 ? 0 : random.uniform());
  });
}

Width width_bounds(const Graph& graph, int restarts) {
  Width out;
  out.lower = lower_bound(graph);
  out.upper = std::numeric_limits<int>::max();
  const auto consider = [&](std::vector<int> order) {
    const int width = width_of(graph, order, out.upper);
    if (width < out.upper) {
      out.upper = width;
      out.order = std::move(order);
    }
  };
  consider(min_fill_order(graph));
  consider(min_degree_order(graph));
  for (int i = 1; i <= restarts && !out.exact(); ++i) {
    consider(min_fill_order(graph, static_cast<std::uint64_t>(i)));
  }
  out.lower = std::min(out.lower, out.upper);
  return out;
}

}  // namespace systole::solver::treewidth
