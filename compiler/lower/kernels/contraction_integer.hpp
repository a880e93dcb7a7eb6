// How whole numbers are multiplied on an array that multiplies floats: exactly.
//
// bf16 holds whole numbers up to 256, an fp32 sum is exact up to 2^24. Operands within 256 are
// multiplied as they are; larger ones are cut into digits of base 256 (with the number's sign), and
// every pair of digits is a pass of its own, weighted by its power of 256. The k steps that may add
// up in PSUM are limited so that no sum exceeds 2^24; from there on sums are kept in i32. The
// result is exact if the sum of |products| fits 31 bits.
//
// How large an operand can be is known from its element type, from its values (constants) and from
// the operators before it (casts from 8 bits, differences with a zero point, movement).
#pragma once

#include <cstdint>
#include <limits>

#include "compiler/layout/laid_graph.hpp"

namespace systole::lower {

struct Arithmetic {
  isa::DType dtype = isa::DType::f32;  // in which operands are multiplied
  bool whole_numbers = false;          // partial sums in i32
  int stationary_digits = 1;
  int moving_digits = 1;
  std::int64_t k_steps_max = std::numeric_limits<std::int64_t>::max();  // per sum in PSUM
};

// No value of the tensor is larger in magnitude.
[[nodiscard]] std::int64_t magnitude_bound(const graph::Graph& graph, graph::TensorId tensor);

// For operands of whole numbers summed over `k` values, `rows` of them per step.
[[nodiscard]] Arithmetic whole_number_arithmetic(std::int64_t stationary_bound,
                                                 std::int64_t moving_bound, std::int64_t k,
                                                 std::int64_t rows);

}  // namespace systole::lower
