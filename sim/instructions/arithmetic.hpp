// Rows of arithmetic: the two-operand operations of the Vector and GpSimd engines and the functions
// of the Scalar engine, over dense arrays. T is float or int64.
//
// Rules where the instruction set leaves a choice: max and min give NaN if one operand is NaN.
// modulo has the sign of the divisor. Integer division rounds towards zero; division by zero gives
// 0. Bitwise operations on fp32 act on the values rounded to integers. Shift counts are taken
// modulo 64.
#pragma once

#include <cstdint>

#include "isa/instruction.hpp"

namespace systole::sim {

// A row, or one value for all of it.
template <class T>
struct RowOperand {
  const T* row = nullptr;  // null: `value` everywhere
  T value{};
};

// out[i] = a[i] op b[i]; out may be a's or b's row.
template <class T>
void alu_row(isa::AluOp op, RowOperand<T> a, RowOperand<T> b, T* out, std::int64_t n);
template <class T>
[[nodiscard]] T alu_value(isa::AluOp op, T a, T b);

// op over a row (add, max, min, multiply), n >= 1. fp32 sums run in eight interleaved partial sums.
template <class T>
[[nodiscard]] T reduce_row(isa::AluOp op, const T* row, std::int64_t n);

// out[i] = f(in[i]).
void function_row(isa::Function function, const float* in, float* out, std::int64_t n);

}  // namespace systole::sim
