// The instructions of one elementwise function on one chunk.
#pragma once

#include <optional>
#include <vector>

#include "compiler/lower/kernels/map_operands.hpp"

namespace systole::lower {

// The Scalar engine's function that computes a one-operand function on floats.
[[nodiscard]] std::optional<isa::Function> table_function(graph::MapFunction function);

// Bytes per element of temporary tiles that emit_map makes at most.
[[nodiscard]] std::int64_t map_temporary_bytes(graph::MapFunction function, isa::DType out);

// out = function(inputs). Floats as the reference: NaN goes through max, min, relu and clip; float to integer truncates;
// integers are exact, and narrow ones wrap.
void emit_map(Builder& builder, const graph::Map& op, const Tile& out,
              const std::vector<MapInput>& inputs);

}  // namespace systole::lower
