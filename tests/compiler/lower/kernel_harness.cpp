#include "tests/compiler/lower/kernel_harness.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "compiler/layout/domains.hpp"
#include "compiler/lower/stages.hpp"
#include "isa/convert.hpp"
#include "isa/verify.hpp"
#include "sim/simulate.hpp"

namespace systole::test {
namespace {

using graph::Array;
using graph::NodeId;
using graph::TensorId;

std::vector<std::byte> to_machine(const Array& array, isa::DType dtype) {
  const auto count = graph::elements(array.shape);
  const int size = isa::size_of(dtype);
  std::vector<std::byte> bytes(static_cast<std::size_t>(count * size));
  for (std::int64_t i = 0; i < count; ++i) {
    if (graph::is_float(array.type)) {
      isa::store_double(dtype, graph::get(array, i), bytes.data() + i * size);
    } else {
      isa::store_integer(dtype, graph::get_integer(array, i), bytes.data() + i * size);
    }
  }
  return bytes;
}

double element(const std::vector<std::byte>& bytes, isa::DType dtype, std::int64_t i) {
  return isa::load_double(dtype, bytes.data() + i * isa::size_of(dtype));
}

std::string difference(const std::string& name, const std::vector<std::byte>& got, isa::DType dtype,
                       const Array& want, const Tolerance& tolerance) {
  const std::int64_t count = graph::elements(want.shape);
  if (static_cast<std::int64_t>(got.size()) != count * isa::size_of(dtype)) {
    return fmt::format("output {} has {} bytes", name, got.size());
  }
  double scale = 0.0;
  for (std::int64_t i = 0; i < count; ++i) {
    const double w = graph::get(want, i);
    scale = std::isfinite(w) ? std::max(scale, std::abs(w)) : scale;
  }
  for (std::int64_t i = 0; i < count; ++i) {
    const double g = element(got, dtype, i);
    const double w = graph::get(want, i);
    const double allowed = isa::is_float(dtype)
                               ? tolerance.absolute + tolerance.relative * std::abs(w) +
                                     (tolerance.relative > 1e-3 ? tolerance.relative * scale : 0.0)
                               : 0.0;
    const bool equal = (std::isnan(g) && std::isnan(w)) || g == w || std::abs(g - w) <= allowed;
    if (!equal) {
      return fmt::format("output {} element {} is {}, not {}", name, i, g, w);
    }
  }
  return {};
}

constexpr std::size_t most_configurations = 60;

// Canonical layouts, all of them up to rank 3, every seventh above.
std::vector<layout::Layout> all_layouts(const graph::Shape& shape) {
  std::vector<layout::Layout> out;
  layout::Layout layout = layout::row_major(static_cast<int>(shape.size()), 0);
  int count = 0;
  do {
    for (layout.split = 0; layout.split <= static_cast<int>(shape.size()); ++layout.split) {
      const layout::Layout canonical = layout::canonical(layout, shape);
      const bool wanted = shape.size() <= 3 || count++ % 7 == 0;
      if (wanted && std::ranges::find(out, canonical) == out.end()) {
        out.push_back(canonical);
      }
    }
  } while (std::ranges::next_permutation(layout.order).found);
  return out;
}

layout::LaidGraph empty_laid(const graph::Graph& graph) {
  layout::LaidGraph laid;
  laid.graph = graph;
  laid.layouts.resize(graph.tensors.size());
  laid.storage.resize(graph.tensors.size());
  laid.mechanisms.resize(graph.nodes.size());
  laid.predicted.resize(graph.nodes.size());
  return laid;
}

}  // namespace

layout::LaidGraph lay_out(const graph::Graph& graph, const layout::Configuration& configuration,
                          Storage storage, layout::Precision precision) {
  const graph::Node& node = graph.nodes[NodeId(0)];
  const IdVector<TensorId, isa::DType> types = layout::storage_types(graph, precision);
  if (storage == Storage::streamed) {
    layout::LaidGraph laid = empty_laid(graph);
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      laid.layouts[node.inputs[i]] = configuration.inputs[i];
    }
    laid.layouts[node.output] = configuration.output;
    laid.storage = types;
    laid.mechanisms[NodeId(0)] = configuration.mechanism;
    return laid;
  }
  // A new graph: inputs, conversions, the node, a conversion of its result.
  graph::Graph wide;
  wide.name = graph.name;
  std::vector<layout::Layout> layouts;
  std::vector<isa::DType> storage_of;
  std::vector<layout::Mechanism> mechanisms;
  const auto row_major = [&](TensorId t) {
    return layout::row_major(static_cast<int>(graph.tensors[t].shape.size()), 0);
  };
  std::vector<TensorId> operands;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const graph::Tensor& t = graph.tensors[node.inputs[i]];
    if (t.kind == graph::TensorKind::constant) {
      operands.push_back(t.data == nullptr ? graph::add_weight(wide, t.name, t.type, t.shape)
                                           : graph::add_constant(wide, t.name, *t.data));
      layouts.push_back(configuration.inputs[i]);
      storage_of.push_back(types[node.inputs[i]]);
      continue;
    }
    const auto known = std::ranges::find_if(
        wide.inputs, [&](TensorId in) { return wide.tensors[in].name == t.name; });
    TensorId source;
    if (known == wide.inputs.end()) {
      source = graph::add_input(wide, t.name, t.type, t.shape);
      layouts.push_back(row_major(node.inputs[i]));
      storage_of.push_back(types[node.inputs[i]]);
    } else {
      source = *known;
    }
    operands.push_back(graph::add_node(wide, "convert", graph::Convert{}, {source}));
    layouts.push_back(configuration.inputs[i]);
    storage_of.push_back(types[node.inputs[i]]);
    mechanisms.push_back(layout::Mechanism::dma);
  }
  graph::Node copy = node;
  copy.inputs = operands;
  graph::Tensor result = graph.tensors[node.output];
  result.producer = NodeId(wide.nodes.size());
  copy.output = wide.tensors.add(result);
  wide.nodes.add(copy);
  layouts.push_back(configuration.output);
  storage_of.push_back(types[node.output]);
  mechanisms.push_back(configuration.mechanism);
  const TensorId output = graph::add_node(wide, "convert back", graph::Convert{}, {copy.output});
  layouts.push_back(row_major(node.output));
  storage_of.push_back(types[node.output]);
  mechanisms.push_back(layout::Mechanism::dma);
  wide.outputs = {output};
  wide.output_names = graph.output_names;
  layout::LaidGraph laid = empty_laid(wide);
  for (std::size_t i = 0; i < layouts.size(); ++i) {
    laid.layouts[TensorId(i)] = layouts[i];
    laid.storage[TensorId(i)] = storage_of[i];
  }
  for (std::size_t i = 0; i < mechanisms.size(); ++i) {
    laid.mechanisms[NodeId(i)] = mechanisms[i];
  }
  return laid;
}

