// How tensors stand in the graph whatever their layouts: what ties them to HBM, and who is made beside them.
#pragma once

#include <cstdint>

#include "compiler/graph/graph.hpp"

namespace systole::layout {

// What ties a tensor to HBM: being (a relabelling of) a graph input or constant, or of an output
// that nothing else reads.
// passing: inside, and read by nothing but a map that can run in its producer's kernel if the layout stays.
enum class Boundary : std::uint8_t { inside, passing, source, output };

struct Standing {
  Standing(Boundary where = Boundary::inside) : boundary(where) {}  // NOLINT: made alone, by itself

  Boundary boundary;
  // Operators of one kind that read the same first operand: they start together, and what they wait for is waited for once.
  // Of the producer, itself included.
  int siblings = 1;
  bool folds =
      false;  // passing, to a function of Scalar's table, which takes a scale and a shift on the way
  // Elements per row from which the instruction that makes it sums up its results on the way (0: none does): functions of
  // Scalar's table always, squares where Vector would not be faster.
  std::int64_t sums_from = 0;

  // Made by vector work between two products: the axes that reductions among it reduce, a bit each; 0: not so. By blocks of
  // any other axis across the partitions, that work goes on beside the products.
  std::uint32_t reduced = 0;

  bool operator==(const Standing&) const = default;
};

[[nodiscard]] IdVector<graph::TensorId, Standing> standings(const graph::Graph& graph);

}  // namespace systole::layout
