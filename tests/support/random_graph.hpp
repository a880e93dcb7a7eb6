// Seeded random graphs of all operator families, for tests of passes, layouts and lowering.
//
// Shapes are small but awkward; values stay moderate (exp, log, division and the like get guarded
// operands), so that results can be compared with tolerances. The same options give the same graph
// on every machine.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "compiler/graph/evaluate.hpp"
#include "compiler/graph/graph.hpp"

namespace systole::test {

enum class Family : std::uint8_t {
  unary,    // maps of one operand
  binary,   // maps of two operands, with broadcasting
  select,   // comparison and choice; discontinuous
  integer,  // casts to integers and integer maps; discontinuous
  contraction,
  convolution,
  reduce,
  arg_reduce,  // discontinuous
  window,
  transpose,
  reshape,
  slice,
  concat,
  pad,
  expand,
  gather,
  gather_elements,
  scatter
};
std::vector<Family> all_families();
std::vector<Family> continuous_families();  // small changes of values give small changes of results

struct RandomGraphOptions {
  std::uint64_t seed = 1;
  int nodes = 12;  // at least so many (guards come on top)
  std::vector<Family> families = all_families();
  std::vector<std::int64_t> extents = {1, 2, 3, 31, 33, 127, 128, 129};  // may hold 0
  std::int64_t max_elements = 20000;                                     // per tensor
  std::int64_t max_products = 2'000'000;  // multiply-accumulates per node
  int max_rank = 5;
  bool awkward_outputs = true;  // outputs may repeat and may be inputs or constants
};

// verify() finds no fault in it, and it has at least one output.
graph::Graph random_graph(const RandomGraphOptions& options);

// Moderate values for all inputs; all weights that random_graph makes have data.
std::map<std::string, graph::Array> random_inputs(const graph::Graph& graph, std::uint64_t seed);

}  // namespace systole::test
