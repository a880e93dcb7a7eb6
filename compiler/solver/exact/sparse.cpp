// Inside, variables are numbered by their place in the order. A key packs one value per variable of the scope, the
// first in the lowest bits; scopes are ascending, so the variable a step eliminates is the lowest of its bag.
#include "compiler/solver/exact/sparse.hpp"

#include <algorithm>
#include <bit>
#include <iterator>
#include <limits>

namespace systole::solver::exact {
namespace {

using Key = std::uint64_t;

// An index over so many bits is an array.
constexpr unsigned most_direct_bits = 18;

std::size_t at(int index) {
  return static_cast<std::size_t>(index);
}

struct Entry {
  Key key = 0;
  Cost cost = 0;
};

struct List {
  std::vector<int> scope;
  std::vector<Entry> entries;
};

// Moves fields of a key to other places.
class Repacking {
 public:
  void add(unsigned from, unsigned to, unsigned bits) {
    // Neighbours that stay neighbours move as one.
    if (!moves_.empty() && moves_.back().from + moves_.back().bits == from &&
        moves_.back().to + moves_.back().bits == to) {
      moves_.back().bits += bits;
    } else {
      moves_.push_back({from, to, bits});
    }
  }
  [[nodiscard]] Key operator()(Key key) const {
    Key out = 0;
    for (const Move& move : moves_) {
      out |= (key >> move.from & mask(move.bits)) << move.to;
    }
    return out;
  }

 private:
  struct Move {
    unsigned from;
    unsigned to;
    unsigned bits;
  };
  static Key mask(unsigned bits) { return bits >= 64 ? ~Key{0} : (Key{1} << bits) - 1; }

  std::vector<Move> moves_;
};

// From a key to its message entry: open addressing over the entries' own keys.
class Index {
 public:
  explicit Index(std::vector<Entry>& entries) : entries_(entries), slots_(64, none) {}

  // The entry with this key, added at an infinite cost when new.
  std::size_t at(Key key) {
    if (2 * entries_.size() >= slots_.size()) {
      grow();
    }
    std::size_t slot = place(key);
    while (slots_[slot] != none && entries_[slots_[slot]].key != key) {
      slot = (slot + 1) & (slots_.size() - 1);
    }
    if (slots_[slot] == none) {
      slots_[slot] = static_cast<std::uint32_t>(entries_.size());
      entries_.push_back({key, infinity});
    }
    return slots_[slot];
  }

 private:
  static constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();

  [[nodiscard]] std::size_t place(Key key) const {
    return static_cast<std::size_t>((key ^ key >> 32U) * 0x9e3779b97f4a7c15U >> 20U) &
           (slots_.size() - 1);
  }
  void grow() {
    slots_.assign(2 * slots_.size(), none);
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      std::size_t slot = place(entries_[i].key);
      while (slots_[slot] != none) {
        slot = (slot + 1) & (slots_.size() - 1);
      }
      slots_[slot] = static_cast<std::uint32_t>(i);
    }
  }

  std::vector<Entry>& entries_;
  std::vector<std::uint32_t> slots_;
};

class SparseEliminator {
 public:
  SparseEliminator(const Network& network, const std::vector<int>& order, Cost threshold,
                   const SparseLimits& limits, const Clock& clock)
      : order_(order),
        slack_(threshold),
        limits_(limits),
        clock_(clock),
        bucket_(order.size()),
        steps_(order.size()) {
    std::vector<int> place(order.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
      place[at(order[i])] = static_cast<int>(i);
      const int size = network.domain[at(order[i])];
      bits_.push_back(static_cast<unsigned>(std::bit_width(static_cast<unsigned>(size - 1))));
    }
    for (const Factor& factor : network.factors) {
      load(factor, network, place);
    }
  }

  Sparse run() {
    for (std::size_t i = 0; i < order_.size() && slack_ >= 0; ++i) {
      if (!step(i)) {
        return out_;
      }
    }
    out_.complete = true;
    out_.found = slack_ >= 0;
    out_.value = paid_;
    if (out_.found) {
      trace_back();
    }
    return out_;
  }

 private:
  struct Step {
    std::vector<int> scope;  // of the message
    std::vector<Key> keys;
    std::vector<std::uint16_t> choice;  // per key
  };

  [[nodiscard]] unsigned width(const std::vector<int>& scope) const {
    unsigned sum = 0;
    for (const int v : scope) {
      sum += bits_[at(v)];
    }
    return sum;
  }

