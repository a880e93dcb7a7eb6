#include "compiler/solver/exact/eliminate.hpp"

#include <algorithm>
#include <bit>
#include <memory>

#include "compiler/solver/exact/bag.hpp"
#include "compiler/solver/exact/repeats.hpp"

namespace systole::solver::exact {
namespace {

std::size_t at(int index) {
  return static_cast<std::size_t>(index);
}

std::vector<int> sizes_in_order(const Network& network, const std::vector<int>& order) {
  std::vector<int> sizes;
  sizes.reserve(order.size());
  for (const int v : order) {
    sizes.push_back(network.domain[at(v)]);
  }
  return sizes;
}

// Inside, variables are numbered by their place in the order.
template <class T>
class Eliminator {
 public:
  Eliminator(const Network& network, const std::vector<int>& order, Cost cap, int bits,
             const Settings& settings)
      : order_(order),
        sizes_(sizes_in_order(network, order)),
        bits_(bits),
        bags_(sizes_, bits, cap, settings.threads, settings.clock),
        reuse_(settings.reuse),
        bucket_(order.size()),
        steps_(order.size()) {
    std::vector<int> place(order.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
      place[at(order[i])] = static_cast<int>(i);
    }
    for (const Factor& factor : network.factors) {
      load(factor, place, cap);
    }
  }

  Elimination run() {
    for (std::size_t i = 0; i < order_.size() && total_ < bags_.cap() && !bags_.late(); ++i) {
      step(i);
    }
    out_.complete = !bags_.late();
    if (!out_.complete) {
      return out_;
    }
    out_.found = total_ < bags_.cap();
    out_.value = static_cast<Cost>(total_ >> bits_);
    if (out_.found) {
      trace_back();
    }
    return out_;
  }

 private:
  struct Step {
    std::vector<int> scope;                  // of the message
    std::shared_ptr<const Choices> choices;  // none: any value will do
  };

  void load(const Factor& factor, const std::vector<int>& place, Cost cap) {
    Table<T> table;
    for (const int v : factor.scope) {
      table.scope.push_back(place[at(v)]);
    }
    table.cells = factor.table.size();
    table.data = std::make_shared_for_overwrite<T[]>(table.cells);
    T* data = table.data.get();
    for (std::size_t i = 0; i < table.cells; ++i) {
      data[i] = static_cast<T>(std::min(factor.table[i], cap) << bits_);
    }
    if (reuse_) {
      known_.identify(table, sizes_);
    }
    file(std::move(table));
  }

  void pay(T cost) { total_ = std::min<T>(bags_.cap(), total_ + cost); }

  // Puts a table where it is needed first; a table without variables goes into the total.
  void file(Table<T> table) {
    if (table.scope.empty()) {
      pay(table.data[0]);
      return;
    }
    const int first = *std::min_element(table.scope.begin(), table.scope.end());
    bucket_[at(first)].push_back(std::move(table));
  }

  void step(std::size_t index) {
    std::vector<Table<T>> tables = std::move(bucket_[index]);
    bucket_[index].clear();
    if (tables.empty()) {
      return;
    }
    const int v = static_cast<int>(index);
    Message<T> message =
        reuse_ ? recognised(v, std::move(tables)) : bags_.minimised(v, std::move(tables));
    out_.cells += message.cells;
    steps_[index] = {message.table.scope, std::move(message.choices)};
    file(std::move(message.table));
  }

  Message<T> recognised(int v, std::vector<Table<T>> tables) {
    std::vector<int> variables;
    for (const Table<T>& table : tables) {
      variables.insert(variables.end(), table.scope.begin(), table.scope.end());
    }
    std::sort(variables.begin(), variables.end());
    variables.erase(std::unique(variables.begin(), variables.end()), variables.end());
    auto key = known_.key_of(tables, variables);
    if (const auto* known = known_.find(key)) {
      Message<T> message = known->message;
      for (int& u : message.table.scope) {
        u = variables[at(u)];
      }
      pay(known->least);
      out_.reused += message.cells;
      message.cells = 0;
      return message;
    }
    Message<T> message = bags_.minimised(v, std::move(tables));
    if (bags_.late()) {
      return message;
    }
    const T least = lowered(message.table);
    pay(least);
    known_.identify(message.table, sizes_);
    typename Repeats<T>::Known known{message, least};
    for (int& u : known.message.table.scope) {
      u = static_cast<int>(std::lower_bound(variables.begin(), variables.end(), u) -
                           variables.begin());
    }
    known_.keep(std::move(key), known);
    return message;
  }

  // Takes the least entry out of a message. Entries at the cap stay there: they are impossible, whatever is taken out.
  T lowered(Table<T>& table) const {
    T* data = table.data.get();
    const T least = *std::min_element(data, data + table.cells);
    for (std::size_t i = 0; i < table.cells && least > 0; ++i) {
      data[i] = data[i] < bags_.cap() ? data[i] - least : data[i];
    }
    return least;
  }

  void trace_back() {
    std::vector<int> value(order_.size(), 0);
    out_.values.assign(order_.size(), 0);
    for (std::size_t i = order_.size(); i-- > 0;) {
      const Step& step = steps_[i];
      std::size_t cell = 0;
      for (const int u : step.scope) {
        cell = cell * at(sizes_[at(u)]) + at(value[at(u)]);
      }
      value[i] = step.choices == nullptr ? 0 : step.choices->load(cell);
      out_.values[at(order_[i])] = value[i];
    }
  }

  const std::vector<int>& order_;
  std::vector<int> sizes_;  // per place in the order
  int bits_;
  Bags<T> bags_;
  bool reuse_;
  Repeats<T> known_;
  std::vector<std::vector<Table<T>>> bucket_;
  std::vector<Step> steps_;
  T total_ = 0;
  Elimination out_;
};

}  // namespace

Elimination eliminate(const Network& network, const std::vector<int>& order, Cost cap,
                      const Settings& settings) {
  int widest = 1;
  for (const int size : network.domain) {
    widest = std::max(widest, size);
  }
  const int bits = static_cast<int>(std::bit_width(static_cast<unsigned>(widest - 1)));
  if (cap < (Cost{1} << (28 - bits))) {
    return Eliminator<std::int32_t>(network, order, cap, bits, settings).run();
  }
  if (cap >= Cost{1} << (58 - bits)) {
    return {};  // too dear for the number of bits the choices need
  }
  return Eliminator<std::int64_t>(network, order, cap, bits, settings).run();
}

}  // namespace systole::solver::exact
