// The field tables: name, meaning and members of every instruction struct, once. Assembly, the
// binary container, the reference in README.md and the tests' generator of random values are all
// driven by them; a struct without a table does not compile.
//
// A member shown `always` stands in every printed instruction; one shown `when_set` only if it
// differs from the value of a default-constructed struct, which is also what a reader assumes when
// it is missing.
#pragma once

#include <cstdint>
#include <string_view>
#include <tuple>
#include <type_traits>

#include "isa/instruction.hpp"

namespace systole::isa {

enum class Show : std::uint8_t { always, when_set };

template <class S, class T>
struct Member {
  using Struct = S;
  using Type = T;
  std::string_view name;
  T S::*member;
  Show show;
};
template <class S, class T>
Member(const char*, T S::*, Show) -> Member<S, T>;

template <class... M>
struct Table {
  std::string_view name;     // mnemonic
  std::string_view meaning;  // one phrase
  std::tuple<M...> members;
};
template <class... M>
Table(const char*, const char*, std::tuple<M...>) -> Table<M...>;

template <class S>
using Of = std::type_identity<S>;

constexpr auto table(Of<LoadStationary>) {
  using S = LoadStationary;
  return Table{"load_stationary", "loads stationary[K, M] into the array",
               std::tuple{Member{"stationary", &S::stationary, Show::always},
                          Member{"column", &S::column, Show::when_set},
                          Member{"double_row", &S::double_row, Show::when_set}}};
}

constexpr auto table(Of<Multiply>) {
  using S = Multiply;
  return Table{
      "multiply", "out[M, N] (+)= loaded^T x moving[K, N]",
      std::tuple{Member{"moving", &S::moving, Show::always}, Member{"out", &S::out, Show::always},
                 Member{"accumulate", &S::accumulate, Show::when_set},
                 Member{"transpose_mode", &S::transpose_mode, Show::when_set},
                 Member{"zero_one", &S::zero_one, Show::when_set},
                 Member{"double_row", &S::double_row, Show::when_set}}};
}

constexpr auto table(Of<TensorTensor>) {
  using S = TensorTensor;
  return Table{
      "tensor_tensor", "out = a op b",
      std::tuple{Member{"a", &S::a, Show::always}, Member{"b", &S::b, Show::always},
                 Member{"out", &S::out, Show::always}, Member{"op", &S::op, Show::always}}};
}

constexpr auto table(Of<TensorScalar>) {
  using S = TensorScalar;
  return Table{
      "tensor_scalar", "out = (in op0 s0) op1 s1; reverse: s op x",
      std::tuple{Member{"in", &S::in, Show::always}, Member{"out", &S::out, Show::always},
                 Member{"op0", &S::op0, Show::always}, Member{"s0", &S::s0, Show::always},
                 Member{"reverse0", &S::reverse0, Show::when_set},
                 Member{"op1", &S::op1, Show::when_set}, Member{"s1", &S::s1, Show::when_set},
                 Member{"reverse1", &S::reverse1, Show::when_set}}};
}

constexpr auto table(Of<ScalarTensorTensor>) {
  using S = ScalarTensorTensor;
  return Table{
      "scalar_tensor_tensor", "out = (in op0 scalar) op1 other",
      std::tuple{Member{"in", &S::in, Show::always}, Member{"other", &S::other, Show::always},
                 Member{"out", &S::out, Show::always}, Member{"op0", &S::op0, Show::always},
                 Member{"scalar", &S::scalar, Show::always}, Member{"op1", &S::op1, Show::always}}};
}

constexpr auto table(Of<TensorReduce>) {
  using S = TensorReduce;
  return Table{
      "tensor_reduce", "reduces the last `axes` dims of in by op",
      std::tuple{Member{"in", &S::in, Show::always}, Member{"out", &S::out, Show::always},
                 Member{"op", &S::op, Show::always}, Member{"axes", &S::axes, Show::when_set},
                 Member{"negate", &S::negate, Show::when_set}}};
}

constexpr auto table(Of<TensorScan>) {
  using S = TensorScan;
  return Table{
      "tensor_scan", "r[i] = (a[i] op0 r[i-1]) op1 b[i], r[-1] = initial; out = r",
      std::tuple{Member{"a", &S::a, Show::always}, Member{"b", &S::b, Show::always},
                 Member{"out", &S::out, Show::always}, Member{"op0", &S::op0, Show::always},
                 Member{"op1", &S::op1, Show::always},
                 Member{"initial", &S::initial, Show::when_set}}};
}

constexpr auto table(Of<Copy>) {
  using S = Copy;
  return Table{
      "copy", "out = in, converted",
      std::tuple{Member{"in", &S::in, Show::always}, Member{"out", &S::out, Show::always}}};
}

constexpr auto table(Of<CopyPredicated>) {
  using S = CopyPredicated;
  return Table{
      "copy_predicated", "out = in where predicate is not 0",
      std::tuple{Member{"predicate", &S::predicate, Show::always},
                 Member{"in", &S::in, Show::always}, Member{"out", &S::out, Show::always}}};
}

constexpr auto table(Of<Memset>) {
  using S = Memset;
  return Table{
      "memset", "out = value",
      std::tuple{Member{"out", &S::out, Show::always}, Member{"value", &S::value, Show::always}}};
}

constexpr auto table(Of<Reciprocal>) {
  using S = Reciprocal;
  return Table{
      "reciprocal", "out = 1 / in",
      std::tuple{Member{"in", &S::in, Show::always}, Member{"out", &S::out, Show::always}}};
}

constexpr auto table(Of<Transpose32>) {
  using S = Transpose32;
  return Table{
      "transpose32", "out[f, p] = in[p, f] of one block of a quadrant",
      std::tuple{Member{"in", &S::in, Show::always}, Member{"out", &S::out, Show::always}}};
}

constexpr auto table(Of<Shuffle32>) {
  using S = Shuffle32;
  return Table{"shuffle32", "in every quadrant: out lane i = in lane mask[i], 255 keeps out's lane",
               std::tuple{Member{"in", &S::in, Show::always}, Member{"out", &S::out, Show::always},
                          Member{"mask", &S::mask, Show::always}}};
}

constexpr auto table(Of<BatchNormStats>) {
  using S = BatchNormStats;
  return Table{
      "bn_stats", "count, mean, M2 of the even elements, then of the odd ones",
      std::tuple{Member{"in", &S::in, Show::always}, Member{"out", &S::out, Show::always}}};
}

constexpr auto table(Of<BatchNormAggregate>) {
  using S = BatchNormAggregate;
  return Table{
      "bn_aggregate", "mean, variance of groups of (count, mean, M2)",
      std::tuple{Member{"in", &S::in, Show::always}, Member{"out", &S::out, Show::always}}};
}

constexpr auto table(Of<Max8>) {
  using S = Max8;
  return Table{
      "max8", "the eight largest, descending",
      std::tuple{Member{"in", &S::in, Show::always}, Member{"out", &S::out, Show::always}}};
}

constexpr auto table(Of<FindIndex8>) {
  using S = FindIndex8;
  return Table{
      "find_index8", "index in `in` of each of the 8 values",
      std::tuple{Member{"values", &S::values, Show::always}, Member{"in", &S::in, Show::always},
                 Member{"out", &S::out, Show::always}}};
}

constexpr auto table(Of<MatchReplace8>) {
  using S = MatchReplace8;
  return Table{
      "match_replace8", "in with the first match of each of the 8 values replaced by value",
      std::tuple{Member{"values", &S::values, Show::always}, Member{"in", &S::in, Show::always},
                 Member{"out", &S::out, Show::always}, Member{"value", &S::value, Show::always}}};
}

constexpr auto table(Of<Activation>) {
  using S = Activation;
  return Table{"activation", "out = function(in * scale + bias); reduce = sum of out over N",
               std::tuple{Member{"in", &S::in, Show::always}, Member{"out", &S::out, Show::always},
                          Member{"function", &S::function, Show::always},
                          Member{"scale", &S::scale, Show::when_set},
                          Member{"bias", &S::bias, Show::when_set},
                          Member{"with_reduce", &S::with_reduce, Show::when_set},
                          Member{"reduce", &S::reduce, Show::when_set}}};
}

constexpr auto table(Of<Iota>) {
  using S = Iota;
  return Table{
      "iota", "out[p, i...] = base + p * partition_step + sum of steps[d] * i[d]",
      std::tuple{Member{"out", &S::out, Show::always}, Member{"base", &S::base, Show::when_set},
                 Member{"partition_step", &S::partition_step, Show::when_set},
                 Member{"steps", &S::steps, Show::when_set}}};
}

constexpr auto table(Of<AffineSelect>) {
  using S = AffineSelect;
  return Table{"affine_select", "out = in where iota's value compares with 0, otherwise fill",
               std::tuple{Member{"in", &S::in, Show::always}, Member{"out", &S::out, Show::always},
                          Member{"comparison", &S::comparison, Show::always},
                          Member{"base", &S::base, Show::when_set},
                          Member{"partition_step", &S::partition_step, Show::when_set},
                          Member{"steps", &S::steps, Show::when_set},
                          Member{"fill", &S::fill, Show::when_set}}};
}

constexpr auto table(Of<PartitionReduce>) {
  using S = PartitionReduce;
  return Table{"partition_reduce", "out[0, n] = op over the partitions of in[p, n]",
               std::tuple{Member{"in", &S::in, Show::always}, Member{"out", &S::out, Show::always},
                          Member{"op", &S::op, Show::always}}};
}

constexpr auto table(Of<LocalGather>) {
  using S = LocalGather;
  return Table{
      "local_gather", "out[p, i] = in[p, index[p, i]]",
      std::tuple{Member{"in", &S::in, Show::always}, Member{"index", &S::index, Show::always},
                 Member{"out", &S::out, Show::always}}};
}

constexpr auto table(Of<Dma>) {
  using S = Dma;
  return Table{"dma", "destination = source, converted",
               std::tuple{Member{"source", &S::source, Show::always},
                          Member{"destination", &S::destination, Show::always},
                          Member{"ring", &S::ring, Show::always},
                          Member{"transpose", &S::transpose, Show::when_set},
                          Member{"accumulate", &S::accumulate, Show::when_set}}};
}

constexpr auto table(Of<DmaIndirect>) {
  using S = DmaIndirect;
  return Table{
      "dma_indirect", "gathers rows of an HBM table selected by index, or scatters them",
      std::tuple{Member{"table", &S::table, Show::always}, Member{"index", &S::index, Show::always},
                 Member{"rows_side", &S::rows_side, Show::always},
                 Member{"row_stride", &S::row_stride, Show::always},
                 Member{"bound", &S::bound, Show::always}, Member{"ring", &S::ring, Show::always},
                 Member{"scatter", &S::scatter, Show::when_set}}};
}

constexpr auto table(Of<Nop>) {
  return Table{"nop", "only waits and signals", std::tuple<>{}};
}

constexpr auto table(Of<LoadTable>) {
  using S = LoadTable;
  return Table{"load_table", "loads the table of a function before an activation needs it",
               std::tuple{Member{"function", &S::function, Show::always}}};
}

// f(Of<S>) for every instruction struct, in the order of the variant.
template <class F>
constexpr void for_each_operation(F&& f) {
  const auto call = [&f]<class... S>(std::type_identity<std::variant<S...>>) { (f(Of<S>{}), ...); };
  call(std::type_identity<Operations>{});
}

// f(member) for every row of the table of S.
template <class S, class F>
constexpr void for_each_member(F&& f) {
  std::apply([&f](const auto&... member) { (f(member), ...); }, table(Of<S>{}).members);
}

}  // namespace systole::isa
