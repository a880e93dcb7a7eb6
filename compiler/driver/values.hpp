// Values on their way in and out of a run: seeded or given inputs, conversion to and from the element types of
// simulated memory, and the comparison of outputs.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "compiler/driver/options.hpp"
#include "compiler/graph/graph.hpp"
#include "isa/program.hpp"
#include "sim/simulate.hpp"

namespace systole::driver {

using HostArrays = std::map<std::string, graph::Array>;

// Every input of the graph: from `--input NAME=FILE.npy` where given, otherwise seeded. Throws Error for a file of
// another shape or type, or a name that is no input.
HostArrays model_inputs(const graph::Graph& graph, const ModelOptions& options);

// The program's input arrays. Throws Error where an integer does not fit the machine's 32 bits.
sim::Inputs machine_inputs(const isa::Program& program, const HostArrays& inputs);

// The outputs of a run in the model's types and order, read from what simulated HBM held.
std::vector<graph::Array> model_outputs(const graph::Graph& graph, const isa::Program& program, const sim::Arrays& arrays);

// The largest |got - want| over the largest |want| (floats), or the number of differing elements (other types).
// NaN against NaN and equal infinities agree; NaN against a number is infinite.
struct Difference {
  double largest = 0;        // |got - want|
  double magnitude = 0;      // largest finite |want|
  std::int64_t outside = 0;  // elements beyond atol + rtol * |want|
  std::string first;         // the first element outside, as text
  [[nodiscard]] double relative() const;
};
Difference compare(const graph::Array& got, const graph::Array& want, double rtol, double atol);

}  // namespace systole::driver
