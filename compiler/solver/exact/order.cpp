#include "compiler/solver/exact/order.hpp"

#include <algorithm>
#include <limits>
#include <queue>

#include "isa/base/random.hpp"

namespace systole::solver::exact {
namespace {

constexpr double unlimited = std::numeric_limits<double>::infinity();

// The fill of vertices with more neighbours is not worth counting: their bags are hopeless as long as they stay so.
constexpr std::size_t most_rated = 64;

// Networks of more variables get the quicker heuristics only.
constexpr std::size_t most_thorough = 20'000;

// The graph that elimination leaves behind, step by step.
class Shrinking {
 public:
  Shrinking(const std::vector<int>& domain, std::vector<std::vector<int>> adjacency)
      : domain_(domain), adjacency_(std::move(adjacency)) {}

  [[nodiscard]] const std::vector<int>& neighbours(int v) const { return adjacency_[at(v)]; }
  [[nodiscard]] double bag(int v) const {
    double cells = domain_[at(v)];
    for (const int u : adjacency_[at(v)]) {
      cells *= domain_[at(u)];
    }
    return cells;
  }
  [[nodiscard]] double fill(int v, bool weighted) const {
    const std::vector<int>& near = adjacency_[at(v)];
    if (near.size() > most_rated) {
      return static_cast<double>(near.size()) * 1e12;
    }
    double missing = 0;
    for (std::size_t i = 0; i < near.size(); ++i) {
      const std::vector<int>& other = adjacency_[at(near[i])];
      for (std::size_t j = i + 1; j < near.size(); ++j) {
        if (!std::binary_search(other.begin(), other.end(), near[j])) {
          missing +=
              weighted ? static_cast<double>(domain_[at(near[i])]) * domain_[at(near[j])] : 1;
        }
      }
    }
    return missing;
  }
  void eliminate(int v) {
    const std::vector<int> near = std::move(adjacency_[at(v)]);
    adjacency_[at(v)].clear();
    for (const int u : near) {
      std::vector<int>& other = adjacency_[at(u)];
      merged_.clear();
      std::size_t i = 0;
      std::size_t j = 0;
      while (i < other.size() || j < near.size()) {
        int next = 0;
        if (j == near.size() || (i < other.size() && other[i] <= near[j])) {
          if (j < near.size() && other[i] == near[j]) {
            ++j;
          }
          next = other[i++];
        } else {
          next = near[j++];
        }
        if (next != u && next != v) {
          merged_.push_back(next);
        }
      }
      other.assign(merged_.begin(), merged_.end());
    }
  }

 private:
  static std::size_t at(int v) { return static_cast<std::size_t>(v); }

