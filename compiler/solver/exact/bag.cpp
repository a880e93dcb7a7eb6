// How a bag is computed fast. A table is an array over its scope, last variable fastest. The tables of a bag are first
// merged where that is cheap; then a run is chosen: a set of variables that are innermost, in the same order, in every
// table that has any of them. Along a run all tables are contiguous or constant, and the kernel does the rest. A table
// whose axes stand in the wrong order is transposed first, with the variables that will be eliminated soonest outermost,
// so that the result stays usable for the next steps; new variables enter outermost.
#include "compiler/solver/exact/bag.hpp"

#include <algorithm>
#include <type_traits>

#include "compiler/solver/exact/parallel.hpp"
#include "isa/base/error.hpp"

namespace systole::solver::exact {
namespace {

constexpr std::size_t longest_run = 4096;       // what the first cache level holds of the output
constexpr std::size_t good_run = 32;            // shorter runs are worth a transposition
constexpr std::size_t most_tables = 16;         // that are added up in one pass
constexpr std::size_t worth_threads = 1 << 18;  // cells of a bag

std::size_t at(int index) {
  return static_cast<std::size_t>(index);
}

bool contains(const std::vector<int>& scope, int v) {
  return std::find(scope.begin(), scope.end(), v) != scope.end();
}

// Bit f is set when table f has the variable.
template <class T>
unsigned signature(const std::vector<Table<T>>& tables, int u) {
  unsigned bits = 0;
  for (std::size_t f = 0; f < tables.size(); ++f) {
    bits |= contains(tables[f].scope, u) ? 1U << f : 0U;
  }
  return bits;
}

// Axes outside the run: new ones (not in the largest table) first, then in the largest table's order.
template <class T>
std::vector<int> outer_axes(const std::vector<Table<T>>& tables, const std::vector<int>& scope,
                            const std::vector<int>& run) {
  std::vector<int> outer;
  const std::vector<int>& largest = tables.back().scope;
  for (const int u : scope) {
    if (!contains(largest, u) && !contains(run, u)) {
      outer.push_back(u);
    }
  }
  for (const int u : largest) {
    if (contains(scope, u) && !contains(run, u)) {
      outer.push_back(u);
    }
  }
  return outer;
}

}  // namespace

// One table as the loop over outer cells sees it.
template <class T>
struct Bags<T>::Operand {
  const T* data = nullptr;
  std::size_t value_stride = 0;            // of the eliminated variable
  std::vector<std::size_t> outer_strides;  // per outer axis of the message
};

template <class T>
Bags<T>::Bags(std::vector<int> sizes, int bits, Cost cap, int threads, const Clock* clock)
    : sizes_(std::move(sizes)),
      cap_(static_cast<T>(cap << bits)),
      mask_(static_cast<T>((T{1} << bits) - 1)),
      threads_(threads),
      clock_(clock) {
  if constexpr (std::is_same_v<T, std::int32_t>) {
    kernel_ = kernel32();
  } else {
    kernel_ = kernel64();
  }
}

template <class T>
bool Bags<T>::late() const {
  if (clock_ != nullptr && clock_->expired()) {
    late_ = true;
  }
  return late_;
}

template <class T>
std::size_t Bags<T>::product(const std::vector<int>& scope) const {
  std::size_t cells = 1;
  for (const int v : scope) {
    cells *= at(size(v));
  }
  return cells;
}

// Distance in cells between neighbours along v; 0 when the table does not depend on v.
template <class T>
std::size_t Bags<T>::stride(const Table<T>& table, int v) const {
  std::size_t step = 1;
  for (std::size_t i = table.scope.size(); i-- > 0;) {
    if (table.scope[i] == v) {
      return step;
    }
    step *= at(size(table.scope[i]));
  }
  return 0;
}

template <class T>
Message<T> Bags<T>::minimised(int v, std::vector<Table<T>> tables) const {
  std::vector<int> scope;  // of the message, in any order yet
  for (const Table<T>& table : tables) {
    for (const int u : table.scope) {
      if (u != v && !contains(scope, u)) {
        scope.push_back(u);
      }
    }
  }
  const std::size_t bag = product(scope) * at(size(v));
  merge_small(tables, bag);
  const std::vector<int> run = choose_run(tables, scope, v);
  return combine(v, tables, scope, run, bag);
}

// Adds tables up as long as the sum stays small against the bag.
template <class T>
void Bags<T>::merge_small(std::vector<Table<T>>& tables, std::size_t bag) const {
  const std::size_t limit = std::max<std::size_t>(64, bag / 32);
  const auto smaller = [](const Table<T>& a, const Table<T>& b) {
    return a.cells != b.cells ? a.cells < b.cells : a.scope < b.scope;
  };
  std::sort(tables.begin(), tables.end(), smaller);
  while (tables.size() >= 2) {
    std::vector<int> scope = tables[1].scope;
    for (const int u : tables[0].scope) {
      if (!contains(scope, u)) {
        scope.push_back(u);
      }
    }
    if (product(scope) > limit && tables.size() <= most_tables) {
      return;
    }
    Table<T> sum = added(tables[0], tables[1], scope);
    tables.erase(tables.begin(), tables.begin() + 2);
    tables.insert(std::upper_bound(tables.begin(), tables.end(), sum, smaller), std::move(sum));
  }
}

template <class T>
Table<T> Bags<T>::added(const Table<T>& a, const Table<T>& b, const std::vector<int>& scope) const {
  Table<T> sum;
  sum.scope = scope;
  sum.cells = product(scope);
  sum.data = std::make_shared_for_overwrite<T[]>(sum.cells);
  T* out = sum.data.get();
  const T* left = a.data.get();
  const T* right = b.data.get();
  std::vector<std::size_t> step_a;
  std::vector<std::size_t> step_b;
  for (const int u : scope) {
    step_a.push_back(stride(a, u));
    step_b.push_back(stride(b, u));
  }
  std::vector<int> value(scope.size(), 0);
  std::size_t cell_a = 0;
  std::size_t cell_b = 0;
  for (std::size_t i = 0; i < sum.cells; ++i) {
    out[i] = std::min<T>(cap_, left[cell_a] + right[cell_b]);
    for (std::size_t d = scope.size(); d-- > 0;) {
      cell_a += step_a[d];
      cell_b += step_b[d];
      if (++value[d] < size(scope[d])) {
        break;
      }
      cell_a -= step_a[d] * at(value[d]);
      cell_b -= step_b[d] * at(value[d]);
      value[d] = 0;
    }
  }
  return sum;
}

// The run's variables, innermost last. They share one signature, so a table has all of them or none. The largest
// table is used in place if its own innermost variables make a good run, else it is transposed.
template <class T>
std::vector<int> Bags<T>::choose_run(std::vector<Table<T>>& tables, const std::vector<int>& scope,
                                     int v) const {
  check(tables.size() < 32, "few enough tables meet in a bag");
  unsigned best = 0;
  std::size_t best_size = 0;
  std::size_t best_table = 0;
  for (const int u : scope) {
    const unsigned bits = signature(tables, u);
    std::size_t cells = 1;
    for (const int w : scope) {
      cells *= signature(tables, w) == bits ? at(size(w)) : 1;
    }
    if (cells > best_size) {
      best = bits;
      best_size = cells;
    }
  }
  if (best == 0) {
    return {};
  }
  for (std::size_t f = 0; f < tables.size(); ++f) {
    if ((best >> f & 1U) != 0) {
      best_table = f;  // tables are sorted: the last is the largest
    }
  }
  std::vector<int> run = suffix_run(tables, best_table, best, v);
  if (product(run) < std::min(good_run, best_size)) {
    std::vector<int> axes = tables[best_table].scope;
    std::sort(axes.begin(), axes.end(), [&](int a, int b) {
      const bool in_a = a != v && signature(tables, a) == best;
      const bool in_b = b != v && signature(tables, b) == best;
      return in_a != in_b ? in_b : a < b;
    });
    tables[best_table] = transposed(tables[best_table], axes);
    run = suffix_run(tables, best_table, best, v);
  }
  for (std::size_t f = 0; f < tables.size(); ++f) {
    if ((best >> f & 1U) != 0 && f != best_table) {
      align(tables[f], run);
    }
  }
  return run;
}

// The longest tail of the table's scope with this signature, cut to a length worth one call of the kernel.
template <class T>
std::vector<int> Bags<T>::suffix_run(const std::vector<Table<T>>& tables, std::size_t f,
                                     unsigned bits, int v) const {
  const std::vector<int>& scope = tables[f].scope;
  std::size_t begin = scope.size();
  std::size_t cells = 1;
  while (begin > 0 && scope[begin - 1] != v && signature(tables, scope[begin - 1]) == bits &&
         cells * at(size(scope[begin - 1])) <= longest_run) {
    --begin;
    cells *= at(size(scope[begin]));
  }
  return {scope.begin() + static_cast<std::ptrdiff_t>(begin), scope.end()};
}

// Makes the run the innermost axes of the table.
template <class T>
void Bags<T>::align(Table<T>& table, const std::vector<int>& run) const {
  const auto tail = table.scope.end() - static_cast<std::ptrdiff_t>(run.size());
  if (std::equal(run.begin(), run.end(), tail)) {
    return;
  }
  std::vector<int> axes;
  for (const int u : table.scope) {
    if (!contains(run, u)) {
      axes.push_back(u);
    }
  }
  axes.insert(axes.end(), run.begin(), run.end());
  table = transposed(table, axes);
}

template <class T>
Table<T> Bags<T>::transposed(const Table<T>& table, const std::vector<int>& axes) const {
  Table<T> out;
  out.scope = axes;
  out.cells = table.cells;
  out.data = std::make_shared_for_overwrite<T[]>(table.cells);
  T* to = out.data.get();
  const T* data = table.data.get();
  std::vector<std::size_t> steps;
  steps.reserve(axes.size());
  for (const int u : axes) {
    steps.push_back(stride(table, u));
  }
  const std::size_t inner = at(size(axes.back()));
  const std::size_t inner_step = steps.back();
  std::vector<int> value(axes.size(), 0);
  std::size_t from = 0;
  for (std::size_t i = 0; i < out.cells; i += inner) {
    for (std::size_t j = 0; j < inner; ++j) {
      to[i + j] = data[from + j * inner_step];
    }
    for (std::size_t d = axes.size() - 1; d-- > 0;) {
      from += steps[d];
      if (++value[d] < size(axes[d])) {
        break;
      }
      from -= steps[d] * at(value[d]);
      value[d] = 0;
    }
  }
  return out;
}

template <class T>
Message<T> Bags<T>::combine(int v, const std::vector<Table<T>>& tables,
                            const std::vector<int>& scope, const std::vector<int>& run,
                            std::size_t bag) const {
  const std::vector<int> outer = outer_axes(tables, scope, run);
  const std::size_t length = product(run);
  const std::size_t rows = product(outer);
  Message<T> message;
  message.cells = static_cast<std::int64_t>(bag);
  Table<T>& out = message.table;
  out.scope = outer;
  out.scope.insert(out.scope.end(), run.begin(), run.end());
  out.cells = rows * length;
  out.data = std::make_shared_for_overwrite<T[]>(out.cells);
  const auto choices = std::make_shared<Choices>(size(v), rows, length);
  std::vector<Operand> along;   // tables that vary along the run
  std::vector<Operand> across;  // tables constant along it
  for (const Table<T>& table : tables) {
    Operand operand{table.data.get(), stride(table, v), {}};
    for (const int u : outer) {
      operand.outer_strides.push_back(stride(table, u));
    }
    const bool varies = !run.empty() && contains(table.scope, run.back());
    (varies ? along : across).push_back(std::move(operand));
  }
  const auto part = [&](std::size_t begin, std::size_t end) {
    rows_of_bag(*choices, out.data.get(), length, at(size(v)), outer, along, across, begin, end);
  };
  if (threads_ > 1 && bag >= worth_threads) {
    parallel_ranges(rows, threads_, part);
  } else {
    part(0, rows);
  }
  message.choices = choices;
  return message;
}

template <class T>
void Bags<T>::rows_of_bag(Choices& choices, T* out, std::size_t length, std::size_t values,
                          const std::vector<int>& outer, const std::vector<Operand>& along,
                          const std::vector<Operand>& across, std::size_t begin,
                          std::size_t end) const {
  std::vector<std::uint16_t> choice(length);
  std::vector<const T*> vectors(along.size() * values);
  std::vector<T> scalar(values);
  std::vector<std::size_t> value(outer.size(), 0);
  std::vector<std::size_t> along_at(along.size(), 0);
  std::vector<std::size_t> across_at(across.size(), 0);
  std::size_t rest = begin;  // mixed-radix digits of the first row
  for (std::size_t d = outer.size(); d-- > 0;) {
    value[d] = rest % at(size(outer[d]));
    rest /= at(size(outer[d]));
  }
  const auto offset = [&](const Operand& operand) {
    std::size_t cell = 0;
    for (std::size_t d = 0; d < outer.size(); ++d) {
      cell += operand.outer_strides[d] * value[d];
    }
    return cell;
  };
  Run<T> run{nullptr,
             choice.data(),
             length,
             static_cast<int>(values),
             static_cast<int>(along.size()),
             vectors.data(),
             scalar.data(),
             cap_,
             mask_};
  for (std::size_t f = 0; f < along.size(); ++f) {
    along_at[f] = offset(along[f]);
  }
  for (std::size_t f = 0; f < across.size(); ++f) {
    across_at[f] = offset(across[f]);
  }
  for (std::size_t row = begin; row < end; ++row) {
    if (row % 256 == 255 && late()) {
      return;
    }
    for (std::size_t x = 0; x < values; ++x) {
      T sum = 0;
      for (std::size_t f = 0; f < across.size(); ++f) {
        sum = std::min<T>(cap_, sum + across[f].data[across_at[f] + x * across[f].value_stride]);
      }
      scalar[x] = sum | static_cast<T>(x);
      for (std::size_t f = 0; f < along.size(); ++f) {
        vectors[f * values + x] = along[f].data + along_at[f] + x * along[f].value_stride;
      }
    }
    run.out = out + row * length;
    kernel_(run);
    choices.store(row, 0, choice.data(), length);
    for (std::size_t d = outer.size(); d-- > 0;) {
      const bool wraps = value[d] + 1 == at(size(outer[d]));
      for (std::size_t f = 0; f < along.size(); ++f) {
        along_at[f] += along[f].outer_strides[d];
        along_at[f] -= wraps ? along[f].outer_strides[d] * (value[d] + 1) : 0;
      }
      for (std::size_t f = 0; f < across.size(); ++f) {
        across_at[f] += across[f].outer_strides[d];
        across_at[f] -= wraps ? across[f].outer_strides[d] * (value[d] + 1) : 0;
      }
      value[d] = wraps ? 0 : value[d] + 1;
      if (!wraps) {
        break;
      }
    }
  }
}

template class Bags<std::int32_t>;
template class Bags<std::int64_t>;

}  // namespace systole::solver::exact
