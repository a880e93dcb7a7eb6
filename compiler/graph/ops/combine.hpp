// Inside compiler/graph only: the binary step and the identity of each reduction, in a computing
// domain.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "compiler/graph/array.hpp"
#include "compiler/graph/op.hpp"
#include "compiler/graph/ops/values.hpp"

namespace systole::graph::ops {

// Integer arithmetic wraps.
template <class W>
W wrapping_add(W a, W b) {
  if constexpr (std::is_floating_point_v<W>) {
    return a + b;
  } else {
    return static_cast<W>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  }
}
template <class W>
W wrapping_subtract(W a, W b) {
  if constexpr (std::is_floating_point_v<W>) {
    return a - b;
  } else {
    return static_cast<W>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
  }
}
template <class W>
W wrapping_multiply(W a, W b) {
  if constexpr (std::is_floating_point_v<W>) {
    return a * b;
  } else {
    return static_cast<W>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
  }
}

// NaN if either is.
template <class W>
W larger(W a, W b) {
  if constexpr (std::is_floating_point_v<W>) {
    if (std::isnan(a) || std::isnan(b)) {
      return std::numeric_limits<W>::quiet_NaN();
    }
  }
  return std::max(a, b);
}
template <class W>
W smaller(W a, W b) {
  if constexpr (std::is_floating_point_v<W>) {
    if (std::isnan(a) || std::isnan(b)) {
      return std::numeric_limits<W>::quiet_NaN();
    }
  }
  return std::min(a, b);
}

// One step of a reduction; a mean is a sum here.
template <class W>
W combine(ReduceFunction function, W a, W b) {
  switch (function) {
    case ReduceFunction::sum:
    case ReduceFunction::mean:
      return wrapping_add(a, b);
    case ReduceFunction::product:
      return wrapping_multiply(a, b);
    case ReduceFunction::max:
      return larger(a, b);
    case ReduceFunction::min:
      return smaller(a, b);
  }
  return a;
}

// The value of the reduction of nothing: 0, 1, or the lowest (highest) value of the element type;
// infinite for floats.
template <class W>
W identity_of(ReduceFunction function, ElementType type) {
  if (function == ReduceFunction::sum || function == ReduceFunction::mean) {
    return W(0);
  }
  if (function == ReduceFunction::product) {
    return W(1);
  }
  return with_element(type, [&](auto* tag) {
    using T = std::remove_pointer_t<decltype(tag)>;
    if constexpr (is_real<T>) {
      const auto infinity = std::numeric_limits<double>::infinity();
      return static_cast<W>(function == ReduceFunction::max ? -infinity : infinity);
    } else {
      return static_cast<W>(function == ReduceFunction::max ? std::numeric_limits<T>::min()
                                                            : std::numeric_limits<T>::max());
    }
  });
}

}  // namespace systole::graph::ops