  // Fields of `scope` that are in `wanted`, moved to where they stand in a key over `target`.
  [[nodiscard]] Repacking repacking(const std::vector<int>& scope, const std::vector<int>& wanted,
                                    const std::vector<int>& target) const {
    Repacking out;
    unsigned from = 0;
    for (const int v : scope) {
      if (std::binary_search(wanted.begin(), wanted.end(), v)) {
        unsigned to = 0;
        for (std::size_t i = 0; target[i] != v; ++i) {
          to += bits_[at(target[i])];
        }
        out.add(from, to, bits_[at(v)]);
      }
      from += bits_[at(v)];
    }
    return out;
  }

  void load(const Factor& factor, const Network& network, const std::vector<int>& place) {
    List list;
    for (const int v : factor.scope) {
      list.scope.push_back(place[at(v)]);
    }
    std::sort(list.scope.begin(), list.scope.end());
    for (std::size_t cell = 0; cell < factor.table.size(); ++cell) {
      if (factor.table[cell] > slack_) {
        continue;
      }
      Entry entry{0, factor.table[cell]};
      std::size_t rest = cell;
      for (std::size_t i = factor.scope.size(); i-- > 0;) {
        const auto size = at(network.domain[at(factor.scope[i])]);
        unsigned shift = 0;
        for (const int v : list.scope) {
          shift += v < place[at(factor.scope[i])] ? bits_[at(v)] : 0;
        }
        entry.key |= static_cast<Key>(rest % size) << shift;
        rest /= size;
      }
      list.entries.push_back(entry);
    }
    file(std::move(list));
  }

  // A list without variables is one payment; a list without entries leaves nothing possible.
  void file(List list) {
    if (list.entries.empty()) {
      slack_ = -1;
    } else if (list.scope.empty()) {
      paid_ += list.entries.front().cost;
      slack_ -= list.entries.front().cost;
    } else {
      waiting_ += static_cast<std::int64_t>(list.entries.size());
      bucket_[at(list.scope.front())].push_back(std::move(list));
    }
  }

  bool step(std::size_t index) {
    std::vector<List> lists = std::move(bucket_[index]);
    bucket_[index].clear();
    if (lists.empty()) {
      return true;
    }
    std::stable_sort(lists.begin(), lists.end(), [](const List& a, const List& b) {
      return a.entries.size() < b.entries.size();
    });
    std::int64_t taken = 0;
    for (const List& list : lists) {
      taken += static_cast<std::int64_t>(list.entries.size());
    }
    List joined = std::move(lists.back());
    for (std::size_t i = 0; i + 1 < lists.size(); ++i) {
      if (!join(joined, lists[i])) {
        return false;
      }
    }
    minimise(index, joined);
    waiting_ -= taken;
    return !clock_.expired();
  }

  // Held when a join has made so many entries: its vector may be half empty, and its inputs are still there.
  [[nodiscard]] std::int64_t bytes_with(std::int64_t made) const {
    constexpr auto entry = static_cast<std::int64_t>(sizeof(Entry));
    return 3 * entry * made + entry * waiting_ + 10 * kept_;
  }

