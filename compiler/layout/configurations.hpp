// Which layouts an operator accepts, and how it is then computed: the contract between layout selection and lowering.
// Everything else is infeasible. Derived from each family's iteration space (design section 5).
//
// Notation (P|F): partition axes | free axes. "Induced" layout of an operand from a layout of the output: the output's
// order restricted to the axes that the operand has (non-broadcast), split where the output's split falls; the operand's
// remaining axes have extent 1 and go last.
//
//   Map            output in any layout; every operand in the layout induced by it. An operand without some partition
//                  axis is broadcast across them by lowering.                                              standard
//   Reduce         no reduced axis in P(input); output = input's order restricted to the kept axes.        standard
//                  sum, mean with P(input) made only of reduced axes, other axes free (reduced or not): output
//                  (|kept) or (m|kept without m) for one kept free axis m, kept axes in the input's order. ones_matmul
//   ArgReduce      reduced axis not in P(input); output as Reduce.                                         standard
//   Contraction    P(lhs) = P(rhs) in terms of labels: [batch...] k... : either one k label or all k labels in one order,
//                  optionally preceded by batch labels if then the extent of the k part is a multiple of the machine's
//                  row_tile_min. Remaining k labels are free on both sides and accumulated.
//                  P(output) = [batch...] m... : one m label or all m labels, or none if there is no m; same rule for
//                  a batch prefix.                                                                         lhs_stationary
//                  P(output) = [batch...] n... likewise.                                                   rhs_stationary
//                  Free orders of all three: any.
//   Convolution    P(x) = C; P(w) = its C/groups axis, any free order; P(output) = O, any free orders.     rhs_stationary
//                  groups = 1: P(x) = C, P(output) = one spatial axis or N, any free orders.               lhs_stationary
//                  depthwise (groups = C): P(x) = C, P(w) = P(output) = O, on the vector engine.           standard
//   Window         P contains no spatial axis; output in the same order as the input.                      standard
//   Transpose      output layout = input layout mapped through the permutation.                            alias
//   Reshape        output layout = input layout mapped through the reshape.                                alias
//                  input and output both in identity order, any split.                                     dma
//   Slice, Concat, Pad, Expand
//                  all operands and the output in one layout (Expand: the operand in the induced one).     standard
//   Gather         data (axis|rest), indices (all|), output (index axes|rest), rest in one order on both.  dma
//   GatherElements all three in one layout whose order starts with `axis`-free partition axes: P not axis.  standard
//   ScatterND      data and output in identity order with P = the first r axes (r = index depth), updates in identity order with
//                  P = its leading index axes, indices (all but last|last).                                dma
//   Convert        anything to anything: reorder if P is the same group; array_transpose if P(from) and P(to) are
//                  disjoint; dma always; dma_transpose, of 2-byte types, if the machine has it, the innermost free axis becomes
//                  the innermost partition axis, and that the innermost free one; vector_transpose if both sides fall into blocks that
//                  lie inside quadrants (block_turn.hpp).
//
// Axes of extent 1 do not count anywhere: "one k label" is one of those that move bytes, and none if no k label does; a
// Slice, Concat or Pad compares layouts on the axes that move bytes on both sides.
//
// Graph inputs and outputs are row-major in HBM: identity order, any split (in HBM the split moves nothing).
// Constants take whatever layout their consumer's configuration asks for; the host packs them.
#pragma once

#include <span>
#include <vector>

#include "compiler/layout/laid_graph.hpp"
#include "isa/machine.hpp"

namespace systole::layout {

struct Configuration {
  std::vector<Layout> inputs;  // one per argument, constants included
  Layout output;
  Mechanism mechanism = Mechanism::standard;
  auto operator<=>(const Configuration&) const = default;
};

// All configurations of a node whose operand and output layouts (constants: free) are in the given domains.
[[nodiscard]] std::vector<Configuration> configurations(
    const graph::Graph& graph, graph::NodeId node,
    const IdVector<graph::TensorId, std::vector<Layout>>& domains, const isa::Machine& machine);

// Whether lowering must accept this configuration (the table above).
[[nodiscard]] bool accepts(const graph::Graph& graph, graph::NodeId node,
                           const Configuration& configuration, const isa::Machine& machine);

}  // namespace systole::layout
