// Inside compiler/graph only: the elementwise functions on single values, with ONNX's semantics,
// one table per domain.
//
// Integers: division truncates, modulo has the divisor's sign, remainder the dividend's, arithmetic
// wraps, shifts by 64 or more give 0 (or the sign). Floats: maximum and minimum with a NaN are NaN,
// round goes half to even.
#pragma once

#include <cstdint>

#include "compiler/graph/op.hpp"

namespace systole::graph::ops {

// W: double, int64_t or uint64_t. The Map gives alpha and beta.
template <class W>
using Unary = W (*)(const Map& op, W x);
template <class W>
using Binary = W (*)(const Map& op, W a, W b);  // an integer divisor is not 0
template <class W>
using Predicate = bool (*)(W a, W b);  // of one operand: b is ignored

// Null if the function is not of this kind or not defined in this domain.
template <class W>
Unary<W> find_unary(MapFunction function);
template <class W>
Binary<W> find_binary(MapFunction function);
template <class W>
Predicate<W> find_predicate(MapFunction function);

// base to the exponent, wrapping; a negative exponent gives the truncated reciprocal (0 to the
// negative: 0).
std::int64_t integer_power(std::int64_t base, std::int64_t exponent);

}  // namespace systole::graph::ops