  // The smaller list is grouped by the common variables, the larger one looks its partners up. False: too much.
  bool join(List& a, const List& b) {
    std::vector<int> common;
    std::set_intersection(a.scope.begin(), a.scope.end(), b.scope.begin(), b.scope.end(),
                          std::back_inserter(common));
    List out;
    std::set_union(a.scope.begin(), a.scope.end(), b.scope.begin(), b.scope.end(),
                   std::back_inserter(out.scope));
    if (width(out.scope) > 64) {
      return false;
    }
    std::vector<int> own;
    std::set_difference(b.scope.begin(), b.scope.end(), a.scope.begin(), a.scope.end(),
                        std::back_inserter(own));
    const Repacking common_of_a = repacking(a.scope, common, common);
    const Repacking common_of_b = repacking(b.scope, common, common);
    const Repacking whole_of_a = repacking(a.scope, a.scope, out.scope);
    const Repacking own_of_b = repacking(b.scope, own, out.scope);
    struct Partner {
      Key common;
      Key own;
      Cost cost;
    };
    std::vector<Partner> partners;
    partners.reserve(b.entries.size());
    for (const Entry& entry : b.entries) {
      partners.push_back({common_of_b(entry.key), own_of_b(entry.key), entry.cost});
    }
    std::sort(partners.begin(), partners.end(), [](const Partner& x, const Partner& y) {
      return x.common != y.common ? x.common < y.common
             : x.cost != y.cost   ? x.cost < y.cost
                                  : x.own < y.own;
    });
    const bool direct = width(common) <= most_direct_bits;
    std::vector<std::uint32_t> first;  // by common key
    if (direct) {
      first.assign((std::size_t{1} << width(common)) + 1, 0);
      for (const Partner& partner : partners) {
        ++first[partner.common + 1];
      }
      for (std::size_t i = 1; i < first.size(); ++i) {
        first[i] += first[i - 1];
      }
    }
    for (const Entry& entry : a.entries) {
      const Key key = common_of_a(entry.key);
      auto partner = direct
                         ? partners.begin() + first[key]
                         : std::lower_bound(partners.begin(), partners.end(), key,
                                            [](const Partner& x, Key k) { return x.common < k; });
      const Key whole = whole_of_a(entry.key);
      const Cost room = slack_ - entry.cost;
      for (; partner != partners.end() && partner->common == key && partner->cost <= room;
           ++partner) {
        out.entries.push_back({whole | partner->own, entry.cost + partner->cost});
      }
      const auto made = static_cast<std::int64_t>(out.entries.size());
      const bool late = ++looked_at_ % 4096 == 0 && clock_.expired();
      if (late || made > limits_.entries - out_.entries || bytes_with(made) > limits_.bytes) {
        out_.entries += made;
        return false;
      }
    }
    out_.entries += static_cast<std::int64_t>(a.entries.size() + out.entries.size());
    a = std::move(out);
    return true;
  }

  // The message; its least entry is paid at once, which narrows what later steps keep.
  void minimise(std::size_t index, const List& joined) {
    Step& step = steps_[index];
    const unsigned bits = bits_[index];
    List message;
    message.scope.assign(joined.scope.begin() + 1, joined.scope.end());
    Index known(message.entries);
    Cost least = infinity;
    for (const Entry& entry : joined.entries) {
      const std::size_t i = known.at(entry.key >> bits);
      step.choice.resize(message.entries.size());
      const auto choice = static_cast<std::uint16_t>(entry.key & ((Key{1} << bits) - 1));
      Entry& best = message.entries[i];
      if (entry.cost < best.cost || (entry.cost == best.cost && choice < step.choice[i])) {
        best.cost = entry.cost;
        step.choice[i] = choice;
      }
      least = std::min(least, entry.cost);
    }
    step.scope = message.scope;
    step.keys.reserve(message.entries.size());
    kept_ += static_cast<std::int64_t>(message.entries.size());
    for (Entry& entry : message.entries) {
      step.keys.push_back(entry.key);
      entry.cost -= least;
    }
    if (!message.entries.empty()) {
      paid_ += least;
      slack_ -= least;
    }
    file(std::move(message));
  }

  void trace_back() {
    out_.values.assign(order_.size(), 0);
    std::vector<int> value(order_.size(), 0);
    for (std::size_t i = order_.size(); i-- > 0;) {
      const Step& step = steps_[i];
      Key key = 0;
      unsigned shift = 0;
      for (const int v : step.scope) {
        key |= static_cast<Key>(value[at(v)]) << shift;
        shift += bits_[at(v)];
      }
      const auto found = std::find(step.keys.begin(), step.keys.end(), key);
      value[i] = found == step.keys.end()
                     ? 0
                     : step.choice[static_cast<std::size_t>(found - step.keys.begin())];
      out_.values[at(order_[i])] = value[i];
    }
  }

  const std::vector<int>& order_;
  Cost slack_;  // the threshold, less what is paid; negative: no solution
  Cost paid_ = 0;
  const SparseLimits& limits_;
  std::int64_t waiting_ = 0;  // entries of lists in buckets
  std::int64_t kept_ = 0;     // of keys
  std::int64_t looked_at_ = 0;
  const Clock& clock_;
  std::vector<unsigned> bits_;
  std::vector<std::vector<List>> bucket_;
  std::vector<Step> steps_;
  Sparse out_;
};

}  // namespace

Sparse eliminate_below(const Network& network, const std::vector<int>& order, Cost threshold,
                       const SparseLimits& limits, const Clock& clock) {
  return SparseEliminator(network, order, threshold, limits, clock).run();
}

}  // namespace systole::solver::exact