std::string fault_of(const layout::LaidGraph& laid, const std::map<std::string, Array>& inputs,
                     const isa::Machine& machine, const Tolerance& tolerance) {
  return fault_of(lower::lower(laid, machine), laid, inputs, machine, tolerance);
}

std::string fault_of(const isa::Program& program, const layout::LaidGraph& laid,
                     const std::map<std::string, Array>& inputs, const isa::Machine& machine,
                     const Tolerance& tolerance) {
  for (const isa::Diagnostic& diagnostic : isa::verify(program, machine)) {
    return isa::describe(diagnostic, program);
  }
  sim::Inputs arrays;
  std::map<std::string, isa::DType> types;
  for (const isa::HbmTensor& tensor : program.tensors) {
    types[tensor.name] = tensor.dtype;
    if (tensor.role == isa::Role::input) {
      arrays.arrays[tensor.name] = to_machine(inputs.at(tensor.name), tensor.dtype);
    }
  }
  sim::Options options;
  options.timing = false;
  options.poison = true;
  const sim::Outcome outcome = sim::simulate(program, machine, sim::Timing{}, arrays, options);
  if (outcome.status != sim::Status::done) {
    return outcome.faults.empty() ? "did not end" : outcome.faults[0].text;
  }
  const std::vector<Array> wanted = graph::evaluate(laid.graph, inputs);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const std::string& name = laid.graph.output_names[i];
    const std::string text =
        difference(name, outcome.outputs.at(name), types.at(name), wanted[i], tolerance);
    if (!text.empty()) {
      return text;
    }
  }
  return {};
}

std::vector<std::string> faults_of(const Case& test, const isa::Machine& machine, int& runs,
                                   layout::Precision precision, const Tolerance& tolerance) {
  std::vector<std::string> out;
  IdVector<TensorId, std::vector<layout::Layout>> domains;
  for (const graph::Tensor& tensor : test.graph.tensors) {
    domains.add(all_layouts(tensor.shape));
  }
  std::vector<layout::Configuration> all =
      layout::configurations(test.graph, NodeId(0), domains, machine);
  if (all.empty()) {
    out.push_back("no configuration");
  }
  // Evenly spaced ones if there are very many.
  const std::size_t step = all.size() / most_configurations + 1;
  std::vector<layout::Configuration> chosen;
  for (std::size_t i = 0; i < all.size(); i += step) {
    chosen.push_back(all[i]);
  }
  all = std::move(chosen);
  for (const layout::Configuration& configuration : all) {
    for (const Storage storage : {Storage::streamed, Storage::resident}) {
      ++runs;
      const layout::LaidGraph laid = lay_out(test.graph, configuration, storage, precision);
      const std::string text = fault_of(laid, test.inputs, machine, tolerance);
      if (!text.empty()) {
        std::string layouts;
        for (const layout::Layout& l : configuration.inputs) {
          layouts += layout::to_string(l) + " ";
        }
        const graph::Node& node = test.graph.nodes[NodeId(0)];
        std::string shapes;
        for (const TensorId input : node.inputs) {
          shapes += graph::to_string(test.graph.tensors[input].shape);
        }
        out.push_back(fmt::format(
            "{} {} -> {} {} {} {} on {}: {}", graph::name_of(node.op), shapes, layouts,
            layout::to_string(configuration.output), layout::name_of(configuration.mechanism),
            storage == Storage::streamed ? "streamed" : "resident", machine.name, text));
      }
    }
  }
  return out;
}

}  // namespace systole::test
