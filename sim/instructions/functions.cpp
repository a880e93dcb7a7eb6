// The Scalar engine's functions. Those that Eigen vectorises with an error of a few units in the
// last place use it; the others call the standard library per element.
#include <Eigen/Core>
#include <cmath>
#include <numbers>

#include "isa/base/error.hpp"
#include "sim/instructions/arithmetic.hpp"

namespace systole::sim {
namespace {

template <class F>
void each(const float* in, float* out, std::int64_t n, F f) {
  for (std::int64_t i = 0; i < n; ++i) {
    out[i] = f(in[i]);
  }
}

float softplus(float x) {
  return x > 0.0F ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x));
}

float gelu(float x) {
  return 0.5F * x * (1.0F + std::erf(x * (std::numbers::sqrt2_v<float> / 2.0F)));
}

float sign(float x) {
  return x > 0.0F ? 1.0F : (x < 0.0F ? -1.0F : x);
}

using Row = Eigen::Map<const Eigen::ArrayXf>;
using Out = Eigen::Map<Eigen::ArrayXf>;

void gelu_tanh(const Row& x, Out& y) {
  // sqrt(2 / pi)
  const float c = 0.7978845608F;
  y = 0.5F * x * (1.0F + (c * (x + 0.044715F * x * x * x)).tanh());
}

}  // namespace

void function_row(isa::Function function, const float* in, float* out, std::int64_t n) {
  const Row x(in, n);
  Out y(out, n);
  switch (function) {
    case isa::Function::copy:
      y = x;
      return;
    case isa::Function::relu:
      return each(in, out, n, [](float v) { return v < 0.0F ? 0.0F : v; });  // NaN passes
    case isa::Function::sigmoid:
      y = (1.0F + (-x).exp()).inverse();
      return;
    case isa::Function::tanh:
      y = x.tanh();
      return;
    case isa::Function::exp:
      y = x.exp();
      return;
    case isa::Function::log:
      y = x.log();
      return;
    case isa::Function::sqrt:
      y = x.sqrt();
      return;
    case isa::Function::rsqrt:
      y = x.sqrt().inverse();
      return;
    case isa::Function::square:
      y = x.square();
      return;
    case isa::Function::abs:
      y = x.abs();
      return;
    case isa::Function::sign:
      return each(in, out, n, sign);
    case isa::Function::erf:
      return each(in, out, n, [](float v) { return std::erf(v); });
    case isa::Function::gelu:
      return each(in, out, n, gelu);
    case isa::Function::gelu_tanh:
      return gelu_tanh(x, y);
    case isa::Function::silu:
      y = x * (1.0F + (-x).exp()).inverse();
      return;
    case isa::Function::softplus:
      return each(in, out, n, softplus);
    case isa::Function::sin:
      return each(in, out, n, [](float v) { return std::sin(v); });
    case isa::Function::cos:
      return each(in, out, n, [](float v) { return std::cos(v); });
    case isa::Function::tan:
      return each(in, out, n, [](float v) { return std::tan(v); });
    case isa::Function::asin:
      return each(in, out, n, [](float v) { return std::asin(v); });
    case isa::Function::acos:
      return each(in, out, n, [](float v) { return std::acos(v); });
    case isa::Function::atan:
      return each(in, out, n, [](float v) { return std::atan(v); });
    case isa::Function::sinh:
      return each(in, out, n, [](float v) { return std::sinh(v); });
    case isa::Function::cosh:
      return each(in, out, n, [](float v) { return std::cosh(v); });
    case isa::Function::asinh:
      return each(in, out, n, [](float v) { return std::asinh(v); });
    case isa::Function::acosh:
      return each(in, out, n, [](float v) { return std::acosh(v); });
    case isa::Function::atanh:
      return each(in, out, n, [](float v) { return std::atanh(v); });
    case isa::Function::reciprocal:
      y = x.inverse();
      return;
    case isa::Function::floor:
      return each(in, out, n, [](float v) { return std::floor(v); });
    case isa::Function::ceil:
      return each(in, out, n, [](float v) { return std::ceil(v); });
    case isa::Function::round:
      return each(in, out, n, [](float v) { return std::nearbyint(v); });
    case isa::Function::mish:
      return each(in, out, n, [](float v) { return v * std::tanh(softplus(v)); });
  }
  check(false, "function out of range");
}

}  // namespace systole::sim
