#include <doctest/doctest.h>

#include <cmath>
#include <functional>

#include "tests/sim/bench.hpp"

namespace systole::sim {
namespace {

using namespace testing;
using isa::DType;
using isa::Function;

struct Case {
  Function function;
  double low;
  double high;
  std::function<double(double)> reference;
};

double softplus(double x) {
  return std::log1p(std::exp(x));
}

const std::vector<Case> cases{
    {Function::copy, -3, 3, [](double x) { return x; }},
    {Function::relu, -3, 3, [](double x) { return x > 0 ? x : 0; }},
    {Function::sigmoid, -20, 20, [](double x) { return 1 / (1 + std::exp(-x)); }},
    {Function::tanh, -5, 5, [](double x) { return std::tanh(x); }},
    {Function::exp, -20, 20, [](double x) { return std::exp(x); }},
    {Function::log, 0.01, 50, [](double x) { return std::log(x); }},
    {Function::sqrt, 0, 50, [](double x) { return std::sqrt(x); }},
    {Function::rsqrt, 0.01, 50, [](double x) { return 1 / std::sqrt(x); }},
    {Function::square, -9, 9, [](double x) { return x * x; }},
    {Function::abs, -9, 9, [](double x) { return std::abs(x); }},
    {Function::sign, -2, 2, [](double x) { return x > 0 ? 1 : (x < 0 ? -1 : 0); }},
    {Function::erf, -3, 3, [](double x) { return std::erf(x); }},
    {Function::gelu, -5, 5, [](double x) { return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0))); }},
    {Function::gelu_tanh, -5, 5,
     [](double x) {
       return 0.5 * x * (1 + std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
     }},
    {Function::silu, -9, 9, [](double x) { return x / (1 + std::exp(-x)); }},
    {Function::softplus, -30, 30, softplus},
    {Function::sin, -6, 6, [](double x) { return std::sin(x); }},
    {Function::cos, -6, 6, [](double x) { return std::cos(x); }},
    {Function::tan, -1.4, 1.4, [](double x) { return std::tan(x); }},
    {Function::asin, -1, 1, [](double x) { return std::asin(x); }},
    {Function::acos, -1, 1, [](double x) { return std::acos(x); }},
    {Function::atan, -9, 9, [](double x) { return std::atan(x); }},
    {Function::sinh, -5, 5, [](double x) { return std::sinh(x); }},
    {Function::cosh, -5, 5, [](double x) { return std::cosh(x); }},
    {Function::asinh, -9, 9, [](double x) { return std::asinh(x); }},
    {Function::acosh, 1, 9, [](double x) { return std::acosh(x); }},
    {Function::atanh, -0.99, 0.99, [](double x) { return std::atanh(x); }},
    {Function::reciprocal, 0.1, 9, [](double x) { return 1 / x; }},
    {Function::floor, -9, 9, [](double x) { return std::floor(x); }},
    {Function::ceil, -9, 9, [](double x) { return std::ceil(x); }},
    {Function::round, -9, 9, [](double x) { return std::nearbyint(x); }},
    {Function::mish, -9, 9, [](double x) { return x * std::tanh(softplus(x)); }}};

TEST_CASE("every function of the Scalar engine agrees with the standard library in double") {
  CHECK(cases.size() == static_cast<std::size_t>(Function::mish) + 1);
  for (const Case& c : cases) {
    Bench bench;
    isa::Activation op;
    op.in = sbuf(DType::f32, 2, 333, 0);
    op.out = sbuf(DType::f32, 2, 333, 4096);
    op.function = c.function;
    const Rows x = bench.fill(op.in, c.low, c.high);
    bench.run(op);
    const Rows y = bench.get(op.out);
    double worst = 0;
    for (std::size_t p = 0; p < 2; ++p) {
      for (std::size_t i = 0; i < 333; ++i) {
        const double expected = c.reference(x[p][i]);
        worst = std::max(worst, std::abs(y[p][i] - expected) / std::max(1.0, std::abs(expected)));
      }
    }
    CAPTURE(static_cast<int>(c.function));
    CHECK(worst < 2e-6);
  }
}

TEST_CASE("round goes to the even neighbour") {
  Bench bench;
  isa::Activation op;
  op.in = op.out = sbuf(DType::f32, 1, 4, 0);
  op.function = Function::round;
  bench.put(op.in, {{0.5, 1.5, 2.5, -0.5}});
  bench.run(op);
  CHECK(bench.get(op.out)[0] == std::vector<double>{0, 2, 2, -0.0});
}

TEST_CASE(
    "scale and bias come before the function, per partition or fixed; the sum rides along "
    "unrounded") {
  Bench bench;
  isa::Activation op;
  op.in = sbuf(DType::bf16, 5, 40, 0);
  op.out = sbuf(DType::bf16, 5, 40, 256);
  op.function = Function::exp;
  op.scale.value = 0.5F;
  op.bias = per_partition(DType::f32, 5, 1024);
  op.with_reduce = true;
  op.reduce = sbuf(DType::f32, 5, 1, 2048);
  const Rows x = bench.fill(op.in, -2, 2);
  const Rows bias = bench.fill(op.bias.access, -1, 1);
  bench.run(op);
  for (std::size_t p = 0; p < 5; ++p) {
    double sum = 0;
    for (std::size_t i = 0; i < 40; ++i) {
      const double value = std::exp(0.5 * x[p][i] + bias[p][0]);
      sum += value;
      CHECK(bench.get(op.out)[p][i] == doctest::Approx(value).epsilon(0.005));
    }
    CHECK(bench.get(op.reduce)[p][0] == doctest::Approx(sum).epsilon(1e-5));
  }
}

}  // namespace
}  // namespace systole::sim
