// Inside compiler/graph only: what gather and scatter ask of their indices.
#pragma once

#include "compiler/graph/ops/ops.hpp"
#include "compiler/graph/ops/values.hpp"
#include "isa/base/error.hpp"

namespace systole::graph::ops {

// Refuses element types other than integers.
void require_indices(const InferCall& call, std::string_view op, const TensorType& indices);

// The place that `index` means on an axis of `extent` elements; throws Error if there is none.
std::int64_t checked_index(const ComputeCall& call, std::string_view op, std::int64_t index,
                           std::int64_t extent);

}  // namespace systole::graph::ops
