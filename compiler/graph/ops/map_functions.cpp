#include "compiler/graph/ops/map_functions.hpp"

#include <array>
#include <cmath>
#include <limits>
#include <numbers>

#include "compiler/graph/ops/combine.hpp"

namespace systole::graph::ops {
namespace {

using enum MapFunction;

template <class F>
struct Row {
  MapFunction function;
  F apply;
};

template <class F, std::size_t N>
F find(const std::array<Row<F>, N>& table, MapFunction function) {
  for (const Row<F>& row : table) {
    if (row.function == function) {
      return row.apply;
    }
  }
  return nullptr;
}

double sigmoid_of(double x) {
  return x >= 0.0 ? 1.0 / (1.0 + std::exp(-x)) : std::exp(x) / (1.0 + std::exp(x));
}

// log(1 + exp(x)) without overflow.
double softplus_of(double x) {
  return std::isnan(x) ? x : std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x)));
}

double gelu_tanh_of(double x) {
  const double inner = std::sqrt(2.0 / std::numbers::pi) * (x + 0.044715 * x * x * x);
  return 0.5 * x * (1.0 + std::tanh(inner));
}

double sign_of(double x) {
  return std::isnan(x) ? x : static_cast<double>((x > 0.0) - (x < 0.0));
}

double floored_modulo(double a, double b) {
  const double rest = std::fmod(a, b);
  return rest != 0.0 && (rest < 0.0) != (b < 0.0) ? rest + b : rest;
}

constexpr std::array<Row<Unary<double>>, 35> real_unary{{
    {negate, [](const Map&, double x) { return -x; }},
    {abs, [](const Map&, double x) { return std::abs(x); }},
    {sign, [](const Map&, double x) { return sign_of(x); }},
    {relu, [](const Map&, double x) { return larger(x, 0.0); }},
    {exp, [](const Map&, double x) { return std::exp(x); }},
    {log, [](const Map&, double x) { return std::log(x); }},
    {sqrt, [](const Map&, double x) { return std::sqrt(x); }},
    {rsqrt, [](const Map&, double x) { return 1.0 / std::sqrt(x); }},
    {reciprocal, [](const Map&, double x) { return 1.0 / x; }},
    {square, [](const Map&, double x) { return x * x; }},
    {sigmoid, [](const Map&, double x) { return sigmoid_of(x); }},
    {MapFunction::tanh, [](const Map&, double x) { return std::tanh(x); }},
    {MapFunction::erf, [](const Map&, double x) { return std::erf(x); }},
    {gelu, [](const Map&, double x) { return 0.5 * x * std::erfc(-x / std::numbers::sqrt2); }},
    {gelu_tanh, [](const Map&, double x) { return gelu_tanh_of(x); }},
    {silu, [](const Map&, double x) { return x * sigmoid_of(x); }},
    {softplus, [](const Map&, double x) { return softplus_of(x); }},
    {mish, [](const Map&, double x) { return x * std::tanh(softplus_of(x)); }},
    {MapFunction::sin, [](const Map&, double x) { return std::sin(x); }},
    {MapFunction::cos, [](const Map&, double x) { return std::cos(x); }},
    {MapFunction::tan, [](const Map&, double x) { return std::tan(x); }},
    {MapFunction::asin, [](const Map&, double x) { return std::asin(x); }},
    {MapFunction::acos, [](const Map&, double x) { return std::acos(x); }},
    {MapFunction::atan, [](const Map&, double x) { return std::atan(x); }},
    {MapFunction::sinh, [](const Map&, double x) { return std::sinh(x); }},
    {MapFunction::cosh, [](const Map&, double x) { return std::cosh(x); }},
    {MapFunction::asinh, [](const Map&, double x) { return std::asinh(x); }},
    {MapFunction::acosh, [](const Map&, double x) { return std::acosh(x); }},
    {MapFunction::atanh, [](const Map&, double x) { return std::atanh(x); }},
    {MapFunction::floor, [](const Map&, double x) { return std::floor(x); }},
    {MapFunction::ceil, [](const Map&, double x) { return std::ceil(x); }},
    {MapFunction::round, [](const Map&, double x) { return std::nearbyint(x); }},
    {clip, [](const Map& op, double x) { return smaller(larger(x, op.alpha), op.beta); }},
    {leaky_relu, [](const Map& op, double x) { return x < 0.0 ? op.alpha * x : x; }},
    {elu, [](const Map& op, double x) { return x < 0.0 ? op.alpha * std::expm1(x) : x; }},
}};

constexpr std::array<Row<Binary<double>>, 8> real_binary{{
    {add, [](const Map&, double a, double b) { return a + b; }},
    {subtract, [](const Map&, double a, double b) { return a - b; }},
    {multiply, [](const Map&, double a, double b) { return a * b; }},
    {divide, [](const Map&, double a, double b) { return a / b; }},
    {max, [](const Map&, double a, double b) { return larger(a, b); }},
    {min, [](const Map&, double a, double b) { return smaller(a, b); }},
    {modulo, [](const Map&, double a, double b) { return floored_modulo(a, b); }},
    {MapFunction::remainder, [](const Map&, double a, double b) { return std::fmod(a, b); }},
}};

