#include "sim/instructions/arithmetic.hpp"

#include <array>
#include <cmath>
#include <type_traits>

#include "isa/base/error.hpp"

namespace systole::sim {
namespace {

template <class T>
T maximum(T a, T b) {
  return a > b || a != a ? a : b;
}
template <class T>
T minimum(T a, T b) {
  return a < b || a != a ? a : b;
}

template <class T>
T divide(T a, T b) {
  if constexpr (std::is_same_v<T, float>) {
    return a / b;
  } else {
    return b == 0 ? 0 : a / b;
  }
}

template <class T>
T modulo(T a, T b) {
  if constexpr (std::is_same_v<T, float>) {
    const float rest = std::fmod(a, b);
    return rest != 0.0F && (rest < 0.0F) != (b < 0.0F) ? rest + b : rest;
  } else {
    if (b == 0) {
      return 0;
    }
    const T rest = a % b;
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
  }
}

template <class T>
T power(T a, T b) {
  if constexpr (std::is_same_v<T, float>) {
    return std::pow(a, b);
  } else {
    if (b < 0) {
      return a == 1 ? 1 : (a == -1 ? (b % 2 == 0 ? 1 : -1) : 0);
    }
    auto result = std::uint64_t{1};
    auto base = static_cast<std::uint64_t>(a);
    for (auto e = static_cast<std::uint64_t>(b); e != 0; e >>= 1U) {
      result = (e & 1U) != 0 ? result * base : result;
      base *= base;
    }
    return static_cast<T>(result);
  }
}

template <class T>
T absolute(T a) {
  return a < T{0} ? -a : a;
}

template <class T>
std::uint64_t bits(T a) {
  if constexpr (std::is_same_v<T, float>) {
    return static_cast<std::uint64_t>(std::llrint(a));
  } else {
    return static_cast<std::uint64_t>(a);
  }
}
template <class T>
T from_bits(std::uint64_t pattern) {
  return static_cast<T>(static_cast<std::int64_t>(pattern));
}

// Calls use(f) with the operation as a function of two values, so that loops are compiled per
// operation.
template <class T, class Use>
void with_alu(isa::AluOp op, Use&& use) {
  const auto truth = [](bool value) { return value ? T{1} : T{0}; };
  switch (op) {
    case isa::AluOp::bypass:
      return use([](T a, T) { return a; });
    case isa::AluOp::add:
      return use([](T a, T b) { return a + b; });
    case isa::AluOp::subtract:
      return use([](T a, T b) { return a - b; });
    case isa::AluOp::multiply:
      return use([](T a, T b) { return a * b; });
    case isa::AluOp::divide:
      return use([](T a, T b) { return divide(a, b); });
    case isa::AluOp::max:
      return use([](T a, T b) { return maximum(a, b); });
    case isa::AluOp::min:
      return use([](T a, T b) { return minimum(a, b); });
    case isa::AluOp::power:
      return use([](T a, T b) { return power(a, b); });
    case isa::AluOp::modulo:
      return use([](T a, T b) { return modulo(a, b); });
    case isa::AluOp::equal:
      return use([truth](T a, T b) { return truth(a == b); });
    case isa::AluOp::not_equal:
      return use([truth](T a, T b) { return truth(a != b); });
    case isa::AluOp::less:
      return use([truth](T a, T b) { return truth(a < b); });
    case isa::AluOp::less_equal:
      return use([truth](T a, T b) { return truth(a <= b); });
    case isa::AluOp::greater:
      return use([truth](T a, T b) { return truth(a > b); });
    case isa::AluOp::greater_equal:
      return use([truth](T a, T b) { return truth(a >= b); });
    case isa::AluOp::logical_and:
      return use([truth](T a, T b) { return truth(a != T{0} && b != T{0}); });
    case isa::AluOp::logical_or:
      return use([truth](T a, T b) { return truth(a != T{0} || b != T{0}); });
    case isa::AluOp::logical_xor:
      return use([truth](T a, T b) { return truth((a != T{0}) != (b != T{0})); });
    case isa::AluOp::bitwise_and:
      return use([](T a, T b) { return from_bits<T>(bits(a) & bits(b)); });
    case isa::AluOp::bitwise_or:
      return use([](T a, T b) { return from_bits<T>(bits(a) | bits(b)); });
    case isa::AluOp::bitwise_xor:
      return use([](T a, T b) { return from_bits<T>(bits(a) ^ bits(b)); });
    case isa::AluOp::shift_left:
      return use([](T a, T b) { return from_bits<T>(bits(a) << (bits(b) & 63U)); });
    case isa::AluOp::shift_right:
      return use([](T a, T b) {
        return static_cast<T>(static_cast<std::int64_t>(bits(a)) >> (bits(b) & 63U));
      });
    case isa::AluOp::abs_max:
      return use([](T a, T b) { return maximum(absolute(a), absolute(b)); });
  }
  check(false, "operation out of range");
}

}  // namespace

template <class T>
void alu_row(isa::AluOp op, RowOperand<T> a, RowOperand<T> b, T* out, std::int64_t n) {
  with_alu<T>(op, [&](auto f) {
    if (a.row != nullptr && b.row != nullptr) {
      for (std::int64_t i = 0; i < n; ++i) {
        out[i] = f(a.row[i], b.row[i]);
      }
    } else if (a.row != nullptr) {
      const T value = b.value;
      for (std::int64_t i = 0; i < n; ++i) {
        out[i] = f(a.row[i], value);
      }
    } else {
      const T value = a.value;
      for (std::int64_t i = 0; i < n; ++i) {
        out[i] = f(value, b.row != nullptr ? b.row[i] : b.value);
      }
    }
  });
}

template <class T>
T alu_value(isa::AluOp op, T a, T b) {
  T result{};
  with_alu<T>(op, [&](auto f) { result = f(a, b); });
  return result;
}

template <class T>
T reduce_row(isa::AluOp op, const T* row, std::int64_t n) {
  constexpr std::int64_t lanes = 8;
  T result = row[0];
  with_alu<T>(op, [&](auto f) {
    std::int64_t i = 1;
    if (n >= 2 * lanes) {
      std::array<T, lanes> partial{};
      for (std::int64_t l = 0; l < lanes; ++l) {
        partial[static_cast<std::size_t>(l)] = row[l];
      }
      for (i = lanes; i + lanes <= n; i += lanes) {
        for (std::int64_t l = 0; l < lanes; ++l) {
          partial[static_cast<std::size_t>(l)] =
              f(partial[static_cast<std::size_t>(l)], row[i + l]);
        }
      }
      result = f(f(f(partial[0], partial[4]), f(partial[2], partial[6])),
                 f(f(partial[1], partial[5]), f(partial[3], partial[7])));
    }
    for (; i < n; ++i) {
      result = f(result, row[i]);
    }
  });
  return result;
}

template void alu_row<float>(isa::AluOp, RowOperand<float>, RowOperand<float>, float*,
                             std::int64_t);
template void alu_row<std::int64_t>(isa::AluOp, RowOperand<std::int64_t>, RowOperand<std::int64_t>,
                                    std::int64_t*, std::int64_t);
template float alu_value<float>(isa::AluOp, float, float);
template std::int64_t alu_value<std::int64_t>(isa::AluOp, std::int64_t, std::int64_t);
template float reduce_row<float>(isa::AluOp, const float*, std::int64_t);
template std::int64_t reduce_row<std::int64_t>(isa::AluOp, const std::int64_t*, std::int64_t);

}  // namespace systole::sim
