// Inside compiler/graph only: typed views of arrays, and the three domains that values are computed
// in.
//
// Floats are computed in double and rounded once to the element type (for + - * / and sqrt that is
// exactly fp32 arithmetic); integers in int64, u64 in uint64, both wrapping.
#pragma once

#include <Eigen/Core>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>
#include <vector>

#include "compiler/graph/graph.hpp"

namespace systole::graph::ops {

// Calls f with a null pointer to the C++ type that stores `type`.
template <class F>
decltype(auto) with_element(ElementType type, F&& f) {
  switch (type) {
    case ElementType::f32:
      return f(static_cast<float*>(nullptr));
    case ElementType::f64:
      return f(static_cast<double*>(nullptr));
    case ElementType::f16:
      return f(static_cast<Eigen::half*>(nullptr));
    case ElementType::bf16:
      return f(static_cast<Eigen::bfloat16*>(nullptr));
    case ElementType::i64:
      return f(static_cast<std::int64_t*>(nullptr));
    case ElementType::i32:
      return f(static_cast<std::int32_t*>(nullptr));
    case ElementType::i16:
      return f(static_cast<std::int16_t*>(nullptr));
    case ElementType::i8:
      return f(static_cast<std::int8_t*>(nullptr));
    case ElementType::u64:
      return f(static_cast<std::uint64_t*>(nullptr));
    case ElementType::u32:
      return f(static_cast<std::uint32_t*>(nullptr));
    case ElementType::u16:
      return f(static_cast<std::uint16_t*>(nullptr));
    case ElementType::u8:
      return f(static_cast<std::uint8_t*>(nullptr));
    case ElementType::boolean:
      return f(static_cast<bool*>(nullptr));
  }
  return f(static_cast<float*>(nullptr));
}
static_assert(sizeof(bool) == 1);

template <class T>
constexpr bool is_real = std::is_floating_point_v<T> || std::is_same_v<T, Eigen::half> ||
                         std::is_same_v<T, Eigen::bfloat16>;

template <class T>
const T* data_of(const Array& array) {
  return reinterpret_cast<const T*>(array.data.data());
}
template <class T>
T* data_of(Array& array) {
  return reinterpret_cast<T*>(array.data.data());
}

// Real to integer: towards zero, saturating; NaN gives 0.
template <class I>
I truncate(double value) {
  if (std::isnan(value)) {
    return 0;
  }
  constexpr auto low = static_cast<double>(std::numeric_limits<I>::min());
  constexpr auto high = static_cast<double>(std::numeric_limits<I>::max());
  if (value <= low) {
    return std::numeric_limits<I>::min();
  }
  if (value >= high) {
    return std::numeric_limits<I>::max();
  }
  return static_cast<I>(value);
}

// One element between types: reals round to nearest even, integers wrap, to boolean is "not zero".
template <class To, class From>
To element_cast(From value) {
  if constexpr (std::is_same_v<To, From>) {
    return value;
  } else if constexpr (std::is_same_v<From, Eigen::half> || std::is_same_v<From, Eigen::bfloat16>) {
    return element_cast<To>(static_cast<float>(value));
  } else if constexpr (std::is_same_v<To, bool>) {
    return value != From(0);
  } else if constexpr (std::is_same_v<To, Eigen::half> || std::is_same_v<To, Eigen::bfloat16>) {
    return To(static_cast<float>(value));
  } else if constexpr (std::is_floating_point_v<From> && !std::is_floating_point_v<To>) {
    return truncate<To>(static_cast<double>(value));
  } else {
    return static_cast<To>(value);
  }
}

// Elements start .. start + count in the domain W (double, int64_t or uint64_t).
template <class W>
std::vector<W> load_range(const Array& array, std::int64_t start, std::int64_t count) {
  std::vector<W> values(static_cast<std::size_t>(count));
  with_element(array.type, [&](auto* tag) {
    using T = std::remove_pointer_t<decltype(tag)>;
    const T* from = data_of<T>(array) + start;
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = element_cast<W>(from[i]);
    }
  });
  return values;
}

template <class W>
std::vector<W> load(const Array& array) {
  return load_range<W>(array, 0, elements(array.shape));
}

template <class W>
Array store(const TensorType& type, const std::vector<W>& values) {
  Array array = make_array(type.type, type.shape);
  with_element(array.type, [&](auto* tag) {
    using T = std::remove_pointer_t<decltype(tag)>;
    T* to = data_of<T>(array);
    for (std::size_t i = 0; i < values.size(); ++i) {
      to[i] = element_cast<T>(values[i]);
    }
  });
  return array;
}

// Calls f with a value of the domain that `type` is computed in.
template <class F>
decltype(auto) in_domain(ElementType type, F&& f) {
  if (is_float(type)) {
    return f(double{});
  }
  return type == ElementType::u64 ? f(std::uint64_t{}) : f(std::int64_t{});
}

}  // namespace systole::graph::ops
