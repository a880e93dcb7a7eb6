// Lays out small graphs in every way that layout selection may choose, lowers them and runs them on the simulator with
// all unwritten memory NaN; the values that come back are compared with the reference evaluator.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "compiler/graph/evaluate.hpp"
#include "compiler/layout/configurations.hpp"
#include "compiler/layout/laid_graph.hpp"
#include "compiler/layout/storage.hpp"
#include "isa/machine.hpp"
#include "isa/program.hpp"

namespace systole::test {

// How the operands of the operator under test are stored: as graph inputs in HBM, in the configuration's layouts; or
// converted (by DMA) to tensors that may stay in SBUF, and the result converted back.
enum class Storage : std::uint8_t { streamed, resident };

// A graph whose only node is the operator under test.
struct Case {
  graph::Graph graph;
  std::map<std::string, graph::Array> inputs;
};

[[nodiscard]] layout::LaidGraph lay_out(const graph::Graph& graph,
                                        const layout::Configuration& configuration, Storage storage,
                                        layout::Precision precision);

struct Tolerance {
  double relative = 1e-4;
  double absolute = 1e-5;
};

// Empty if program and values are right; otherwise one sentence.
[[nodiscard]] std::string fault_of(const layout::LaidGraph& laid,
                                   const std::map<std::string, graph::Array>& inputs,
                                   const isa::Machine& machine, const Tolerance& tolerance);
// The same for a program that was made otherwise.
[[nodiscard]] std::string fault_of(const isa::Program& program, const layout::LaidGraph& laid,
                                   const std::map<std::string, graph::Array>& inputs,
                                   const isa::Machine& machine, const Tolerance& tolerance);

// Every configuration of the node, both storages: the faults, each with its configuration. `runs` counts them.
[[nodiscard]] std::vector<std::string> faults_of(
    const Case& test, const isa::Machine& machine, int& runs,
    layout::Precision precision = layout::Precision::fp32, const Tolerance& tolerance = {});

}  // namespace systole::test
