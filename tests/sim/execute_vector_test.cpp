#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/sim/bench.hpp"

namespace systole::sim {
namespace {

using namespace testing;
using isa::AluOp;
using isa::DType;
using isa::Space;

constexpr float nan_value = std::numeric_limits<float>::quiet_NaN();

// Independent formulas, in double.
double reference(AluOp op, double a, double b) {
  const auto i = [](double x) { return static_cast<long long>(x); };
  switch (op) {
    case AluOp::bypass:
      return a;
    case AluOp::add:
      return a + b;
    case AluOp::subtract:
      return a - b;
    case AluOp::multiply:
      return a * b;
    case AluOp::divide:
      return a / b;
    case AluOp::max:
      return std::max(a, b);
    case AluOp::min:
      return std::min(a, b);
    case AluOp::power:
      return std::pow(a, b);
    case AluOp::modulo:
      return a - std::floor(a / b) * b;
    case AluOp::equal:
      return a == b ? 1 : 0;
    case AluOp::not_equal:
      return a != b ? 1 : 0;
    case AluOp::less:
      return a < b ? 1 : 0;
    case AluOp::less_equal:
      return a <= b ? 1 : 0;
    case AluOp::greater:
      return a > b ? 1 : 0;
    case AluOp::greater_equal:
      return a >= b ? 1 : 0;
    case AluOp::logical_and:
      return (a != 0) && (b != 0) ? 1 : 0;
    case AluOp::logical_or:
      return (a != 0) || (b != 0) ? 1 : 0;
    case AluOp::logical_xor:
      return (a != 0) != (b != 0) ? 1 : 0;
    case AluOp::bitwise_and:
      return static_cast<double>(i(a) & i(b));
    case AluOp::bitwise_or:
      return static_cast<double>(i(a) | i(b));
    case AluOp::bitwise_xor:
      return static_cast<double>(i(a) ^ i(b));
    case AluOp::shift_left:
      return a * std::pow(2.0, b);
    case AluOp::shift_right:
      return std::floor(a / std::pow(2.0, b));
    case AluOp::abs_max:
      return std::max(std::abs(a), std::abs(b));
  }
  return 0;
}

const std::vector<AluOp> every_op{
    AluOp::bypass,      AluOp::add,         AluOp::subtract,      AluOp::multiply,
    AluOp::divide,      AluOp::max,         AluOp::min,           AluOp::power,
    AluOp::modulo,      AluOp::equal,       AluOp::not_equal,     AluOp::less,
    AluOp::less_equal,  AluOp::greater,     AluOp::greater_equal, AluOp::logical_and,
    AluOp::logical_or,  AluOp::logical_xor, AluOp::bitwise_and,   AluOp::bitwise_or,
    AluOp::bitwise_xor, AluOp::shift_left,  AluOp::shift_right,   AluOp::abs_max};

void expect_rows(const Rows& got, const Rows& expected, double relative) {
  REQUIRE(got.size() == expected.size());
  double worst = 0;
  for (std::size_t p = 0; p < got.size(); ++p) {
    REQUIRE(got[p].size() == expected[p].size());
    for (std::size_t i = 0; i < got[p].size(); ++i) {
      const double scale = std::max(1.0, std::abs(expected[p][i]));
      const bool both_nan = std::isnan(got[p][i]) && std::isnan(expected[p][i]);
      worst = both_nan ? worst : std::max(worst, std::abs(got[p][i] - expected[p][i]) / scale);
      CHECK(std::isnan(got[p][i]) == std::isnan(expected[p][i]));
    }
  }
  CHECK(worst <= relative);
}

template <class F>
Rows map_rows(const Rows& a, const Rows& b, F f) {
  Rows out = a;
  for (std::size_t p = 0; p < a.size(); ++p) {
    for (std::size_t i = 0; i < a[p].size(); ++i) {
      out[p][i] = f(a[p][i], b[p][i]);
    }
  }
  return out;
}

TEST_CASE(
    "tensor_tensor computes every operation on whole numbers of fp32, through strided operands") {
  for (const AluOp op : every_op) {
    Bench bench;
    const isa::Access a = strided(Space::sbuf, DType::f32, 40, 5, 9, 3, 2, 0);
    const isa::Access b = sbuf(DType::f32, 40, 15, 4096);
    const isa::Access out = strided(Space::psum, DType::f32, 40, 5, 4, 3, 1, 2048, 64);
    const Rows x = bench.fill(a, 1, 20);
    Rows whole = x;
    for (auto& row : whole) {
      std::transform(row.begin(), row.end(), row.begin(), [](double v) { return std::floor(v); });
    }
    bench.put(a, whole);
    Rows y = bench.fill(b, 1, 5);
    for (auto& row : y) {
      std::transform(row.begin(), row.end(), row.begin(), [](double v) { return std::floor(v); });
    }
    bench.put(b, y);
    bench.run(isa::TensorTensor{a, b, out, op});
    expect_rows(bench.get(out),
                map_rows(whole, y, [op](double p, double q) { return reference(op, p, q); }), 1e-6);
  }
}

TEST_CASE("int32 arithmetic is exact beyond the precision of fp32") {
  Bench bench;
  const isa::Access a = sbuf(DType::i32, 3, 2, 0);
  const isa::Access b = sbuf(DType::i32, 3, 2, 64);
  const isa::Access out = sbuf(DType::i32, 3, 2, 128);
  bench.put(a, {{16777217, -2000000001}, {5, 7}, {2147483646, 3}});
  bench.put(b, {{16777216, 1}, {-2, 2}, {1, -4}});
  bench.run(isa::TensorTensor{a, b, out, AluOp::add});
  CHECK(bench.get(out) == Rows{{33554433, -2000000000}, {3, 9}, {2147483647, -1}});
  bench.run(isa::TensorTensor{a, b, out, AluOp::divide});
  CHECK(bench.get(out)[1] == std::vector<double>{-2, 3});
  bench.run(isa::TensorTensor{a, b, out, AluOp::modulo});
  CHECK(bench.get(out)[1] == std::vector<double>{-1, 1});  // the divisor's sign
  isa::TensorScalar shifted;
  shifted.in = a;
  shifted.out = out;
  shifted.op0 = AluOp::add;
  shifted.s0.value = 1;
  bench.run(shifted);
  CHECK(bench.get(out)[0][0] == 16777218);
}

TEST_CASE("results are rounded once to the output's type") {
  Bench bench;
  const isa::Access a = sbuf(DType::bf16, 1, 2, 0);
  const isa::Access out = sbuf(DType::bf16, 1, 2, 64);
  bench.put(a, {{1.0078125, 256}});
  isa::TensorScalar op;  // (1.0078125 * 1.0078125) + 2^-9: fp32 in between
  op.in = a;
  op.out = out;
  op.op0 = AluOp::multiply;
  op.s0.value = 1.0078125F;
  op.op1 = AluOp::add;
  op.s1.value = 0.001953125F;
  bench.run(op);
  CHECK(bench.get(out)[0][0] == isa::rounded(DType::bf16, 1.0078125F * 1.0078125F + 0.001953125F));
}

TEST_CASE("tensor_scalar reverses operands and takes scalars per partition") {
  Bench bench;
  const isa::Access in = sbuf(DType::f32, 4, 3, 0);
  const isa::Access out = sbuf(DType::f32, 4, 3, 64);
  const isa::Access scalars = sbuf(DType::bf16, 4, 1, 128);
  const Rows x = bench.fill(in, -3, 3);
  const Rows s = bench.fill(scalars, 1, 2);
  isa::TensorScalar op;
  op.in = in;
  op.out = out;
  op.op0 = AluOp::subtract;
  op.reverse0 = true;
  op.s0 = per_partition(DType::bf16, 4, 128);
  op.op1 = AluOp::divide;
  op.reverse1 = true;
  op.s1.value = 2;
  bench.run(op);
  Rows expected = x;
  for (std::size_t p = 0; p < 4; ++p) {
    for (std::size_t i = 0; i < 3; ++i) {
      expected[p][i] = 2 / (s[p][0] - x[p][i]);
    }
  }
  expect_rows(bench.get(out), expected, 1e-5);
}

TEST_CASE("scalar_tensor_tensor applies the scalar first") {
  Bench bench;
  const isa::Access in = sbuf(DType::f32, 2, 4, 0);
  const isa::Access other = sbuf(DType::f32, 2, 4, 64);
  const Rows x = bench.fill(in, -3, 3);
  const Rows y = bench.fill(other, -3, 3);
  isa::ScalarTensorTensor op;
  op.in = in;
  op.other = other;
  op.out = in;  // in place
  op.op0 = AluOp::multiply;
  op.op1 = AluOp::subtract;
  op.scalar.value = 0.5;
  bench.run(op);
  expect_rows(bench.get(in), map_rows(x, y, [](double p, double q) { return p * 0.5 - q; }), 1e-6);
}

TEST_CASE("tensor_reduce folds the last dims and leaves the others") {
  for (const AluOp op : {AluOp::add, AluOp::max, AluOp::min, AluOp::multiply}) {
    for (const int inner : {1, 3, 7, 8, 16, 33}) {
      Bench bench;
      const isa::Access in = strided(Space::sbuf, DType::f32, 5, 4, inner + 2, inner, 1, 0);
      const isa::Access out = sbuf(DType::f32, 5, 4, 8192);
      const Rows x = bench.fill(in, 0.8, 1.25);
      isa::TensorReduce reduce{in, out, op, 1, true};
      bench.run(reduce);
      Rows expected(5);
      for (std::size_t p = 0; p < 5; ++p) {
        for (std::size_t o = 0; o < 4; ++o) {
          double value = x[p][o * static_cast<std::size_t>(inner)];
          for (std::size_t i = 1; i < static_cast<std::size_t>(inner); ++i) {
            value = reference(op, value, x[p][o * static_cast<std::size_t>(inner) + i]);
          }
          expected[p].push_back(-value);
        }
      }
      expect_rows(bench.get(out), expected, 1e-5);
    }
  }
}

TEST_CASE("a NaN survives max, min and sums, wherever it stands") {
  for (const AluOp op : {AluOp::add, AluOp::max, AluOp::min}) {
    for (int place = 0; place < 20; ++place) {
      Bench bench;
      const isa::Access in = sbuf(DType::f32, 1, 20, 0);
      const isa::Access out = sbuf(DType::f32, 1, 1, 256);
      Rows x = bench.fill(in, -1, 1);
      x[0][static_cast<std::size_t>(place)] = nan_value;
      bench.put(in, x);
      bench.run(isa::TensorReduce{in, out, op, 1, false});
      CHECK(std::isnan(bench.get(out)[0][0]));
    }
  }
}

TEST_CASE("tensor_scan carries its state along the row") {
  Bench bench;
  const isa::Access a = sbuf(DType::f32, 3, 6, 0);
  const isa::Access b = sbuf(DType::f32, 3, 6, 64);
  const isa::Access out = sbuf(DType::f32, 3, 6, 128);
  const Rows x = bench.fill(a, -1, 1);
  const Rows y = bench.fill(b, -1, 1);
  for (const auto& [op0, op1] :
       {std::pair{AluOp::multiply, AluOp::add}, std::pair{AluOp::max, AluOp::subtract}}) {
    isa::TensorScan scan{a, b, out, op0, op1, {}};
    scan.initial.value = 0.25;
    bench.run(scan);
    Rows expected = x;
    for (std::size_t p = 0; p < 3; ++p) {
      double state = 0.25;
      for (std::size_t i = 0; i < 6; ++i) {
        state = reference(op1, reference(op0, x[p][i], state), y[p][i]);
        expected[p][i] = state;
      }
    }
    expect_rows(bench.get(out), expected, 1e-6);
  }
}

TEST_CASE("reciprocal divides one by every element") {
  Bench bench;
  const isa::Access in = sbuf(DType::f32, 2, 5, 0);
  const Rows x = bench.fill(in, 1, 9);
  bench.run(isa::Reciprocal{in, in});
  expect_rows(bench.get(in), map_rows(x, x, [](double v, double) { return 1 / v; }), 1e-7);
}

TEST_CASE("statistics of even and odd elements combine to those of the row") {
  for (const int n : {1, 2, 7, 512}) {
    Bench bench;
    const isa::Access in = sbuf(DType::f32, 2, n, 0);
    const isa::Access stats = sbuf(DType::f32, 2, 6, 4096);
    const isa::Access result = sbuf(DType::f32, 2, 2, 8192);
    const Rows x = bench.fill(in, 3, 5);
    bench.run(isa::BatchNormStats{in, stats});
    CHECK(bench.get(stats)[0][0] + bench.get(stats)[0][3] == n);
    bench.run(isa::BatchNormAggregate{stats, result});
    for (std::size_t p = 0; p < 2; ++p) {
      double mean = 0;
      for (const double v : x[p]) {
        mean += v / n;
      }
      double variance = 0;
      for (const double v : x[p]) {
        variance += (v - mean) * (v - mean) / n;
      }
      CHECK(bench.get(result)[p][0] == doctest::Approx(mean).epsilon(1e-5));
      CHECK(bench.get(result)[p][1] == doctest::Approx(variance).epsilon(1e-4));
    }
  }
}

}  // namespace
}  // namespace systole::sim
