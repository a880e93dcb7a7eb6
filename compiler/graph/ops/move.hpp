// Inside compiler/graph only: copying elements between strided places; the bytes are not looked at.
#pragma once

#include "compiler/graph/graph.hpp"
#include "compiler/graph/ops/walk.hpp"

namespace systole::graph::ops {

// The row-major array `output` whose element at index i is from[start + i . strides].
Array move_elements(const Array& from, std::int64_t start, const Strides& strides,
                    const TensorType& output);

// to[to_start + i . to_strides] = from[from_start + i . from_strides] for every index i of `shape`.
void move_into(Array& to, std::int64_t to_start, const Strides& to_strides, const Array& from,
               std::int64_t from_start, const Strides& from_strides, const Shape& shape);

}  // namespace systole::graph::ops
