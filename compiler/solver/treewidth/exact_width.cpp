// Exact treewidth: branch and bound over elimination orders.
//
// The decision "is the width at most k" is asked for k from the lower bound upwards. At each node vertices that can be
// eliminated without regret go first (simplicial ones, and almost simplicial ones of degree at most k); otherwise every
// vertex of degree at most k is tried. Sets of eliminated vertices that failed before are not searched again: what is
// left of the graph depends on the set alone, not on the order.
#include <algorithm>
#include <set>

#include "compiler/solver/treewidth/bounds.hpp"
#include "compiler/solver/treewidth/shrinking.hpp"

namespace systole::solver::treewidth {
namespace {

std::size_t at(int index) {
  return static_cast<std::size_t>(index);
}

enum class Answer { yes, no, unknown };

class Decision {
 public:
  Decision(const Graph& graph, int k, std::int64_t steps, std::int64_t& used)
      : graph_(graph), k_(k), steps_(steps), used_(used), gone_(graph.adjacency.size(), false) {}

  Answer run() { return descend(Shrinking(graph_.adjacency)); }
  [[nodiscard]] const std::vector<int>& order() const { return order_; }

 private:
  // A neighbour without which the others form a clique exists, or they form one already.
  static bool almost_simplicial(const Shrinking& graph, int v) {
    const std::vector<int>& near = graph.neighbours(v);
    const int missing = graph.fill(v);
    if (missing == 0) {
      return true;
    }
    return std::any_of(near.begin(), near.end(), [&](int u) {
      int mine = 0;
      for (const int w : near) {
        mine += w != u && !graph.adjacent(u, w) ? 1 : 0;
      }
      return mine == missing;
    });
  }

  int safe_vertex(const Shrinking& graph) const {
    for (int v = 0; v < graph_.vertices(); ++v) {
      if (!gone_[at(v)] && static_cast<int>(graph.neighbours(v).size()) <= k_ &&
          almost_simplicial(graph, v)) {
        return v;
      }
    }
    return -1;
  }

  // A simplicial vertex of degree above k is part of a clique that is too large.
  bool hopeless(const Shrinking& graph) const {
    for (int v = 0; v < graph_.vertices(); ++v) {
      if (!gone_[at(v)] && static_cast<int>(graph.neighbours(v).size()) > k_ &&
          graph.fill(v) == 0) {
        return true;
      }
    }
    return false;
  }

  void push(int v, Shrinking& graph) {
    gone_[at(v)] = true;
    order_.push_back(v);
    graph.eliminate(v);
  }
  void pop_to(std::size_t size) {
    while (order_.size() > size) {
      gone_[at(order_.back())] = false;
      order_.pop_back();
    }
  }

  Answer descend(Shrinking graph) {
    const std::size_t mark = order_.size();
    for (int v = safe_vertex(graph); v >= 0; v = safe_vertex(graph)) {
      push(v, graph);
    }
    const int left = graph_.vertices() - static_cast<int>(order_.size());
    if (left <= k_ + 1) {
      for (int v = 0; v < graph_.vertices(); ++v) {
        if (!gone_[at(v)]) {
          push(v, graph);
        }
      }
      return Answer::yes;
    }
    if (++used_ > steps_) {
      return Answer::unknown;
    }
    if (hopeless(graph) || !failed_.insert(gone_).second) {
      pop_to(mark);
      return Answer::no;
    }
    std::vector<int> candidates;
    for (int v = 0; v < graph_.vertices(); ++v) {
      if (!gone_[at(v)] && static_cast<int>(graph.neighbours(v).size()) <= k_) {
        candidates.push_back(v);
      }
    }
    std::stable_sort(candidates.begin(), candidates.end(),
                     [&](int a, int b) { return graph.fill(a) < graph.fill(b); });
    const std::size_t here = order_.size();
    for (const int v : candidates) {
      Shrinking next = graph;
      push(v, next);
      const Answer answer = descend(std::move(next));
      if (answer != Answer::no) {
        return answer;
      }
      pop_to(here);
    }
    pop_to(mark);
    return Answer::no;
  }

  const Graph& graph_;
  int k_;
  std::int64_t steps_;
  std::int64_t& used_;
  std::vector<bool> gone_;
  std::vector<int> order_;
  std::set<std::vector<bool>> failed_;
};

std::vector<std::vector<int>> components_of(const Graph& graph) {
  std::vector<std::vector<int>> out;
  std::vector<bool> seen(graph.adjacency.size(), false);
  for (int first = 0; first < graph.vertices(); ++first) {
    if (seen[at(first)]) {
      continue;
    }
    std::vector<int> component{first};
    seen[at(first)] = true;
    for (std::size_t i = 0; i < component.size(); ++i) {
      for (const int u : graph.adjacency[at(component[i])]) {
        if (!seen[at(u)]) {
          seen[at(u)] = true;
          component.push_back(u);
        }
      }
    }
    std::sort(component.begin(), component.end());
    out.push_back(std::move(component));
  }
  return out;
}

Graph restricted(const Graph& graph, const std::vector<int>& vertices) {
  Graph out;
  for (const int v : vertices) {
    std::vector<int>& near = out.adjacency.emplace_back();
    for (const int u : graph.adjacency[at(v)]) {
      near.push_back(static_cast<int>(std::lower_bound(vertices.begin(), vertices.end(), u) -
                                      vertices.begin()));
    }
  }
  return out;
}

}  // namespace

Width exact_width(const Graph& graph, std::int64_t steps) {
  Width out;
  for (const std::vector<int>& component : components_of(graph)) {
    const Graph part = restricted(graph, component);
    Width width = width_bounds(part);
    while (!width.exact()) {
      Decision decision(part, width.lower, steps, out.steps);
      const Answer answer = decision.run();
      if (answer == Answer::unknown) {
        break;
      }
      if (answer == Answer::yes) {
        width.upper = width.lower;
        width.order = decision.order();
      } else {
        ++width.lower;
      }
    }
    out.lower = std::max(out.lower, width.lower);
    out.upper = std::max(out.upper, width.upper);
    for (const int v : width.order) {
      out.order.push_back(component[at(v)]);
    }
  }
  return out;
}

}  // namespace systole::solver::treewidth
