// Inside compiler/graph only: walking several strided operands in step, row by row.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "compiler/graph/array.hpp"

namespace systole::graph::ops {

using Strides = std::vector<std::int64_t>;  // in elements, one per axis

// Row-major strides.
inline Strides strides_of(const Shape& shape) {
  Strides strides(shape.size());
  std::int64_t step = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    strides[i] = step;
    step *= shape[i];
  }
  return strides;
}

// Strides that read `shape` as if broadcast to `target` (aligned from the right): 0 along broadcast
// axes.
inline Strides broadcast_strides(const Shape& shape, const Shape& target) {
  const Strides own = strides_of(shape);
  Strides strides(target.size(), 0);
  const std::size_t shift = target.size() - shape.size();
  for (std::size_t i = 0; i < shape.size(); ++i) {
    strides[shift + i] = shape[i] == 1 ? 0 : own[i];
  }
  return strides;
}

// Visits every index of `shape` in row-major order; row(offsets, length, steps) handles the
// elements offsets[j] + i * steps[j], 0 <= i < length, of each operand j. Axes that all operands
// step through evenly are merged, so rows are as long as possible. Nothing is called for an empty
// shape; rank 0 is one row of length 1.
template <std::size_t N, class F>
void for_each_row(const Shape& shape, const std::array<Strides, N>& strides,
                  std::array<std::int64_t, N> offsets, F&& row) {
  Shape extents;
  std::array<Strides, N> steps;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (shape[axis] == 0) {
      return;
    }
    if (shape[axis] == 1) {
      continue;
    }
    bool merge = !extents.empty();
    for (std::size_t j = 0; j < N && merge; ++j) {
      merge = steps[j].back() == strides[j][axis] * shape[axis];
    }
    if (merge) {
      extents.back() *= shape[axis];
    } else {
      extents.push_back(shape[axis]);
    }
    for (std::size_t j = 0; j < N; ++j) {
      if (merge) {
        steps[j].back() = strides[j][axis];
      } else {
        steps[j].push_back(strides[j][axis]);
      }
    }
  }
  std::int64_t length = 1;
  std::array<std::int64_t, N> inner{};
  if (!extents.empty()) {
    length = extents.back();
    extents.pop_back();
    for (std::size_t j = 0; j < N; ++j) {
      inner[j] = steps[j].back();
    }
  }
  std::vector<std::int64_t> index(extents.size(), 0);
  while (true) {
    row(offsets, length, inner);
    std::size_t axis = extents.size();
    while (axis > 0) {
      --axis;
      for (std::size_t j = 0; j < N; ++j) {
        offsets[j] += steps[j][axis];
      }
      if (++index[axis] < extents[axis]) {
        break;
      }
      for (std::size_t j = 0; j < N; ++j) {
        offsets[j] -= steps[j][axis] * extents[axis];
      }
      index[axis] = 0;
      if (axis == 0) {
        return;
      }
    }
    if (extents.empty()) {
      return;
    }
  }
}

}  // namespace systole::graph::ops
