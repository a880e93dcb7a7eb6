#include "compiler/solver/exact/network.hpp"

#include <algorithm>
#include <numeric>

namespace systole::solver::exact {
namespace {

int root_of(std::vector<int>& parent, int v) {
  while (parent[static_cast<std::size_t>(v)] != v) {
    int& up = parent[static_cast<std::size_t>(v)];
    up = parent[static_cast<std::size_t>(up)];
    v = up;
  }
  return v;
}

}  // namespace

Cost value_at(const Network& network, const Factor& factor, const std::vector<int>& value) {
  std::size_t cell = 0;
  for (const int v : factor.scope) {
    cell = cell * static_cast<std::size_t>(network.domain[static_cast<std::size_t>(v)]) +
           static_cast<std::size_t>(value[static_cast<std::size_t>(v)]);
  }
  return factor.table[cell];
}

void normalise(Network& network) {
  for (Factor& factor : network.factors) {
    const Cost least = *std::min_element(factor.table.begin(), factor.table.end());
    network.constant += least;
    for (Cost& cost : factor.table) {
      cost -= least;
    }
  }
}

std::vector<Part> split(Network network) {
  std::vector<int> parent(network.domain.size());
  std::iota(parent.begin(), parent.end(), 0);
  for (const Factor& factor : network.factors) {
    for (std::size_t i = 1; i < factor.scope.size(); ++i) {
      const int a = root_of(parent, factor.scope[0]);
      const int b = root_of(parent, factor.scope[i]);
      parent[static_cast<std::size_t>(std::max(a, b))] = std::min(a, b);
    }
  }
  std::vector<Part> parts;
  std::vector<int> part_of(network.domain.size(), -1);
  std::vector<int> position(network.domain.size());
  for (std::size_t v = 0; v < network.domain.size(); ++v) {
    const auto root = static_cast<std::size_t>(root_of(parent, static_cast<int>(v)));
    if (part_of[root] < 0) {
      part_of[root] = static_cast<int>(parts.size());
      parts.emplace_back();
    }
    Part& part = parts[static_cast<std::size_t>(part_of[root])];
    position[v] = part.network.add_variable(network.domain[v]);
    part.variables.push_back(static_cast<int>(v));
  }
  for (Factor& factor : network.factors) {
    if (factor.scope.empty()) {
      network.constant += factor.table[0];
      continue;
    }
    const auto root = static_cast<std::size_t>(root_of(parent, factor.scope[0]));
    for (int& v : factor.scope) {
      v = position[static_cast<std::size_t>(v)];
    }
    parts[static_cast<std::size_t>(part_of[root])].network.factors.push_back(std::move(factor));
  }
  if (parts.empty()) {
    parts.emplace_back();
  }
  parts.front().network.constant += network.constant;
  return parts;
}

}  // namespace systole::solver::exact
