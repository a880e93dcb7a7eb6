// Conversions by Vector's turns of blocks: values read back, how many instructions they take, and what happens where it
// cannot.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>

#include "compiler/layout/block_turn.hpp"
#include "compiler/lower/stages.hpp"
#include "tests/compiler/lower/kernel_harness.hpp"

namespace systole::test {
namespace {

using graph::ElementType;
using graph::Map;
using graph::MapFunction;
using graph::Shape;
using graph::TensorId;
using layout::Layout;
using layout::Mechanism;

// Whole numbers that every type holds, neighbours different.
graph::Array numbers(ElementType type, const Shape& shape) {
  graph::Array out = graph::make_array(type, shape);
  for (std::int64_t i = 0; i < graph::elements(shape); ++i) {
    graph::set(out, i, static_cast<double>(i * 37 % 127));
  }
  return out;
}

Case conversion_of(ElementType type, const Shape& shape) {
  Case out;
  out.graph.name = "conversion";
  const TensorId x = graph::add_input(out.graph, "in", type, shape);
  out.inputs["in"] = numbers(type, shape);
  out.graph.outputs = {graph::add_node(out.graph, "convert", graph::Convert{}, {x})};
  out.graph.output_names = {"out"};
  return out;
}

std::vector<isa::Instruction> instructions_of(const isa::Program& program, isa::Engine engine) {
  const auto& stream = program.streams[static_cast<std::size_t>(engine)];
  return {stream.begin(), stream.end()};
}

std::int64_t turned_blocks(const isa::Program& program) {
  return std::ranges::count_if(instructions_of(program, isa::Engine::vector),
                               [](const isa::Instruction& instruction) {
                                 return instruction.operation.holds<isa::Transpose32>();
                               });
}

// Every pair of layouts of a shape that Vector goes between.
std::vector<layout::Configuration> turns_of(const Shape& shape, const isa::Machine& machine) {
  std::vector<Layout> all;
  Layout layout = layout::row_major(static_cast<int>(shape.size()), 0);
  do {
    for (layout.split = 0; layout.split <= static_cast<int>(shape.size()); ++layout.split) {
      const Layout canonical = layout::canonical(layout, shape);
      if (std::ranges::find(all, canonical) == all.end()) {
        all.push_back(canonical);
      }
    }
  } while (std::ranges::next_permutation(layout.order).found);
  std::vector<layout::Configuration> out;
  for (const Layout& from : all) {
    for (const Layout& to : all) {
      const auto turn = layout::block_turn_of(from, to, shape, machine);
      if (turn && turn->blocks() <= 200) {
        out.push_back({{from}, to, Mechanism::vector_transpose});
      }
    }
  }
  return out;
}

void check_turns(const isa::Machine& machine, ElementType type, const Shape& shape,
                 layout::Precision precision) {
  const Case test = conversion_of(type, shape);
  const std::vector<layout::Configuration> all = turns_of(shape, machine);
  REQUIRE(!all.empty());
  const std::size_t step = all.size() / 16 + 1;
  for (std::size_t i = 0; i < all.size(); i += step) {
    for (const Storage storage : {Storage::streamed, Storage::resident}) {
      const layout::LaidGraph laid = lay_out(test.graph, all[i], storage, precision);
      const isa::Program program = lower::lower(laid, machine);
      CAPTURE(machine.name);
      CAPTURE(graph::to_string(shape));
      CAPTURE(layout::to_string(all[i].inputs[0]));
      CAPTURE(layout::to_string(all[i].output));
      const auto turn =
          layout::block_turn_of(all[i].inputs[0], all[i].output, shape, machine).value();
      CHECK(turned_blocks(program) == turn.blocks());
      CHECK(instructions_of(program, isa::Engine::tensor).empty());
      CHECK(fault_of(program, laid, test.inputs, machine, {0, 0}) == "");
    }
  }
}

}  // namespace

TEST_CASE("Vector turns values of any type and extents in blocks, from and to SBUF and HBM") {
  using layout::Precision;
  for (const char* name : {"trn1", "trn2"}) {
    const isa::Machine machine = isa::read_machine(name);
    check_turns(machine, ElementType::f32, {2, 2}, Precision::fp32);
    check_turns(machine, ElementType::f32, {31, 33}, Precision::fp32);
    check_turns(machine, ElementType::f32, {20, 5, 3}, Precision::bf16);
    check_turns(machine, ElementType::f32, {3, 64, 96}, Precision::bf16);
    check_turns(machine, ElementType::f32, {2, 3, 32, 5}, Precision::fp32);
    check_turns(machine, ElementType::i32, {5, 130, 31}, Precision::fp32);
    check_turns(machine, ElementType::i8, {1, 129, 17}, Precision::fp32);
  }
  const isa::Machine toy = isa::read_machine("toy");
  check_turns(toy, ElementType::f32, {2, 3, 4}, Precision::fp32);
  check_turns(toy, ElementType::f32, {9, 10}, Precision::fp32);
  check_turns(toy, ElementType::i32, {4, 1, 6, 2}, Precision::fp32);
}

TEST_CASE(
    "blocks whose elements lie too far apart for an operand are turned by way of dense ones") {
  isa::Machine machine = isa::read_machine("trn1");
  machine.access_stride_max = 40;
  check_turns(machine, ElementType::f32, {33, 6, 40}, layout::Precision::bf16);
}

TEST_CASE("Vector turns between maps whether their values stay in SBUF or go through HBM") {
  // [2, 64, 160], head by head: negated, turned, negated.
  layout::LaidGraph laid;
  graph::Graph& g = laid.graph;
  g.name = "turned between maps";
  const Shape shape{2, 64, 160};
  const TensorId x = graph::add_input(g, "in", ElementType::f32, shape);
  const TensorId a = graph::add_node(g, "negated", Map{MapFunction::negate}, {x});
  const TensorId turned = graph::add_node(g, "turned", graph::Convert{}, {a});
  const TensorId b = graph::add_node(g, "back", Map{MapFunction::negate}, {turned});
  g.outputs = {graph::add_node(g, "out", graph::Convert{}, {b})};
  g.output_names = {"out"};
  const Layout rows = layout::row_major(3, 2);
  const Layout columns{{0, 2, 1}, 2, 0};
  for (const Layout& layout : {rows, rows, columns, columns, rows}) {
    laid.layouts.add(layout);
    laid.storage.add(isa::DType::bf16);
  }
  for (const Mechanism mechanism :
       {Mechanism::standard, Mechanism::vector_transpose, Mechanism::standard, Mechanism::dma}) {
    laid.mechanisms.add(mechanism);
    laid.predicted.add({});
  }
  for (const std::int64_t room : {std::int64_t{2048}, std::int64_t{6144}, std::int64_t{196608}}) {
    isa::Machine machine = isa::read_machine("trn1");
    machine.sbuf_bytes = room;
    CAPTURE(room);
    const isa::Program program = lower::lower(laid, machine);
    CHECK(turned_blocks(program) == (room > 2048 ? 20 : 0));  // not even one pair is staged
    CHECK(fault_of(program, laid, {{"in", numbers(ElementType::f32, shape)}}, machine, {0, 0}) ==
          "");
  }
}

TEST_CASE("what Vector cannot turn any more goes by the array, or else by DMA") {
  const isa::Machine trn1 = isa::read_machine("trn1");
  const auto lowered = [&](const Shape& shape, const Layout& from, const Layout& to) {
    const Case test = conversion_of(ElementType::f32, shape);
    const layout::LaidGraph laid = lay_out(test.graph, {{from}, to, Mechanism::vector_transpose},
                                           Storage::resident, layout::Precision::bf16);
    isa::Program program = lower::lower(laid, trn1);
    CHECK(fault_of(program, laid, test.inputs, trn1, {0, 0}) == "");
    CHECK(turned_blocks(program) == 0);
    return program;
  };
  // 20 partitions to an index: the second starts within a quadrant.
  const isa::Program array = lowered({3, 20, 40}, {{0, 1, 2}, 2, 0}, {{2, 0, 1}, 1, 0});
  CHECK(!instructions_of(array, isa::Engine::tensor).empty());
  const isa::Program dma = lowered({3, 20, 40}, {{0, 1, 2}, 2, 0}, {{0, 2, 1}, 2, 0});
  CHECK(instructions_of(dma, isa::Engine::tensor).empty());
}

}  // namespace systole::test
