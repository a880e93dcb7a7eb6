// Runs one operator in one configuration through tile, allocate, schedule and the functional
// machine, and compares the result with the reference evaluator. Operands and result are in HBM, or
// resident in SBUF with copies around.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "compiler/graph/graph.hpp"
#include "compiler/layout/configurations.hpp"
#include "compiler/lower/builder.hpp"
#include "sim/report/report.hpp"

namespace systole::lower::testing {

using Kernel = void (*)(Builder&, graph::NodeId);

struct Trial {
  isa::Machine machine;
  graph::Op op;
  std::vector<graph::Tensor> inputs;       // element type and shape
  std::vector<std::int64_t> output_shape;  // only where the operator does not determine it
  layout::Configuration configuration;
  Kernel kernel = nullptr;
  isa::DType storage = isa::DType::f32;  // of floating operands and result
  std::vector<bool> resident;            // per input, then the output
  std::uint64_t seed = 1;
  // Whole numbers: per input, the graph input's type (a cast to the operand's type follows) and the
  // largest magnitude.
  std::vector<graph::ElementType> cast_from;
  std::vector<std::int64_t> magnitudes;
};

// The graph of a trial: inputs and one node.
[[nodiscard]] graph::Graph graph_of(const Trial& trial);

struct Outcome {
  std::string fault;  // empty: the values agree
  isa::Program program;
};
[[nodiscard]] Outcome run(const Trial& trial);

// The same program on the timed machine, without values.
[[nodiscard]] sim::Report measure(const Trial& trial, const std::string& machine_name);
[[nodiscard]] isa::Program compile(const Trial& trial);

// A description for failure messages.
[[nodiscard]] std::string describe(const Trial& trial);

// All canonical layouts of a shape.
[[nodiscard]] std::vector<layout::Layout> all_layouts(const graph::Shape& shape);

// All accepted configurations of the trial's operator over all layouts of its operands.
[[nodiscard]] std::vector<layout::Configuration> all_configurations(const Trial& trial);

[[nodiscard]] isa::Machine small_machine();  // configs/toy.yaml
[[nodiscard]] isa::Machine machine(const std::string& name);

}  // namespace systole::lower::testing
