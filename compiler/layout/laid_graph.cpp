#include "compiler/layout/laid_graph.hpp"

#include <string>

#include "compiler/layout/configurations.hpp"

namespace systole::layout {

namespace {

using graph::NodeId;
using graph::TensorId;

void verify_tensor(const LaidGraph& laid, TensorId id, std::vector<std::string>& faults) {
  const graph::Tensor& tensor = laid.graph.tensors[id];
  const Layout& layout = laid.layouts[id];
  if (!fits(layout, tensor.shape)) {
    faults.push_back("tensor " + tensor.name + ": layout " + to_string(layout) +
                     " does not fit shape " + graph::to_string(tensor.shape));
  } else if (canonical(layout, tensor.shape) != layout) {
    faults.push_back("tensor " + tensor.name + ": layout " + to_string(layout) +
                     " is not canonical");
  }
}

void verify_boundary(const LaidGraph& laid, std::vector<std::string>& faults) {
  const auto require = [&](TensorId id, const std::string& role) {
    const graph::Tensor& tensor = laid.graph.tensors[id];
    if (!identity_order(laid.layouts[id], tensor.shape)) {
      faults.push_back(role + " " + tensor.name + ": layout " + to_string(laid.layouts[id]) +
                       " is not row-major");
    }
  };
  for (const TensorId input : laid.graph.inputs) {
    require(input, "input");
  }
  for (const TensorId output : laid.graph.outputs) {
    require(output, "output");
  }
}

Configuration configuration_of(const LaidGraph& laid, const graph::Node& node, NodeId id) {
  Configuration configuration;
  for (const TensorId input : node.inputs) {
    configuration.inputs.push_back(laid.layouts[input]);
  }
  configuration.output = laid.layouts[node.output];
  configuration.mechanism = laid.mechanisms[id];
  return configuration;
}

std::string describe(const Configuration& configuration) {
  std::string text;
  for (const Layout& input : configuration.inputs) {
    text += to_string(input) + " ";
  }
  return text + "-> " + to_string(configuration.output) + " " +
         std::string(name_of(configuration.mechanism));
}

}  // namespace

std::string_view name_of(Mechanism mechanism) {
  switch (mechanism) {
    case Mechanism::standard:
      return "standard";
    case Mechanism::lhs_stationary:
      return "lhs_stationary";
    case Mechanism::rhs_stationary:
      return "rhs_stationary";
    case Mechanism::ones_matmul:
      return "ones_matmul";
    case Mechanism::alias:
      return "alias";
    case Mechanism::dma:
      return "dma";
    case Mechanism::reorder:
      return "reorder";
    case Mechanism::array_transpose:
      return "array_transpose";
    case Mechanism::dma_transpose:
      return "dma_transpose";
    case Mechanism::vector_transpose:
      return "vector_transpose";
  }
  return "?";
}

std::vector<std::string> verify(const LaidGraph& laid, const isa::Machine& machine) {
  std::vector<std::string> faults = graph::verify(laid.graph);
  if (laid.layouts.size() != laid.graph.tensors.size() ||
      laid.storage.size() != laid.graph.tensors.size() ||
      laid.mechanisms.size() != laid.graph.nodes.size() ||
      laid.predicted.size() != laid.graph.nodes.size()) {
    faults.emplace_back("layouts, element types, mechanisms or predictions do not cover the graph");
  }
  if (!faults.empty()) {
    return faults;
  }
  for (const TensorId id : laid.graph.tensors.ids()) {
    verify_tensor(laid, id, faults);
  }
  if (!faults.empty()) {
    return faults;
  }
  verify_boundary(laid, faults);
  // accepts() looks at the bytes of aliases too: the output's layout has to be the input's seen
  // through the operator.
  for (const NodeId id : laid.graph.nodes.ids()) {
    const graph::Node& node = laid.graph.nodes[id];
    const Configuration configuration = configuration_of(laid, node, id);
    if (!accepts(laid.graph, id, configuration, machine)) {
      faults.push_back("node " + node.name + " (" + std::string(graph::name_of(node.op)) +
                       "): cannot be computed as " + describe(configuration));
    }
    const isa::DType type = laid.storage[node.output];
    if (laid.mechanisms[id] == Mechanism::dma_transpose &&
        (isa::size_of(type) != 2 || laid.storage[node.inputs[0]] != type)) {
      faults.push_back("node " + node.name + ": DMA transposes one type of 2 bytes, not " +
                       std::string(isa::name_of(laid.storage[node.inputs[0]])) + " to " +
                       std::string(isa::name_of(type)));
    }
    if (laid.predicted[id].total < 0) {
      faults.push_back("node " + node.name + ": negative prediction");
    }
  }
  return faults;
}

std::vector<std::string> verify(const LaidGraph& laid) {
  isa::Machine any;
  any.row_tile_min = 1;
  any.dma_transpose = true;
  return verify(laid, any);
}

}  // namespace systole::layout
