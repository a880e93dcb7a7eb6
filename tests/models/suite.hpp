// What the graphs of a suite are like, for the tests and for suite_table.
#pragma once

#include <cstddef>
#include <cstdint>

#include "compiler/driver/bench/suite.hpp"

namespace systole::test {

// The canonical graph of a configuration. Width: bounds on the treewidth of the undirected graph that has the operators as
// vertices (neither inputs nor weights) and an edge from each producer to its consumers.
struct Shape {
  std::size_t operators = 0;
  std::int64_t parameters = 0, flops = 0;
  int lower = 0, upper = 0;
};
[[nodiscard]] Shape shape_of(const driver::Configuration& configuration);

}  // namespace systole::test
