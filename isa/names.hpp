// Names of the closed sets of isa, in the order of their enumerators: for assembly, reports and
// messages.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>
#include <type_traits>

#include "isa/instruction.hpp"
#include "isa/program.hpp"

namespace systole::isa {

[[nodiscard]] constexpr auto enum_names(std::type_identity<AluOp>) {
  return std::to_array<std::string_view>(
      {"bypass",      "add",        "subtract",      "multiply",    "divide",      "max",
       "min",         "power",      "modulo",        "equal",       "not_equal",   "less",
       "less_equal",  "greater",    "greater_equal", "logical_and", "logical_or",  "logical_xor",
       "bitwise_and", "bitwise_or", "bitwise_xor",   "shift_left",  "shift_right", "abs_max"});
}

[[nodiscard]] constexpr auto enum_names(std::type_identity<Function>) {
  return std::to_array<std::string_view>(
      {"copy",   "relu",  "sigmoid", "tanh",       "exp",   "log",       "sqrt",  "rsqrt",
       "square", "abs",   "sign",    "erf",        "gelu",  "gelu_tanh", "silu",  "softplus",
       "sin",    "cos",   "tan",     "asin",       "acos",  "atan",      "sinh",  "cosh",
       "asinh",  "acosh", "atanh",   "reciprocal", "floor", "ceil",      "round", "mish"});
}

[[nodiscard]] constexpr auto enum_names(std::type_identity<Comparison>) {
  return std::to_array<std::string_view>(
      {"equal", "not_equal", "less", "less_equal", "greater", "greater_equal"});
}

[[nodiscard]] constexpr auto enum_names(std::type_identity<Space>) {
  return std::to_array<std::string_view>({"hbm", "sbuf", "psum"});
}

[[nodiscard]] constexpr auto enum_names(std::type_identity<DType>) {
  return std::to_array<std::string_view>(
      {"f32", "bf16", "f16", "f8e4", "f8e5", "i32", "i16", "i8", "u32", "u16", "u8", "b8"});
}

[[nodiscard]] constexpr auto enum_names(std::type_identity<Engine>) {
  return std::to_array<std::string_view>({"tensor", "vector", "scalar", "gpsimd", "sync"});
}

[[nodiscard]] constexpr auto enum_names(std::type_identity<Role>) {
  return std::to_array<std::string_view>({"input", "output", "constant", "scratch"});
}

[[nodiscard]] constexpr auto enum_names(std::type_identity<SourceKind>) {
  return std::to_array<std::string_view>({"operation", "conversion", "boundary"});
}

template <class E>
concept Named = std::is_enum_v<E> && requires {
  enum_names(std::type_identity<E>{});
};

template <Named E>
[[nodiscard]] constexpr std::string_view enum_name(E value) {
  constexpr auto names = enum_names(std::type_identity<E>{});
  const auto index = static_cast<std::size_t>(value);
  return index < names.size() ? names[index] : std::string_view("?");
}

template <Named E>
[[nodiscard]] constexpr std::optional<E> find_enum(std::string_view name) {
  constexpr auto names = enum_names(std::type_identity<E>{});
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == name) {
      return static_cast<E>(i);
    }
  }
  return std::nullopt;
}

// How many enumerators there are: a stored value must be below this.
template <Named E>
inline constexpr std::size_t enum_size = enum_names(std::type_identity<E>{}).size();

static_assert(enum_size<AluOp> == static_cast<std::size_t>(AluOp::abs_max) + 1);
static_assert(enum_size<Function> == static_cast<std::size_t>(Function::mish) + 1);
static_assert(enum_size<Comparison> == static_cast<std::size_t>(Comparison::greater_equal) + 1);
static_assert(enum_size<Space> == static_cast<std::size_t>(Space::psum) + 1);
static_assert(enum_size<DType> == static_cast<std::size_t>(dtype_count));
static_assert(enum_size<Engine> == static_cast<std::size_t>(engine_count));
static_assert(enum_size<Role> == static_cast<std::size_t>(Role::scratch) + 1);
static_assert(enum_size<SourceKind> == static_cast<std::size_t>(SourceKind::boundary) + 1);

}  // namespace systole::isa
