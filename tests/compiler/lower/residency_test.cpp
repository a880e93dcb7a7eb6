#include <doctest/doctest.h>

#include "compiler/lower/stages.hpp"
#include "isa/machine.hpp"

namespace systole::lower {
namespace {

using graph::ElementType;
using graph::TensorId;

layout::LaidGraph laid_by_rows(graph::Graph graph) {
  layout::LaidGraph laid;
  for (const graph::Tensor& tensor : graph.tensors) {
    laid.layouts.add(layout::row_major(static_cast<int>(tensor.shape.size()), 1));
    laid.storage.add(isa::DType::f32);
  }
  laid.mechanisms.resize(graph.nodes.size());
  laid.predicted.resize(graph.nodes.size());
  laid.graph = std::move(graph);
  return laid;
}

}  // namespace

TEST_CASE("tensors stay while they fit; boundary tensors and what does not fit are in HBM") {
  isa::Machine machine = isa::read_machine("toy");  // 4096 bytes per partition
  graph::Graph graph;
  graph.name = "chain";
  const auto relu = [&](TensorId in) { return graph::add_node(graph, "relu", graph::Map{graph::MapFunction::relu}, {in}); };
  const TensorId input = graph::add_input(graph, "x", ElementType::f32, {8, 270});  // 1080 bytes
  const TensorId first = relu(input);
  const TensorId second = relu(first);
  const TensorId third = relu(second);
  const TensorId sum = graph::add_node(graph, "sum", graph::Map{graph::MapFunction::add}, {first, third});
  const TensorId output = relu(sum);
  graph.outputs = {output};
  graph.output_names = {"y"};
  const layout::LaidGraph laid = laid_by_rows(graph);
  const Residency plan = plan_residency(laid, machine, default_resident_share, false);
  CHECK(plan.resident[input] == 0);
  CHECK(plan.resident[output] == 0);
  // Two of 1080 bytes fit beside the staging room; `first` lives through all of the others and gives way.
  CHECK(plan.resident[second] != 0);
  CHECK(plan.resident[third] != 0);
  CHECK(plan.resident[first] == 0);
  CHECK(plan.resident_peak == 2160);
  REQUIRE(plan.spilled.size() == 1);
  CHECK(plan.spilled[0] == "relu: 1080 bytes per partition, no room beside the others live then");
  CHECK(plan_residency(laid, machine, 0).resident_peak == 0);
}

TEST_CASE("an alias shares the storage of its root and keeps it alive") {
  isa::Machine machine = isa::read_machine("toy");
  graph::Graph graph;
  graph.name = "alias";
  const TensorId input = graph::add_input(graph, "x", ElementType::f32, {8, 6});
  const TensorId a = graph::add_node(graph, "relu", graph::Map{graph::MapFunction::relu}, {input});
  const TensorId b = graph::add_reshape(graph, "reshape", a, {8, 2, 3});
  const TensorId c = graph::add_node(graph, "relu", graph::Map{graph::MapFunction::relu}, {b});
  graph.outputs = {c};
  graph.output_names = {"y"};
  layout::LaidGraph laid = laid_by_rows(graph);
  laid.mechanisms[graph.tensors[b].producer] = layout::Mechanism::alias;
  const Residency plan = plan_residency(laid, machine);
  CHECK(plan.root[b] == a);
  CHECK(plan.resident[a] != 0);
  CHECK(plan.resident[b] != 0);
  const TileProgram program = tile(laid, plan, machine);
  for (const TileInstruction& instruction : program.instructions) {
    CHECK(program.sources[instruction.instruction.source].name.find("reshape") == std::string::npos);
  }
  // Nothing can be shared if the stored type changes under way.
  laid.storage[b] = isa::DType::bf16;
  CHECK(plan_residency(laid, machine).root[b] == b);
}

}  // namespace systole::lower
