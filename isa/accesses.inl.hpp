// Operand enumeration of isa/instruction.hpp; included only by it.
#pragma once

#include <utility>

#include "isa/instruction.hpp"

namespace systole::isa::detail {

template <class S, class F>
void scalar_access(S& scalar, F& f) {
  if (scalar.per_partition) {
    f(scalar.access, false);
  }
}

template <class O, class F>
void operation_accesses(O& op, F& f) {
  using T = std::remove_const_t<O>;
  if constexpr (std::is_same_v<T, LoadStationary>) {
    f(op.stationary, false);
  } else if constexpr (std::is_same_v<T, Multiply>) {
    f(op.moving, false);
    f(op.out, true);
  } else if constexpr (std::is_same_v<T, TensorTensor> || std::is_same_v<T, TensorScan>) {
    f(op.a, false);
    f(op.b, false);
    f(op.out, true);
    if constexpr (std::is_same_v<T, TensorScan>) {
      scalar_access(op.initial, f);
    }
  } else if constexpr (std::is_same_v<T, TensorScalar>) {
    f(op.in, false);
    f(op.out, true);
    scalar_access(op.s0, f);
    scalar_access(op.s1, f);
  } else if constexpr (std::is_same_v<T, ScalarTensorTensor>) {
    f(op.in, false);
    f(op.other, false);
    f(op.out, true);
    scalar_access(op.scalar, f);
  } else if constexpr (std::is_same_v<T, CopyPredicated>) {
    f(op.predicate, false);
    f(op.in, false);
    f(op.out, true);
  } else if constexpr (std::is_same_v<T, FindIndex8> || std::is_same_v<T, MatchReplace8>) {
    f(op.values, false);
    f(op.in, false);
    f(op.out, true);
  } else if constexpr (std::is_same_v<T, LocalGather>) {
    f(op.in, false);
    f(op.index, false);
    f(op.out, true);
  } else if constexpr (std::is_same_v<T, Activation>) {
    f(op.in, false);
    f(op.out, true);
    scalar_access(op.scale, f);
    scalar_access(op.bias, f);
    if (op.with_reduce) {
      f(op.reduce, true);
    }
  } else if constexpr (std::is_same_v<T, Memset> || std::is_same_v<T, Iota>) {
    f(op.out, true);
  } else if constexpr (std::is_same_v<T, DmaIndirect>) {
    f(op.index, false);
  } else if constexpr (std::is_same_v<T, Dma> || std::is_same_v<T, Nop> ||
                       std::is_same_v<T, LoadTable>) {
    // no on-chip operand in access-pattern form
  } else {
    f(op.in, false);
    f(op.out, true);
  }
}

}  // namespace systole::isa::detail

namespace systole::isa {

template <class F>
void for_each_access(Operation& operation, F&& f) {
  visit([&f](auto& op) { detail::operation_accesses(op, f); }, operation);
}

template <class F>
void for_each_access(const Operation& operation, F&& f) {
  visit([&f](const auto& op) { detail::operation_accesses(op, f); }, operation);
}

}  // namespace systole::isa
