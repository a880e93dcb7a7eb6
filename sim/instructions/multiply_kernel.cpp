// A register tile of 8 array columns by 32 moving columns (16 vector accumulators with 512-bit
// vectors) runs over all k; the panel it reads stays in the host's first-level cache for all tiles
// of m. Written with vector types, compiled for 512-bit, 256-bit and plain 128-bit hosts and chosen
// at run time.
#include "sim/instructions/multiply_kernel.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace systole::sim {
namespace {

template <std::size_t bytes>
struct VectorOf {
  typedef float Type __attribute__((vector_size(bytes)));
};

struct Tile {
  const float* weights;
  std::int64_t weight_pitch;
  const float* panel;  // first column of the tile
  std::int64_t k;
  float* out;
  std::int64_t out_pitch;
  std::int64_t valid;  // columns to store
  bool accumulate;
};

template <std::size_t bytes, std::size_t tile_rows, std::size_t vectors>
[[gnu::always_inline]] inline void multiply_tile(const Tile& t) {
  using V = typename VectorOf<bytes>::Type;
  constexpr std::size_t lanes = bytes / 4;
  V sum[tile_rows][vectors] = {};
  for (std::int64_t k = 0; k < t.k; ++k) {
    V x[vectors];
    std::memcpy(&x, t.panel + k * panel_columns, sizeof(x));
    const float* w = t.weights + k * t.weight_pitch;
    for (std::size_t r = 0; r < tile_rows; ++r) {
      for (std::size_t v = 0; v < vectors; ++v) {
        sum[r][v] += w[r] * x[v];
      }
    }
  }
  for (std::size_t r = 0; r < tile_rows; ++r) {
    float* out = t.out + static_cast<std::int64_t>(r) * t.out_pitch;
    float row[vectors * lanes];
    std::memcpy(row, &sum[r], sizeof(row));
    for (std::int64_t i = 0; i < t.valid; ++i) {
      out[i] = t.accumulate ? row[i] + out[i] : row[i];
    }
  }
}

template <std::size_t bytes, std::size_t tile_rows, std::size_t vectors>
[[gnu::always_inline]] inline void multiply_all(const MultiplyShape& shape, const float* weights,
                                                std::int64_t weight_pitch, const float* moving,
                                                float* out, std::int64_t out_pitch,
                                                bool accumulate) {
  constexpr auto step = static_cast<std::int64_t>(vectors * (bytes / 4));
  constexpr auto tall = static_cast<std::int64_t>(tile_rows);
  for (std::int64_t n = 0; n < shape.n; n += step) {
    const float* panel = moving + n / panel_columns * panel_columns * shape.k + n % panel_columns;
    Tile tile{
        weights,   weight_pitch, panel, shape.k, out + n, out_pitch, std::min(step, shape.n - n),
        accumulate};
    std::int64_t m = 0;
    for (; m + tall <= shape.m; m += tall) {
      tile.weights = weights + m;
      tile.out = out + n + m * out_pitch;
      multiply_tile<bytes, tile_rows, vectors>(tile);
    }
    for (; m < shape.m; ++m) {
      tile.weights = weights + m;
      tile.out = out + n + m * out_pitch;
      multiply_tile<bytes, 1, vectors>(tile);
    }
  }
}

[[gnu::target("avx512f,fma")]] void multiply_512(const MultiplyShape& shape, const float* weights,
                                                 std::int64_t weight_pitch, const float* moving,
                                                 float* out, std::int64_t out_pitch,
                                                 bool accumulate) {
  multiply_all<64, 8, 2>(shape, weights, weight_pitch, moving, out, out_pitch, accumulate);
}

[[gnu::target("avx2,fma")]] void multiply_256(const MultiplyShape& shape, const float* weights,
                                              std::int64_t weight_pitch, const float* moving,
                                              float* out, std::int64_t out_pitch, bool accumulate) {
  multiply_all<32, 4, 2>(shape, weights, weight_pitch, moving, out, out_pitch, accumulate);
}

void multiply_128(const MultiplyShape& shape, const float* weights, std::int64_t weight_pitch,
                  const float* moving, float* out, std::int64_t out_pitch, bool accumulate) {
  multiply_all<16, 4, 2>(shape, weights, weight_pitch, moving, out, out_pitch, accumulate);
}

}  // namespace

void multiply_panels(const MultiplyShape& shape, const float* weights, std::int64_t weight_pitch,
                     const float* moving, float* out, std::int64_t out_pitch, bool accumulate) {
  if (__builtin_cpu_supports("avx512f") != 0) {
    multiply_512(shape, weights, weight_pitch, moving, out, out_pitch, accumulate);
  } else if (__builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0) {
    multiply_256(shape, weights, weight_pitch, moving, out, out_pitch, accumulate);
  } else {
    multiply_128(shape, weights, weight_pitch, moving, out, out_pitch, accumulate);
  }
}

}  // namespace systole::sim
