#include "compiler/solver/exact/neighbourhood.hpp"

#include <algorithm>

#include "compiler/solver/exact/eliminate.hpp"
#include "compiler/solver/exact/order.hpp"
#include "isa/base/random.hpp"

namespace systole::solver::exact {
namespace {

constexpr double most_cells = 2e6;  // of one neighbourhood
constexpr double few_cells = 2e5;   // below, the next one is larger
constexpr std::size_t first_size = 40;

std::size_t at(int index) {
  return static_cast<std::size_t>(index);
}

class Search {
 public:
  Search(const Network& network, std::vector<int>& values, std::uint64_t seed)
      : network_(network),
        values_(values),
        random_(seed),
        factors_of_(network.domain.size()),
        position_(network.domain.size(), -1) {
    for (std::size_t f = 0; f < network.factors.size(); ++f) {
      for (const int v : network.factors[f].scope) {
        factors_of_[at(v)].push_back(static_cast<int>(f));
      }
    }
  }

  Improvement run(std::int64_t cells, const Clock& clock) {
    std::size_t size = std::min(first_size, network_.domain.size());
    std::int64_t effort = 0;
    while (effort < cells && !clock.expired()) {
      const std::vector<int> freed = grow(size);
      const double needed = solve(freed);
      // Even a neighbourhood that is not solved costs the time of looking at it.
      effort += static_cast<std::int64_t>(std::min(needed, most_cells)) + 10'000;
      if (needed > most_cells) {
        size = std::max<std::size_t>(4, size * 4 / 5);
      } else if (needed < few_cells) {
        size = std::min(network_.domain.size(), size + 1 + size / 8);
      }
    }
    return out_;
  }

 private:
  // Variables around a random one, nearest first.
  std::vector<int> grow(std::size_t size) {
    const auto last = static_cast<std::int64_t>(network_.domain.size()) - 1;
    std::vector<int> freed{static_cast<int>(random_.integer(0, last))};
    std::vector<bool> seen(network_.domain.size(), false);
    seen[at(freed[0])] = true;
    for (std::size_t i = 0; i < freed.size() && freed.size() < size; ++i) {
      for (const int f : factors_of_[at(freed[i])]) {
        for (const int v : network_.factors[at(f)].scope) {
          if (!seen[at(v)] && freed.size() < size) {
            seen[at(v)] = true;
            freed.push_back(v);
          }
        }
      }
    }
    return freed;
  }

  // The tables that see a freed variable, with the others fixed.
  Network restricted(const std::vector<int>& freed) {
    Network sub;
    for (std::size_t i = 0; i < freed.size(); ++i) {
      position_[at(freed[i])] = sub.add_variable(network_.domain[at(freed[i])]);
    }
    std::vector<int> touched;
    for (const int v : freed) {
      touched.insert(touched.end(), factors_of_[at(v)].begin(), factors_of_[at(v)].end());
    }
    std::sort(touched.begin(), touched.end());
    touched.erase(std::unique(touched.begin(), touched.end()), touched.end());
    for (const int f : touched) {
      sub.factors.push_back(slice(network_.factors[at(f)]));
    }
    for (const int v : freed) {
      position_[at(v)] = -1;
    }
    return sub;
  }

  Factor slice(const Factor& factor) const {
    Factor out;
    std::size_t base = 0;
    std::size_t stride = factor.table.size();
    std::vector<std::size_t> strides;
    std::vector<int> sizes;
    for (const int v : factor.scope) {
      stride /= at(network_.domain[at(v)]);
      if (position_[at(v)] >= 0) {
        out.scope.push_back(position_[at(v)]);
        strides.push_back(stride);
        sizes.push_back(network_.domain[at(v)]);
      } else {
        base += stride * at(values_[at(v)]);
      }
    }
    std::vector<int> value(sizes.size(), 0);
    for (bool more = true; more;) {
      out.table.push_back(factor.table[base]);
      more = false;
      for (std::size_t d = sizes.size(); d-- > 0 && !more;) {
        base += strides[d];
        more = ++value[d] < sizes[d];
        if (!more) {
          base -= strides[d] * at(sizes[d]);
          value[d] = 0;
        }
      }
    }
    return out;
  }

  // Returns the cells the neighbourhood needs; solves it when that is affordable.
  double solve(const std::vector<int>& freed) {
    const Network sub = restricted(freed);
    const Order order = greedy_order(sub.domain, adjacency_of(sub), Score::weight, most_cells, 0);
    if (order.cells > most_cells) {
      return order.cells;
    }
    std::vector<int> mine;
    mine.reserve(freed.size());
    for (const int v : freed) {
      mine.push_back(values_[at(v)]);
    }
    Cost present = 0;
    for (const Factor& factor : sub.factors) {
      present += value_at(sub, factor, mine);
    }
    const Elimination best = eliminate(sub, order.variables, present);
    ++out_.solved;
    out_.cells += best.cells;
    if (best.found) {
      out_.gained += present - best.value;
      for (std::size_t i = 0; i < freed.size(); ++i) {
        values_[at(freed[i])] = best.values[i];
      }
    }
    return order.cells;
  }

  const Network& network_;
  std::vector<int>& values_;
  Random random_;
  std::vector<std::vector<int>> factors_of_;
  std::vector<int> position_;  // of a freed variable in the sub-network
  Improvement out_;
};

}  // namespace

Improvement improve_by_neighbourhoods(const Network& network, std::vector<int>& values,
                                      std::int64_t cells, std::uint64_t seed, const Clock& clock) {
  if (network.domain.empty()) {
    return {};
  }
  return Search(network, values, seed).run(cells, clock);
}

}  // namespace systole::solver::exact
