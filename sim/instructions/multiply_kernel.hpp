// The arithmetic of one pass through the array: out[m, n] (+)= sum over k of weights[k, m] *
// moving[k, n], fp32.
//
// The sum over k runs in order of k from 0; then it is added to what out holds. Where the host has
// fused multiply-add (every x86-64-v3 machine) each step rounds once; results are the same for all
// vector widths.
#pragma once

#include <cstdint>

namespace systole::sim {

// Columns of a panel of the packed moving operand.
inline constexpr std::int64_t panel_columns = 32;

struct MultiplyShape {
  std::int64_t k = 0;  // contraction
  std::int64_t m = 0;  // columns of the array in use
  std::int64_t n = 0;  // moving columns
};

// weights: row k at weights + k * weight_pitch. moving: panels of 32 columns, each k rows of 32
// floats, the last one padded. out: row m at out + m * out_pitch.
void multiply_panels(const MultiplyShape& shape, const float* weights, std::int64_t weight_pitch,
                     const float* moving, float* out, std::int64_t out_pitch, bool accumulate);

}  // namespace systole::sim
