// A graph with one layout per tensor and explicit Convert nodes: the output of layout/apply and the input of lowering.
//
// A node's operands are exactly in the layouts of the configuration that was chosen for it, so lowering never converts
// on its own account. A constant asked for in several layouts is several constants. A Transpose or Reshape whose output
// layout is the same bytes as its input's is an alias: it emits nothing.
#pragma once

#include "compiler/graph/graph.hpp"
#include "compiler/layout/layout.hpp"
#include "compiler/layout/price.hpp"
#include "isa/dtype.hpp"
#include "isa/machine.hpp"

namespace systole::layout {

// How a node is to be computed; which values make sense depends on the operator (layout/configurations).
enum class Mechanism : std::uint8_t {
  standard,         // the operator's only way
  lhs_stationary,   // contraction/convolution: partition axis of the output from the first operand
  rhs_stationary,   // ... from the second
  ones_matmul,      // reduction over the partition axis on the tensor engine
  alias,            // movement that is a relabelling: nothing is emitted
  dma,              // movement or conversion by DMA descriptors
  reorder,          // conversion inside each partition (vector/scalar copy with a permuted pattern)
  array_transpose,  // conversion through the tensor engine and PSUM
  dma_transpose,    // conversion on the DMA engines' transposing path
  vector_transpose,  // conversion by the vector engine's turns of blocks (block_turn.hpp)
};
[[nodiscard]] std::string_view name_of(Mechanism mechanism);

struct LaidGraph {
  graph::Graph graph;
  IdVector<graph::TensorId, Layout> layouts;
  IdVector<graph::TensorId, isa::DType>
      storage;  // element type in simulated memory (layout/storage.hpp)
  IdVector<graph::NodeId, Mechanism> mechanisms;
  IdVector<graph::NodeId, Price> predicted;  // what the cost model charges, conversions included
};

// Every fault: a layout that does not fit its tensor's shape, an operand layout that the node's family does not accept,
// an alias that moves bytes, a boundary tensor that is not row-major. Without a machine, what any machine would accept.
[[nodiscard]] std::vector<std::string> verify(const LaidGraph& laid, const isa::Machine& machine);
[[nodiscard]] std::vector<std::string> verify(const LaidGraph& laid);

}  // namespace systole::layout
