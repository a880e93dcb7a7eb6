// A graph compiled and run on the simulated machine: the runner that stored cases are checked with.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "compiler/graph/graph.hpp"

namespace systole::tests {

// Canonicalizes, selects layouts, compiles, simulates with every run-time check, and reads the outputs from simulated HBM. The
// inputs go in as graph inputs: nothing of them is known at compile time. Throws Error where the product refuses; a fault of the
// machine is our bug and fails a check.
[[nodiscard]] std::vector<graph::Array> run_simulated(const graph::Graph& graph,
                                                      const std::map<std::string, graph::Array>& inputs,
                                                      const std::string& dtype = "fp32",
                                                      const std::string& strategy = "exact");

}  // namespace systole::tests
