#include "tests/compiler/lower/one_node.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "compiler/graph/evaluate.hpp"
#include "compiler/lower/fusion.hpp"
#include "compiler/lower/storage.hpp"
#include "isa/base/random.hpp"
#include "isa/convert.hpp"
#include "isa/verify.hpp"
#include "sim/simulate.hpp"

namespace systole::lower::testing {
namespace {

using graph::NodeId;
using graph::TensorId;

isa::DType storage_of(graph::ElementType type, isa::DType real) {
  if (graph::is_float(type)) {
    return real;
  }
  switch (graph::size_of(type)) {
    case 1:
      return type == graph::ElementType::i8 ? isa::DType::i8 : isa::DType::u8;
    case 2:
      return isa::DType::i16;
    default:
      return isa::DType::i32;
  }
}

// input -> (copy) -> node -> (copy) -> output; copies where the node's side is resident.
struct Laid {
  layout::LaidGraph laid;
  Residency residency;
  NodeId node;
};

bool is_resident(const Trial& trial, std::size_t position) {
  return position < trial.resident.size() && trial.resident[position];
}

TensorId add_copy(graph::Graph& graph, TensorId from) {
  return graph::add_node(graph, "copy", graph::Map{graph::MapFunction::copy, 0, 0}, {from});
}

Laid lay(const Trial& trial) {
  Laid out;
  graph::Graph& graph = out.laid.graph;
  graph.name = "trial";
  std::map<TensorId, layout::Layout> layouts;
  std::vector<TensorId> resident;
  std::vector<TensorId> operands;
  for (std::size_t i = 0; i < trial.inputs.size(); ++i) {
    const bool cast = i < trial.cast_from.size();
    TensorId tensor =
        graph::add_input(graph, fmt::format("x{}", i),
                         cast ? trial.cast_from[i] : trial.inputs[i].type, trial.inputs[i].shape);
    layouts[tensor] = trial.configuration.inputs[i];
    if (cast || is_resident(trial, i)) {
      tensor = cast ? graph::add_cast(graph, "cast", tensor, trial.inputs[i].type)
                    : add_copy(graph, tensor);
      layouts[tensor] = trial.configuration.inputs[i];
      if (is_resident(trial, i)) {
        resident.push_back(tensor);
      }
    }
    operands.push_back(tensor);
  }
  TensorId result = graph::add_node(graph, "op", trial.op, operands);
  out.node = graph.tensors[result].producer;
  layouts[result] = trial.configuration.output;
  if (is_resident(trial, trial.inputs.size())) {
    resident.push_back(result);
    result = add_copy(graph, result);
    layouts[result] = trial.configuration.output;
  }
  graph.outputs = {result};
  graph.output_names = {"y"};
  const std::size_t tensors = graph.tensors.size();
  out.laid.layouts.resize(tensors);
  out.laid.storage.resize(tensors, trial.storage);
  for (const TensorId id : graph.tensors.ids()) {
    out.laid.layouts[id] = layouts.at(id);
    out.laid.storage[id] = storage_of(graph.tensors[id].type, trial.storage);
  }
  out.laid.mechanisms.resize(graph.nodes.size(), layout::Mechanism::standard);
  out.laid.mechanisms[out.node] = trial.configuration.mechanism;
  out.laid.predicted.resize(graph.nodes.size());
  out.residency.fusion = no_fusion(out.laid);
  out.residency.resident.resize(tensors, 0);
  out.residency.root.resize(tensors);
  out.residency.window.resize(tensors);
  for (const TensorId id : graph.tensors.ids()) {
    out.residency.root[id] = id;
  }
  for (const TensorId id : resident) {
    out.residency.resident[id] = 1;
    out.residency.resident_peak += (resident_bytes(out.laid, id, trial.machine) + 63) / 64 * 64;
  }
  out.residency.live.resize(graph.nodes.size(), out.residency.resident_peak);
  return out;
}

// Same layout on both sides: partition block by partition block.
void copy_tensor(Builder& builder, TensorId from, TensorId to) {
  const Region all = whole(builder.laid(), from);
  const std::int64_t partitions = builder.machine().partitions;
  for (std::int64_t first = 0; first < all.partitions.extent; first += partitions) {
    Region region = all;
    region.partitions = {first, std::min(partitions, all.partitions.extent - first)};
    const Tile in = builder.read(from, region);
    const Tile out = builder.write(to, region);
    builder.copy(out, in);
    builder.finish(to, region, out);
  }
}

TileProgram tile_trial(const Trial& trial, const Laid& laid) {
  Builder builder(laid.laid, laid.residency, trial.machine);
  const graph::Graph& graph = laid.laid.graph;
  for (const TensorId input : graph.inputs) {
    if (graph::elements(graph.tensors[input].shape) == 0) {
      continue;  // programs have no empty tensors
    }
    builder.bind(input, hbm_tensor(laid.laid, input, isa::Role::input, graph.tensors[input].name));
  }
  builder.bind(graph.outputs[0], hbm_tensor(laid.laid, graph.outputs[0], isa::Role::output, "y"));
  for (const NodeId node : graph.nodes.ids()) {
    builder.begin_node(node);
    builder.begin_source(graph.nodes[node].name, isa::SourceKind::operation);
    if (node == laid.node) {
      trial.kernel(builder, node);
    } else {
      copy_tensor(builder, graph.nodes[node].inputs[0], graph.nodes[node].output);
    }
  }
  return builder.take();
}

std::vector<std::byte> stored(const graph::Array& array, isa::DType dtype) {
  const auto count = static_cast<std::size_t>(graph::elements(array.shape));
  std::vector<std::byte> bytes(count * static_cast<std::size_t>(isa::size_of(dtype)));
  for (std::size_t i = 0; i < count; ++i) {
    isa::store_double(dtype, graph::get(array, static_cast<std::int64_t>(i)),
                      bytes.data() + i * static_cast<std::size_t>(isa::size_of(dtype)));
  }
  return bytes;
}

std::string compare(const graph::Array& expected, const std::vector<std::byte>& got,
                    isa::DType dtype) {
  const std::int64_t count = graph::elements(expected.shape);
  const auto size = static_cast<std::size_t>(isa::size_of(dtype));
  if (got.size() != static_cast<std::size_t>(count) * size) {
    return fmt::format("{} bytes of output for {} elements", got.size(), count);
  }
  double largest = 0.0;
  for (std::int64_t i = 0; i < count; ++i) {
    largest = std::max(largest, std::abs(graph::get(expected, i)));
  }
  const double tolerance = largest * (dtype == isa::DType::f32 ? 1e-4
                                      : isa::is_float(dtype)   ? 2e-2
                                                               : 0.0);
  for (std::int64_t i = 0; i < count; ++i) {
    const double value = isa::load_double(dtype, got.data() + static_cast<std::size_t>(i) * size);
    const double wanted = graph::get(expected, i);
    if (!(std::abs(value - wanted) <= tolerance)) {
      return fmt::format("element {} is {}, expected {}", i, value, wanted);
    }
  }
  return "";
}

}  // namespace

graph::Graph graph_of(const Trial& trial) {
  graph::Graph graph;
  std::vector<TensorId> operands;
  for (std::size_t i = 0; i < trial.inputs.size(); ++i) {
    operands.push_back(graph::add_input(graph, fmt::format("x{}", i), trial.inputs[i].type,
                                        trial.inputs[i].shape));
  }
  const TensorId result = graph::add_node(graph, "op", trial.op, operands);
  graph.outputs = {result};
  graph.output_names = {"y"};
  return graph;
}

isa::Program compile(const Trial& trial) {
  const Laid laid = lay(trial);
  const TileProgram tiles = tile_trial(trial, laid);
  return schedule(tiles, allocate(tiles, trial.machine), trial.machine);
}

sim::Report measure(const Trial& trial, const std::string& machine_name) {
  sim::Options options;
  options.values = false;
  const sim::Outcome result = sim::simulate(
      compile(trial), trial.machine,
      sim::read_timing(SYSTOLE_SOURCE_DIR "/configs/" + machine_name + ".yaml"), {}, options);
  check(result.status == sim::Status::done, "the timed run failed");
  return result.report;
}

Outcome run(const Trial& trial) {
  Outcome outcome;
  const Laid laid = lay(trial);
  outcome.program = compile(trial);
  for (const isa::Diagnostic& diagnostic : isa::verify(outcome.program, trial.machine)) {
    outcome.fault = "verify: " + diagnostic.what;
    return outcome;
  }
  const graph::Graph& graph = laid.laid.graph;
  std::map<std::string, graph::Array> arrays;
  sim::Inputs inputs;
  for (const TensorId input : graph.inputs) {
    const graph::Tensor& tensor = graph.tensors[input];
    const isa::DType dtype = laid.laid.storage[input];
    graph::Array array = graph::random_array(tensor, trial.seed, false);
    if (!trial.magnitudes.empty()) {
      const std::int64_t most = trial.magnitudes[inputs.arrays.size()];
      const bool is_signed = !graph::is_unsigned(array.type);
      Random random(trial.seed + inputs.arrays.size());
      for (std::int64_t i = 0; i < graph::elements(array.shape); ++i) {
        graph::set_integer(array, i, random.integer(is_signed ? -most : 0, most));
      }
    }
    if (graph::elements(array.shape) > 0) {
      inputs.arrays[tensor.name] = stored(array, dtype);
    }
    if (graph::is_float(array.type)) {  // the reference sees what the machine sees
      for (std::int64_t i = 0; i < graph::elements(array.shape); ++i) {
        graph::set(array, i, isa::rounded(dtype, static_cast<float>(graph::get(array, i))));
      }
    }
    arrays.emplace(tensor.name, std::move(array));
  }
  sim::Options options;
  options.timing = false;
  options.poison = true;
  const sim::Outcome result =
      sim::simulate(outcome.program, trial.machine, sim::Timing{}, inputs, options);
  if (result.status != sim::Status::done) {
    outcome.fault = result.faults.empty() ? std::string(sim::name_of(result.status))
                                          : result.faults.front().text;
    return outcome;
  }
  outcome.fault = compare(graph::evaluate(graph, arrays).front(), result.outputs.at("y"),
                          laid.laid.storage[graph.outputs[0]]);
  return outcome;
}

std::string describe(const Trial& trial) {
  std::string text = fmt::format("{} {} seed {}", graph::name_of(trial.op),
                                 isa::name_of(trial.storage), trial.seed);
  for (std::size_t i = 0; i < trial.inputs.size(); ++i) {
    text += fmt::format(" {} {}{}", graph::to_string(trial.inputs[i].shape),
                        layout::to_string(trial.configuration.inputs[i]),
                        is_resident(trial, i) ? " resident" : "");
  }
  return text + fmt::format(" -> {}{} {}", layout::to_string(trial.configuration.output),
                            is_resident(trial, trial.inputs.size()) ? " resident" : "",
                            layout::name_of(trial.configuration.mechanism));
}

std::vector<layout::Layout> all_layouts(const graph::Shape& shape) {
  std::vector<int> order(shape.size());
  std::iota(order.begin(), order.end(), 0);
  std::set<layout::Layout> found;
  do {
    for (int split = 0; split <= static_cast<int>(order.size()); ++split) {
      found.insert(layout::canonical({order, split, 0}, shape));
    }
  } while (std::next_permutation(order.begin(), order.end()));
  return {found.begin(), found.end()};
}

std::vector<layout::Configuration> all_configurations(const Trial& trial) {
  const graph::Graph graph = graph_of(trial);
  IdVector<TensorId, std::vector<layout::Layout>> domains;
  for (const graph::Tensor& tensor : graph.tensors) {
    domains.add(all_layouts(tensor.shape));
  }
  return layout::configurations(graph, NodeId(0), domains, trial.machine);
}

isa::Machine small_machine() {
  return machine("toy");
}

isa::Machine machine(const std::string& name) {
  return isa::read_machine(std::string(SYSTOLE_SOURCE_DIR) + "/configs/" + name + ".yaml");
}

}  // namespace systole::lower::testing
