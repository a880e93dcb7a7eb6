#include "compiler/solver/treewidth/graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "compiler/solver/structure.hpp"
#include "compiler/solver/treewidth/shrinking.hpp"

namespace systole::solver::treewidth {
namespace {

std::size_t at(int index) {
  return static_cast<std::size_t>(index);
}

// Bags that contain each vertex must be connected: count bags and joining edges per vertex.
void check_connected(const Graph& graph, const Decomposition& decomposition,
                     std::vector<Diagnostic>& out) {
  std::vector<int> bags(graph.adjacency.size(), 0);
  std::vector<int> joints(graph.adjacency.size(), 0);
  for (const std::vector<int>& bag : decomposition.bags) {
    for (const int v : bag) {
      ++bags[at(v)];
    }
  }
  for (const auto& [a, b] : decomposition.edges) {
    const std::vector<int>& second = decomposition.bags[at(b)];
    for (const int v : decomposition.bags[at(a)]) {
      joints[at(v)] += std::binary_search(second.begin(), second.end(), v) ? 1 : 0;
    }
  }
  for (int v = 0; v < graph.vertices(); ++v) {
    if (bags[at(v)] == 0) {
      out.push_back({fmt::format("vertex {}", v), "is in no bag"});
    } else if (bags[at(v)] != joints[at(v)] + 1) {
      out.push_back({fmt::format("vertex {}", v), "its bags are not connected"});
    }
  }
}

void check_edges(const Graph& graph, const Decomposition& decomposition,
                 std::vector<Diagnostic>& out) {
  std::vector<std::vector<int>> bags_with(graph.adjacency.size());
  for (std::size_t bag = 0; bag < decomposition.bags.size(); ++bag) {
    for (const int v : decomposition.bags[bag]) {
      bags_with[at(v)].push_back(static_cast<int>(bag));
    }
  }
  for (int u = 0; u < graph.vertices(); ++u) {
    for (const int v : graph.adjacency[at(u)]) {
      const bool together =
          u > v || std::any_of(bags_with[at(u)].begin(), bags_with[at(u)].end(), [&](int bag) {
            const std::vector<int>& members = decomposition.bags[at(bag)];
            return std::binary_search(members.begin(), members.end(), v);
          });
      if (!together) {
        out.push_back({fmt::format("edge {}-{}", u, v), "is in no bag"});
      }
    }
  }
}

}  // namespace

Graph graph_of_edges(int vertices, const std::vector<std::pair<int, int>>& edges) {
  Graph graph;
  graph.adjacency.resize(at(vertices));
  for (const auto& [a, b] : edges) {
    if (a != b) {
      graph.adjacency[at(a)].push_back(b);
      graph.adjacency[at(b)].push_back(a);
    }
  }
  for (std::vector<int>& near : graph.adjacency) {
    std::sort(near.begin(), near.end());
    near.erase(std::unique(near.begin(), near.end()), near.end());
  }
  return graph;
}

Graph graph_of(const Problem& problem) {
  const Structure structure = structure_of(problem);
  std::vector<std::pair<int, int>> edges;
  for (const OperatorId id : problem.operators.ids()) {
    for (const TensorId input : problem.operators[id].inputs) {
      edges.emplace_back(static_cast<int>(structure.producer[input].index()),
                         static_cast<int>(id.index()));
    }
  }
  return graph_of_edges(static_cast<int>(problem.operators.size()), edges);
}

int Decomposition::width() const {
  std::size_t largest = 0;
  for (const std::vector<int>& bag : bags) {
    largest = std::max(largest, bag.size());
  }
  return static_cast<int>(largest) - 1;
}

std::vector<Diagnostic> check(const Graph& graph, const Decomposition& decomposition) {
  std::vector<Diagnostic> out;
  for (std::size_t i = 0; i < decomposition.bags.size(); ++i) {
    const std::vector<int>& bag = decomposition.bags[i];
    const bool sorted = std::is_sorted(bag.begin(), bag.end()) &&
                        std::adjacent_find(bag.begin(), bag.end()) == bag.end();
    if (!sorted || (!bag.empty() && (bag.front() < 0 || bag.back() >= graph.vertices()))) {
      out.push_back({fmt::format("bag {}", i), "is not a sorted set of vertices"});
    }
  }
  std::vector<int> parent(decomposition.bags.size());
  std::iota(parent.begin(), parent.end(), 0);
  for (const auto& [a, b] : decomposition.edges) {
    const int bags = static_cast<int>(decomposition.bags.size());
    if (a < 0 || b < 0 || a >= bags || b >= bags) {
      out.push_back({fmt::format("edge {}-{}", a, b), "joins bags that do not exist"});
      continue;
    }
    int u = a;
    int v = b;
    while (parent[at(u)] != u) {
      u = parent[at(u)];
    }
    while (parent[at(v)] != v) {
      v = parent[at(v)];
    }
    if (u == v) {
      out.push_back({fmt::format("edge {}-{}", a, b), "closes a cycle of bags"});
    }
    parent[at(u)] = v;
  }
  if (out.empty()) {
    check_connected(graph, decomposition, out);
    check_edges(graph, decomposition, out);
  }
  return out;
}

Decomposition decomposition_of(const Graph& graph, const std::vector<int>& order) {
  Shrinking shrinking(graph.adjacency);
  std::vector<int> position(graph.adjacency.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    position[at(order[i])] = static_cast<int>(i);
  }
  Decomposition out;
  int last_root = -1;
  for (std::size_t i = 0; i < order.size(); ++i) {
    std::vector<int> bag = shrinking.neighbours(order[i]);
    int next = static_cast<int>(order.size());
    for (const int u : bag) {
      next = std::min(next, position[at(u)]);
    }
    if (!bag.empty()) {
      out.edges.emplace_back(static_cast<int>(i), next);
    } else {
      if (last_root >= 0) {
        out.edges.emplace_back(last_root, static_cast<int>(i));  // components share nothing
      }
      last_root = static_cast<int>(i);
    }
    bag.insert(std::lower_bound(bag.begin(), bag.end(), order[i]), order[i]);
    out.bags.push_back(std::move(bag));
    shrinking.eliminate(order[i]);
  }
  return out;
}

// From the leaves of the tree of bags to its root: a vertex goes with the last bag that has it.
std::vector<int> order_of(const Decomposition& decomposition) {
  const std::size_t bags = decomposition.bags.size();
  std::vector<std::vector<int>> near(bags);
  for (const auto& [a, b] : decomposition.edges) {
    near[at(a)].push_back(b);
    near[at(b)].push_back(a);
  }
  std::vector<int> parent(bags, -1);
  std::vector<char> seen(bags, 0);
  std::vector<int> visited;  // parents before children
  for (std::size_t root = 0; root < bags; ++root) {
    if (seen[root] == 0) {
      seen[root] = 1;
      visited.push_back(static_cast<int>(root));
    }
    for (std::size_t i = visited.size() - 1; i < visited.size(); ++i) {
      for (const int next : near[at(visited[i])]) {
        if (seen[at(next)] == 0) {
          seen[at(next)] = 1;
          parent[at(next)] = visited[i];
          visited.push_back(next);
        }
      }
    }
  }
  std::vector<int> order;
  for (auto bag = visited.rbegin(); bag != visited.rend(); ++bag) {
    static const std::vector<int> none;
    const std::vector<int>& above =
        parent[at(*bag)] < 0 ? none : decomposition.bags[at(parent[at(*bag)])];
    for (const int v : decomposition.bags[at(*bag)]) {
      if (!std::binary_search(above.begin(), above.end(), v)) {
        order.push_back(v);
      }
    }
  }
  return order;
}

int width_of(const Graph& graph, const std::vector<int>& order, int limit) {
  Shrinking shrinking(graph.adjacency);
  int width = 0;
  for (const int v : order) {
    width = std::max(width, static_cast<int>(shrinking.neighbours(v).size()));
    if (width >= limit) {
      return limit;
    }
    shrinking.eliminate(v);
  }
  return width;
}

}  // namespace systole::solver::treewidth
