#include "compiler/solver/exact/repeats.hpp"

#include <algorithm>
#include <set>

namespace systole::solver::exact {
namespace {

// What is remembered may take this much; then all is forgotten, and the next layers are learnt anew.
constexpr std::size_t most_bytes = std::size_t{1} << 27;

constexpr std::uint64_t mixed(std::uint64_t hash, std::uint64_t value) {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15U;
  return hash ^ hash >> 29U;
}

template <class T>
std::uint64_t hash_of(const std::vector<int>& axes, const T* data, std::size_t cells) {
  std::uint64_t hash = cells;
  for (const int size : axes) {
    hash = mixed(hash, static_cast<std::uint64_t>(size));
  }
  for (std::size_t i = 0; i < cells; ++i) {
    hash = mixed(hash, static_cast<std::uint64_t>(data[i]));
  }
  return hash;
}

// Links between variables look alike in every problem; tables with three different entries or more carry prices.
bool has_prices(const std::vector<Cost>& table) {
  const auto ends = std::minmax_element(table.begin(), table.end());
  return std::any_of(table.begin(), table.end(),
                     [&](Cost cost) { return cost != *ends.first && cost != *ends.second; });
}

}  // namespace

bool has_repeats(const Network& network) {
  std::set<std::uint64_t> seen;  // a hash is enough for a guess
  std::size_t priced = 0;
  for (const Factor& factor : network.factors) {
    if (!has_prices(factor.table)) {
      continue;
    }
    ++priced;
    std::vector<int> axes;
    for (const int v : factor.scope) {
      axes.push_back(network.domain[static_cast<std::size_t>(v)]);
    }
    seen.insert(hash_of(axes, factor.table.data(), factor.table.size()));
  }
  return priced > 0 && seen.size() * 2 <= priced;
}

template <class T>
void Repeats<T>::identify(Table<T>& table, const std::vector<int>& sizes) {
  Content content{next_, {}, table.cells, table.data};
  for (const int v : table.scope) {
    content.axes.push_back(sizes[static_cast<std::size_t>(v)]);
  }
  const std::uint64_t hash = hash_of(content.axes, table.data.get(), table.cells);
  const auto [begin, end] = contents_.equal_range(hash);
  for (auto at = begin; at != end; ++at) {
    const Content& other = at->second;
    if (other.axes == content.axes &&
        std::equal(other.data.get(), other.data.get() + other.cells, table.data.get())) {
      table.content = other.number;
      table.data = other.data;
      return;
    }
  }
  table.content = next_++;
  bytes_ += table.cells * sizeof(T);
  contents_.emplace(hash, std::move(content));
}

template <class T>
typename Repeats<T>::Key Repeats<T>::key_of(const std::vector<Table<T>>& tables,
                                            const std::vector<int>& variables) {
  std::vector<Key> parts;
  for (const Table<T>& table : tables) {
    Key part{table.content};
    for (const int v : table.scope) {
      const auto place = std::lower_bound(variables.begin(), variables.end(), v);
      part.push_back(static_cast<int>(place - variables.begin()));
    }
    parts.push_back(std::move(part));
  }
  std::sort(parts.begin(), parts.end());  // the order in which tables are added up does not matter
  Key key;
  for (const Key& part : parts) {
    key.push_back(static_cast<int>(part.size()));
    key.insert(key.end(), part.begin(), part.end());
  }
  return key;
}

template <class T>
const typename Repeats<T>::Known* Repeats<T>::find(const Key& key) const {
  const auto found = bags_.find(key);
  return found == bags_.end() ? nullptr : &found->second;
}

template <class T>
void Repeats<T>::keep(Key key, const Known& known) {
  bytes_ += known.message.choices->bytes() + key.size() * sizeof(int) + sizeof(Known);
  if (bytes_ > most_bytes) {
    forget();
    return;
  }
  bags_.emplace(std::move(key), known);
}

// Numbers stay unique, so tables that are still in use are only not recognised any more.
template <class T>
void Repeats<T>::forget() {
  contents_.clear();
  bags_.clear();
  bytes_ = 0;
}

template class Repeats<std::int32_t>;
template class Repeats<std::int64_t>;

}  // namespace systole::solver::exact
