// One step of elimination: the tables that contain a variable become one table without it.
//
// Variables are numbered by their place in the elimination order, and nothing but the order of these numbers, the
// tables and the cap decides what comes out: equal tables in equal places give equal messages.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "compiler/solver/cost.hpp"
#include "compiler/solver/exact/choices.hpp"
#include "compiler/solver/exact/clock.hpp"
#include "compiler/solver/exact/kernel.hpp"

namespace systole::solver::exact {

// An array over its scope, last variable fastest. Entries are costs shifted left by `bits` (see kernel.hpp).
template <class T>
struct Table {
  std::vector<int> scope;
  std::size_t cells = 1;
  std::shared_ptr<T[]> data;
  int content =
      -1;  // number of its content; tables of one number have equal entries; -1: not known
};

template <class T>
struct Message {
  Table<T> table;
  std::shared_ptr<const Choices> choices;
  std::int64_t cells = 0;  // of the bag
};

template <class T>
class Bags {
 public:
  // sizes: values of each variable. bits: what the choice of any variable needs. threads never changes the outcome.
  Bags(std::vector<int> sizes, int bits, Cost cap, int threads, const Clock* clock);

  // Minimises v out of the sum of the tables (at least one, all contain v). Unusable when late() afterwards.
  Message<T> minimised(int v, std::vector<Table<T>> tables) const;

  [[nodiscard]] T cap() const { return cap_; }
  // Sticky, and asked within large bags too: a bag that was left half done must not be believed.
  [[nodiscard]] bool late() const;

 private:
  struct Operand;

  [[nodiscard]] int size(int v) const { return sizes_[static_cast<std::size_t>(v)]; }
  [[nodiscard]] std::size_t product(const std::vector<int>& scope) const;
  [[nodiscard]] std::size_t stride(const Table<T>& table, int v) const;
  void merge_small(std::vector<Table<T>>& tables, std::size_t bag) const;
  Table<T> added(const Table<T>& a, const Table<T>& b, const std::vector<int>& scope) const;
  std::vector<int> choose_run(std::vector<Table<T>>& tables, const std::vector<int>& scope,
                              int v) const;
  std::vector<int> suffix_run(const std::vector<Table<T>>& tables, std::size_t f, unsigned bits,
                              int v) const;
  void align(Table<T>& table, const std::vector<int>& run) const;
  Table<T> transposed(const Table<T>& table, const std::vector<int>& axes) const;
  Message<T> combine(int v, const std::vector<Table<T>>& tables, const std::vector<int>& scope,
                     const std::vector<int>& run, std::size_t bag) const;
  void rows_of_bag(Choices& choices, T* out, std::size_t length, std::size_t values,
                   const std::vector<int>& outer, const std::vector<Operand>& along,
                   const std::vector<Operand>& across, std::size_t begin, std::size_t end) const;

  std::vector<int> sizes_;
  T cap_;
  T mask_;
  Kernel<T> kernel_;
  int threads_;
  const Clock* clock_;
  mutable std::atomic<bool> late_ = false;
};

extern template class Bags<std::int32_t>;
extern template class Bags<std::int64_t>;

}  // namespace systole::solver::exact