template <class I>
constexpr std::array<Row<Unary<I>>, 7> integer_unary{{
    {negate, [](const Map&, I x) { return wrapping_subtract(I(0), x); }},
    {abs, [](const Map&, I x) { return x < I(0) ? wrapping_subtract(I(0), x) : x; }},
    {sign, [](const Map&, I x) { return static_cast<I>((x > I(0)) - (x < I(0))); }},
    {relu, [](const Map&, I x) { return std::max(x, I(0)); }},
    {square, [](const Map&, I x) { return wrapping_multiply(x, x); }},
    {bitwise_not, [](const Map&, I x) { return static_cast<I>(~x); }},
    {clip, [](const Map& op,
              I x) { return std::min(std::max(x, truncate<I>(op.alpha)), truncate<I>(op.beta)); }},
}};

bool is_minus_one(std::int64_t x) {
  return x == -1;
}
bool is_minus_one(std::uint64_t) {
  return false;
}

// The one quotient that does not fit, lowest / -1, wraps.
template <class I>
I quotient(I a, I b) {
  return is_minus_one(b) ? wrapping_subtract(I(0), a) : static_cast<I>(a / b);
}

template <class I>
I rest_of(I a, I b) {
  return is_minus_one(b) ? I(0) : static_cast<I>(a % b);
}

template <class I>
I floored_rest(I a, I b) {
  const I rest = rest_of(a, b);
  return rest != I(0) && (rest < I(0)) != (b < I(0)) ? static_cast<I>(rest + b) : rest;
}

template <class I>
I shift_up(I a, I b) {
  return b < I(0) || b > I(63) ? I(0) : static_cast<I>(static_cast<std::uint64_t>(a) << b);
}

template <class I>
I shift_down(I a, I b) {
  if (b < I(0) || b > I(63)) {
    return a < I(0) ? static_cast<I>(~I(0)) : I(0);
  }
  return static_cast<I>(a >> b);
}

template <class I>
constexpr std::array<Row<Binary<I>>, 13> integer_binary{{
    {add, [](const Map&, I a, I b) { return wrapping_add(a, b); }},
    {subtract, [](const Map&, I a, I b) { return wrapping_subtract(a, b); }},
    {multiply, [](const Map&, I a, I b) { return wrapping_multiply(a, b); }},
    {divide, [](const Map&, I a, I b) { return quotient(a, b); }},
    {max, [](const Map&, I a, I b) { return std::max(a, b); }},
    {min, [](const Map&, I a, I b) { return std::min(a, b); }},
    {modulo, [](const Map&, I a, I b) { return floored_rest(a, b); }},
    {MapFunction::remainder, [](const Map&, I a, I b) { return rest_of(a, b); }},
    {bitwise_and, [](const Map&, I a, I b) { return static_cast<I>(a & b); }},
    {bitwise_or, [](const Map&, I a, I b) { return static_cast<I>(a | b); }},
    {bitwise_xor, [](const Map&, I a, I b) { return static_cast<I>(a ^ b); }},
    {shift_left, [](const Map&, I a, I b) { return shift_up(a, b); }},
    {shift_right, [](const Map&, I a, I b) { return shift_down(a, b); }},
}};

template <class W>
constexpr std::array<Row<Predicate<W>>, 10> predicates{{
    {equal, [](W a, W b) { return a == b; }},
    {not_equal, [](W a, W b) { return a != b; }},
    {less, [](W a, W b) { return a < b; }},
    {less_equal, [](W a, W b) { return a <= b; }},
    {greater, [](W a, W b) { return a > b; }},
    {greater_equal, [](W a, W b) { return a >= b; }},
    {logical_and, [](W a, W b) { return a != W(0) && b != W(0); }},
    {logical_or, [](W a, W b) { return a != W(0) || b != W(0); }},
    {logical_xor, [](W a, W b) { return (a != W(0)) != (b != W(0)); }},
    {logical_not, [](W a, W) { return a == W(0); }},
}};

}  // namespace

template <>
Unary<double> find_unary<double>(MapFunction function) {
  return find(real_unary, function);
}
template <>
Unary<std::int64_t> find_unary<std::int64_t>(MapFunction function) {
  return find(integer_unary<std::int64_t>, function);
}
template <>
Unary<std::uint64_t> find_unary<std::uint64_t>(MapFunction function) {
  return find(integer_unary<std::uint64_t>, function);
}

template <>
Binary<double> find_binary<double>(MapFunction function) {
  return find(real_binary, function);
}
template <>
Binary<std::int64_t> find_binary<std::int64_t>(MapFunction function) {
  return find(integer_binary<std::int64_t>, function);
}
template <>
Binary<std::uint64_t> find_binary<std::uint64_t>(MapFunction function) {
  return find(integer_binary<std::uint64_t>, function);
}

template <>
Predicate<double> find_predicate<double>(MapFunction function) {
  if (function == is_nan) {
    return [](double a, double) { return std::isnan(a); };
  }
  if (function == is_inf) {
    return [](double a, double) { return std::isinf(a); };
  }
  return find(predicates<double>, function);
}
template <>
Predicate<std::int64_t> find_predicate<std::int64_t>(MapFunction function) {
  return find(predicates<std::int64_t>, function);
}
template <>
Predicate<std::uint64_t> find_predicate<std::uint64_t>(MapFunction function) {
  return find(predicates<std::uint64_t>, function);
}

std::int64_t integer_power(std::int64_t base, std::int64_t exponent) {
  if (exponent < 0) {
    if (base == 1 || base == -1) {
      return exponent % 2 == 0 ? 1 : base;
    }
    return 0;
  }
  std::int64_t result = 1;
  for (; exponent > 0; exponent /= 2) {
    if (exponent % 2 == 1) {
      result = wrapping_multiply(result, base);
    }
    base = wrapping_multiply(base, base);
  }
  return result;
}

}  // namespace systole::graph::ops