  const std::vector<int>& domain_;
  std::vector<std::vector<int>> adjacency_;
  std::vector<int> merged_;
};

double score_of(const Shrinking& graph, int v, Score score) {
  switch (score) {
    case Score::weight:
      return graph.bag(v);
    case Score::fill:
      return graph.fill(v, false);
    case Score::weighted_fill:
      return graph.fill(v, true);
    case Score::fill_and_weight:
      return graph.fill(v, true) + graph.bag(v);
  }
  return 0;
}

}  // namespace

std::vector<std::vector<int>> adjacency_of(const Network& network) {
  std::vector<std::vector<int>> adjacency(network.domain.size());
  for (const Factor& factor : network.factors) {
    for (const int a : factor.scope) {
      for (const int b : factor.scope) {
        if (a != b) {
          adjacency[static_cast<std::size_t>(a)].push_back(b);
        }
      }
    }
  }
  for (std::vector<int>& near : adjacency) {
    std::sort(near.begin(), near.end());
    near.erase(std::unique(near.begin(), near.end()), near.end());
  }
  return adjacency;
}

Order simulate(const std::vector<int>& domain, std::vector<std::vector<int>> adjacency,
               std::vector<int> variables, double limit, const Clock* clock) {
  Shrinking graph(domain, std::move(adjacency));
  Order order;
  order.variables = std::move(variables);
  std::size_t done = 0;
  for (const int v : order.variables) {
    const double bag = graph.bag(v);
    order.cells += bag;
    order.largest = std::max(order.largest, bag);
    const bool late = clock != nullptr && ++done % 256 == 0 && clock->expired();
    if (order.cells > limit || late) {
      order.cells = unlimited;
      return order;
    }
    graph.eliminate(v);
  }
  return order;
}

Order greedy_order(const std::vector<int>& domain, std::vector<std::vector<int>> adjacency,
                   Score score, double limit, std::uint64_t seed, const Clock* clock) {
  Shrinking graph(domain, std::move(adjacency));
  Random random(seed);
  struct Entry {
    double score;
    int variable;
    bool operator>(const Entry& other) const {
      return score != other.score ? score > other.score : variable > other.variable;
    }
  };
  std::vector<double> current(domain.size());
  std::vector<char> gone(domain.size(), 0);
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
  const auto rate = [&](int v) {
    const double base = score_of(graph, v, score);
    return seed == 0 ? base : (base + 0.5) * (1 + 0.3 * random.uniform());
  };
  for (std::size_t v = 0; v < domain.size(); ++v) {
    current[v] = rate(static_cast<int>(v));
    queue.push({current[v], static_cast<int>(v)});
  }
  const bool stale_fill = score != Score::weight;
  Order order;
  while (order.variables.size() < domain.size()) {
    const Entry top = queue.top();
    queue.pop();
    const auto v = static_cast<std::size_t>(top.variable);
    if (gone[v] != 0 || top.score != current[v]) {
      continue;
    }
    if (stale_fill &&
        seed == 0) {  // fill changes two steps away from an elimination: look again before use
      const double now = rate(top.variable);
      if (now > top.score) {
        current[v] = now;
        queue.push({now, top.variable});
        continue;
      }
    }
    const double bag = graph.bag(top.variable);
    order.cells += bag;
    order.largest = std::max(order.largest, bag);
    const bool late = clock != nullptr && order.variables.size() % 256 == 0 && clock->expired();
    if (order.cells > limit || late) {
      order.cells = unlimited;
      return order;
    }
    gone[v] = 1;
    order.variables.push_back(top.variable);
    const std::vector<int> near = graph.neighbours(top.variable);
    graph.eliminate(top.variable);
    for (const int u : near) {
      current[static_cast<std::size_t>(u)] = rate(u);
      queue.push({current[static_cast<std::size_t>(u)], u});
    }
  }
  return order;
}

Order best_order(const Network& network, const std::vector<std::vector<int>>& sweeps, double enough,
                 double most, const Clock& clock) {
  const std::vector<std::vector<int>> adjacency = adjacency_of(network);
  Order best;
  best.cells = unlimited;
  const auto consider = [&](Order order) {
    if (order.cells < best.cells) {
      best = std::move(order);
    }
    most = std::min(most, best.cells);
    return best.cells <= enough || clock.expired();
  };
  const auto greedy = [&](Score score) {
    return consider(greedy_order(network.domain, adjacency, score, most, 0, &clock));
  };
  // In large networks least weight leaves vertices with thousands of neighbours to the end: slow, and never the best.
  // Giving up there saves nothing, because what is too large comes last; an order once found serves all attempts.
  const bool large = network.domain.size() > most_thorough;
  most = large ? unlimited : most;
  if (greedy(large ? Score::fill : Score::weight)) {
    return best;
  }
  for (const std::vector<int>& sweep : sweeps) {
    if (consider(simulate(network.domain, adjacency, sweep, most, &clock))) {
      return best;
    }
  }
  if (large) {
    greedy(Score::weighted_fill);
    return best;
  }
  for (const Score score : {Score::fill, Score::weighted_fill, Score::fill_and_weight}) {
    if (greedy(score)) {
      return best;
    }
  }
  return best;
}

double bytes_needed(const Network& network, const Order& order, double cell_bytes) {
  std::vector<std::size_t> position(network.domain.size());
  for (std::size_t i = 0; i < order.variables.size(); ++i) {
    position[static_cast<std::size_t>(order.variables[i])] = i;
  }
  std::vector<double> waiting(network.domain.size() + 1, 0);  // bytes of messages used at a step
  Shrinking graph(network.domain, adjacency_of(network));
  double live = 0;
  double kept = 0;
  double peak = 0;
  for (std::size_t i = 0; i < order.variables.size(); ++i) {
    const int v = order.variables[i];
    const double bag = graph.bag(v);
    const double message = bag / network.domain[static_cast<std::size_t>(v)];
    const int k = network.domain[static_cast<std::size_t>(v)];
    std::size_t next = order.variables.size();
    for (const int u : graph.neighbours(v)) {
      next = std::min(next, position[static_cast<std::size_t>(u)]);
    }
    live += message * cell_bytes;
    kept += k <= 4 ? message / 4 : message;
    peak = std::max(peak, live + kept);
    live -= waiting[i];
    waiting[next] += message * cell_bytes;
    graph.eliminate(v);
  }
  return peak;
}

}  // namespace systole::solver::exact
