#include "compiler/solver/exact/mini_buckets.hpp"

#include <algorithm>

namespace systole::solver::exact {
namespace {

std::size_t at(int index) {
  return static_cast<std::size_t>(index);
}

class Bounding {
 public:
  Bounding(const Network& network, const std::vector<int>& order, double limit, Cost cap)
      : domain_(network.domain),
        order_(order),
        limit_(limit),
        cap_(cap),
        position_(order.size()),
        bucket_(order.size()) {
    for (std::size_t i = 0; i < order.size(); ++i) {
      position_[at(order[i])] = i;
    }
    for (const Factor& factor : network.factors) {
      file(factor);
    }
  }

  MiniBuckets run(const Clock& clock) {
    for (std::size_t i = 0; i < order_.size(); ++i) {
      if (clock.expired()) {
        out_.bound = 0;
        return out_;
      }
      step(i);
    }
    out_.complete = true;
    return out_;
  }

 private:
  void file(Factor factor) {
    if (factor.scope.empty()) {
      out_.bound += std::min(cap_, factor.table.front());
      return;
    }
    std::size_t first = order_.size();
    for (const int v : factor.scope) {
      first = std::min(first, position_[at(v)]);
    }
    bucket_[first].push_back(std::move(factor));
  }

  double product(const std::vector<int>& scope) const {
    double cells = 1;
    for (const int v : scope) {
      cells *= domain_[at(v)];
    }
    return cells;
  }

  static std::vector<int> united(std::vector<int> scope, const std::vector<int>& more) {
    for (const int v : more) {
      if (std::find(scope.begin(), scope.end(), v) == scope.end()) {
        scope.push_back(v);
      }
    }
    return scope;
  }

  // First fit, largest tables first.
  std::vector<std::vector<Factor>> groups_of(std::vector<Factor> factors) const {
    std::stable_sort(factors.begin(), factors.end(), [](const Factor& a, const Factor& b) {
      return a.table.size() > b.table.size();
    });
    std::vector<std::vector<Factor>> groups;
    std::vector<std::vector<int>> scopes;
    for (Factor& factor : factors) {
      std::size_t g = 0;
      while (g < groups.size() && product(united(scopes[g], factor.scope)) > limit_) {
        ++g;
      }
      if (g == groups.size()) {
        groups.emplace_back();
        scopes.emplace_back();
      }
      scopes[g] = united(scopes[g], factor.scope);
      groups[g].push_back(std::move(factor));
    }
    return groups;
  }

  // Sum of a group's tables over v and the rest, v first.
  Factor joint(const std::vector<Factor>& group, int v) {
    Factor sum;
    sum.scope = {v};
    for (const Factor& factor : group) {
      sum.scope = united(sum.scope, factor.scope);
    }
    sum.table.assign(static_cast<std::size_t>(product(sum.scope)), 0);
    out_.cells += static_cast<std::int64_t>(sum.table.size());
    std::vector<int> value(sum.scope.size());
    for (const Factor& factor : group) {
      std::vector<std::size_t> strides(sum.scope.size(), 0);
      std::size_t stride = 1;
      for (std::size_t i = factor.scope.size(); i-- > 0;) {
        const auto place = std::find(sum.scope.begin(), sum.scope.end(), factor.scope[i]);
        strides[static_cast<std::size_t>(place - sum.scope.begin())] = stride;
        stride *= at(domain_[at(factor.scope[i])]);
      }
      std::fill(value.begin(), value.end(), 0);
      std::size_t cell = 0;
      for (Cost& entry : sum.table) {
        entry = std::min(cap_, entry + factor.table[cell]);
        for (std::size_t d = sum.scope.size(); d-- > 0;) {
          cell += strides[d];
          if (++value[d] < domain_[at(sum.scope[d])]) {
            break;
          }
          cell -= strides[d] * at(value[d]);
          value[d] = 0;
        }
      }
    }
    return sum;
  }

  void step(std::size_t index) {
    const int v = order_[index];
    const std::size_t values = at(domain_[at(v)]);
    std::vector<Factor> tables;
    for (const std::vector<Factor>& group : groups_of(std::move(bucket_[index]))) {
      tables.push_back(joint(group, v));
    }
    bucket_[index].clear();
    std::vector<std::vector<Cost>> least(tables.size(), std::vector<Cost>(values, cap_));
    std::vector<Cost> average(values, 0);
    for (std::size_t g = 0; g < tables.size(); ++g) {
      const std::size_t rest = tables[g].table.size() / values;
      for (std::size_t x = 0; x < values; ++x) {
        const auto begin = tables[g].table.begin() + static_cast<std::ptrdiff_t>(x * rest);
        least[g][x] = *std::min_element(begin, begin + static_cast<std::ptrdiff_t>(rest));
        average[x] += least[g][x];
      }
    }
    for (std::size_t g = 0; g < tables.size(); ++g) {
      const std::size_t rest = tables[g].table.size() / values;
      Factor message;
      message.scope.assign(tables[g].scope.begin() + 1, tables[g].scope.end());
      message.table.assign(rest, cap_);
      for (std::size_t x = 0; x < values; ++x) {
        // Shares are whole numbers that add up to the sum of the minima.
        const auto count = static_cast<Cost>(tables.size());
        const Cost extra = static_cast<Cost>(g) < average[x] % count ? 1 : 0;
        const Cost shift = average[x] / count + extra - least[g][x];
        for (std::size_t i = 0; i < rest; ++i) {
          message.table[i] = std::min(message.table[i], tables[g].table[x * rest + i] + shift);
        }
      }
      file(std::move(message));
    }
  }

  const std::vector<int>& domain_;
  const std::vector<int>& order_;
  double limit_;
  Cost cap_;
  std::vector<std::size_t> position_;
  std::vector<std::vector<Factor>> bucket_;
  MiniBuckets out_;
};

}  // namespace

MiniBuckets mini_buckets(const Network& network, const std::vector<int>& order, double limit,
                         Cost cap, const Clock& clock) {
  return Bounding(network, order, limit, cap).run(clock);
}

}  // namespace systole::solver::exact
