// Recognising repeated layers: equal tables in equal places give equal messages, so a bag is computed once.
//
// Every table gets a number by its content (axis sizes and entries, compared entry by entry). A bag is known by the
// numbers of its tables and by how their scopes interlock; when the same bag comes again, its message and choices are
// shared instead of computed. Messages are kept with least entry 0, the rest goes into the total: along a chain of
// equal layers they then repeat after a few layers, because the best ways to go on do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "compiler/solver/exact/bag.hpp"
#include "compiler/solver/exact/network.hpp"

namespace systole::solver::exact {

// Whether at least half of the network's tables of prices are equal to another one (of any scope).
bool has_repeats(const Network& network);

template <class T>
class Repeats {
 public:
  // A bag's outcome. The scope of the message is given in the bag's variables, in ascending order.
  struct Known {
    Message<T> message;
    T least = 0;  // taken out of the message
  };
  using Key = std::vector<int>;

  // Numbers the table by content; sizes as in Bags.
  void identify(Table<T>& table, const std::vector<int>& sizes);
  // variables: the bag's, ascending.
  static Key key_of(const std::vector<Table<T>>& tables, const std::vector<int>& variables);
  [[nodiscard]] const Known* find(const Key& key) const;
  void keep(Key key, const Known& known);

 private:
  struct Content {
    int number = 0;
    std::vector<int> axes;
    std::size_t cells = 0;
    std::shared_ptr<T[]> data;
  };
  void forget();

  std::multimap<std::uint64_t, Content> contents_;  // by hash
  std::map<Key, Known> bags_;
  std::size_t bytes_ = 0;
  int next_ = 0;
};

extern template class Repeats<std::int32_t>;
extern template class Repeats<std::int64_t>;

}  // namespace systole::solver::exact
