#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "tests/sim/bench.hpp"

namespace systole::sim {
namespace {

using namespace testing;
using isa::DType;

Rows product(const Rows& stationary, const Rows& moving) {
  Rows out(stationary[0].size(), std::vector<double>(moving[0].size(), 0));
  for (std::size_t m = 0; m < out.size(); ++m) {
    for (std::size_t n = 0; n < out[m].size(); ++n) {
      for (std::size_t k = 0; k < stationary.size(); ++k) {
        out[m][n] += stationary[k][m] * moving[k][n];
      }
    }
  }
  return out;
}

double worst_difference(const Rows& a, const Rows& b) {
  double worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t j = 0; j < a[i].size(); ++j) {
      worst = std::max(worst, std::abs(a[i][j] - b[i][j]));
    }
  }
  return worst;
}

isa::Multiply multiply(const isa::Access& moving, const isa::Access& out, bool accumulate) {
  isa::Multiply op;
  op.moving = moving;
  op.out = out;
  op.accumulate = accumulate;
  return op;
}

TEST_CASE(
    "a multiply is the transposed weights times the moving operand, at the edges of every extent") {
  for (const int k : {1, 2, 31, 33, 127, 128}) {
    for (const int m : {1, 7, 8, 9, 65, 128}) {
      for (const int n : {1, 31, 32, 33, 100, 512}) {
        Bench bench;
        const isa::Access stationary = sbuf(DType::bf16, k, m, 0);
        const isa::Access moving = sbuf(DType::bf16, k, n, 1024);
        const Rows w = bench.fill(stationary, -2, 2);
        const Rows x = bench.fill(moving, -2, 2);
        bench.run(isa::LoadStationary{stationary, 0});
        bench.run(multiply(moving, psum(m, n), false));
        CAPTURE(k);
        CAPTURE(m);
        CAPTURE(n);
        CHECK(worst_difference(bench.get(psum(m, n)), product(w, x)) < 1e-4);
      }
    }
  }
}

TEST_CASE("whole numbers multiply exactly, and accumulate") {
  Bench bench;
  const isa::Access stationary = sbuf(DType::i8, 128, 64, 0);
  const isa::Access moving = sbuf(DType::f16, 128, 100, 1024);
  const Rows w = bench.fill(stationary, -8, 8);
  Rows x = bench.fill(moving, -8, 8);
  for (auto& row : x) {
    for (double& v : row) {
      v = std::floor(v);
    }
  }
  bench.put(moving, x);
  bench.run(isa::LoadStationary{stationary, 0});
  bench.run(multiply(moving, psum(64, 100, 4096), false));
  const Rows once = product(w, x);
  CHECK(worst_difference(bench.get(psum(64, 100, 4096)), once) == 0);
  bench.run(multiply(moving, psum(64, 100, 4096), true));
  Rows twice = once;
  for (auto& row : twice) {
    for (double& v : row) {
      v *= 2;
    }
  }
  CHECK(worst_difference(bench.get(psum(64, 100, 4096)), twice) == 0);
}

TEST_CASE("tiles of the array keep their own weights") {
  Bench bench;
  const isa::Access low = sbuf(DType::f32, 64, 64, 0, 0);
  const isa::Access high = sbuf(DType::f32, 64, 64, 0, 64);
  const Rows w_low = bench.fill(low, -1, 1);
  const Rows w_high = bench.fill(high, -1, 1);
  bench.run(isa::LoadStationary{low, 0});
  bench.run(isa::LoadStationary{high, 64});
  const isa::Access x_low = sbuf(DType::f32, 64, 50, 1024, 0);
  const isa::Access x_high = sbuf(DType::f32, 64, 50, 1024, 64);
  const Rows v_low = bench.fill(x_low, -1, 1);
  const Rows v_high = bench.fill(x_high, -1, 1);
  bench.run(multiply(x_low, psum(64, 50, 0, 0), false));
  bench.run(multiply(x_high, psum(64, 50, 0, 64), false));
  CHECK(worst_difference(bench.get(psum(64, 50, 0, 0)), product(w_low, v_low)) < 1e-4);
  CHECK(worst_difference(bench.get(psum(64, 50, 0, 64)), product(w_high, v_high)) < 1e-4);
}

TEST_CASE("strided operands and outputs keep their order") {
  Bench bench;
  const isa::Access stationary = strided(isa::Space::sbuf, DType::bf16, 40, 4, 10, 3, 2, 0);
  const isa::Access moving = strided(isa::Space::sbuf, DType::bf16, 40, 6, 20, 5, 3, 1024);
  const isa::Access out = strided(isa::Space::psum, DType::f32, 12, 5, 1, 6, 5, 0);
  const Rows w = bench.fill(stationary, -1, 1);
  const Rows x = bench.fill(moving, -1, 1);
  bench.run(isa::LoadStationary{stationary, 0});
  bench.run(multiply(moving, out, false));
  CHECK(worst_difference(bench.get(out), product(w, x)) < 1e-4);
  bench.run(multiply(moving, out, true));
  Rows twice = product(w, x);
  for (auto& row : twice) {
    for (double& v : row) {
      v *= 2;
    }
  }
  CHECK(worst_difference(bench.get(out), twice) < 1e-4);
}

TEST_CASE("transpose mode passes bits where a real multiply spreads a NaN") {
  Bench bench("trn2");
  const isa::Access data = sbuf(DType::bf16, 4, 4, 0);
  const isa::Access identity = sbuf(DType::bf16, 4, 4, 64);
  Rows x = bench.fill(data, -1, 1);
  x[1][2] = std::numeric_limits<double>::quiet_NaN();
  x[3][0] = std::numeric_limits<double>::infinity();
  bench.put(data, x);
  Rows eye(4, std::vector<double>(4, 0));
  for (std::size_t i = 0; i < 4; ++i) {
    eye[i][(i + 1) % 4] = 1;  // a permutation
  }
  bench.put(identity, eye);
  bench.run(isa::LoadStationary{data, 0});
  isa::Access out = psum(4, 4);
  out.dtype = DType::bf16;
  isa::Multiply op = multiply(identity, out, false);
  op.transpose_mode = true;
  bench.run(op);
  const Rows y = bench.get(out);
  for (std::size_t m = 0; m < 4; ++m) {
    for (std::size_t k = 0; k < 4; ++k) {
      const double got = y[m][(k + 1) % 4];
      CHECK((got == x[k][m] || (std::isnan(got) && std::isnan(x[k][m]))));
    }
  }
  bench.run(multiply(identity, psum(4, 4, 2048), false));
  int contaminated = 0;
  for (const auto& row : bench.get(psum(4, 4, 2048))) {
    for (const double v : row) {
      contaminated += std::isnan(v) ? 1 : 0;
    }
  }
  CHECK(contaminated > 1);
}

}  // namespace
}  // namespace systole::sim
