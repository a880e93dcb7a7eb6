// The element type that a tensor has in simulated memory, from the graph and `--dtype`.
//
// fp32 mode: floats are f32. bf16 mode: results of arithmetic are stored as bf16, accumulation is fp32; a tensor that
// only moves data of a graph input or feeds only movement to a graph output keeps f32, so that pure data movement stays exact.
// Graph inputs that only products use are bf16 in memory: products round their operands.
// Constants that feed arithmetic are bf16. i64 -> i32 (values outside are refused by name), f64 -> f32, booleans -> b8.
#pragma once

#include "compiler/graph/graph.hpp"
#include "isa/dtype.hpp"

namespace systole::layout {

enum class Precision : std::uint8_t { bf16, fp32 };

[[nodiscard]] IdVector<graph::TensorId, isa::DType> storage_types(const graph::Graph& graph,
                                                                  Precision precision);

}  // namespace systole::layout
