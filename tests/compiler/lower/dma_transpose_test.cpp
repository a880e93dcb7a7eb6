// Conversions on the DMA engines' transposing path: values read back, and who may use it.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>

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

const isa::Machine& trn2() {
  static const isa::Machine machine = isa::read_machine("trn2");
  return machine;
}

// Whole numbers that bf16 and fp16 hold, neighbours different.
graph::Array numbers(const Shape& shape) {
  graph::Array out = graph::make_array(ElementType::f32, shape);
  for (std::int64_t i = 0; i < graph::elements(shape); ++i) {
    graph::set(out, i, static_cast<double>(i * 37 % 251) - 125);
  }
  return out;
}

Case conversion_of(const Shape& shape) {
  Case out;
  out.graph.name = "conversion";
  const TensorId x = graph::add_input(out.graph, "in", ElementType::f32, shape);
  out.inputs["in"] = numbers(shape);
  out.graph.outputs = {graph::add_node(out.graph, "convert", graph::Convert{}, {x})};
  out.graph.output_names = {"out"};
  return out;
}

void store_as(layout::LaidGraph& laid, isa::DType type) {
  for (isa::DType& storage : laid.storage) {
    storage = type;
  }
}

std::int64_t transposes(const isa::Program& program) {
  std::int64_t count = 0;
  for (const auto& stream : program.streams) {
    count += std::ranges::count_if(stream, [](const isa::Instruction& instruction) {
      const auto* dma = instruction.operation.get_if<isa::Dma>();
      return dma != nullptr && dma->transpose;
    });
  }
  return count;
}

// Every pair of layouts of a shape that the path goes between.
std::vector<layout::Configuration> turns_of(const Shape& shape) {
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
      if (layout::transposition_of(from, to, shape)) {
        out.push_back({{from}, to, Mechanism::dma_transpose});
      }
    }
  }
  return out;
}

}  // namespace

TEST_CASE("DMA turns 2-byte values of any extents from and to SBUF and HBM") {
  for (const Shape& shape : std::vector<Shape>{{2, 2},
                                               {3, 5},
                                               {1, 129, 17},
                                               {300, 257},
                                               {2, 3, 4},
                                               {20, 9, 3},
                                               {5, 130, 31},
                                               {3, 64, 96},
                                               {2, 3, 128, 3}}) {
    const Case test = conversion_of(shape);
    const std::vector<layout::Configuration> all = turns_of(shape);
    REQUIRE(!all.empty());
    const std::size_t step = all.size() / 24 + 1;
    for (std::size_t i = 0; i < all.size(); i += step) {
      for (const Storage storage : {Storage::streamed, Storage::resident}) {
        layout::LaidGraph laid = lay_out(test.graph, all[i], storage, layout::Precision::fp32);
        store_as(laid, i % 2 == 0 ? isa::DType::bf16 : isa::DType::f16);
        const isa::Program program = lower::lower(laid, trn2());
        CAPTURE(graph::to_string(shape));
        CAPTURE(layout::to_string(all[i].inputs[0]));
        CAPTURE(layout::to_string(all[i].output));
        CHECK(transposes(program) > 0);
        CHECK(fault_of(program, laid, test.inputs, trn2(), {0, 0}) == "");
      }
    }
  }
}

TEST_CASE("DMA never turns fp32, nor on a machine without the path") {
  const Shape shape{130, 70};
  const Case test = conversion_of(shape);
  layout::Configuration turn{{{{0, 1}, 1, 0}}, {{1, 0}, 1, 0}, Mechanism::dma_transpose};
  for (const Storage storage : {Storage::streamed, Storage::resident}) {
    const layout::LaidGraph laid = lay_out(test.graph, turn, storage, layout::Precision::fp32);
    const isa::Program program = lower::lower(laid, trn2());
    CHECK(transposes(program) == 0);
    CHECK(fault_of(program, laid, test.inputs, trn2(), {0, 0}) == "");
    layout::LaidGraph narrow = laid;
    store_as(narrow, isa::DType::bf16);
    CHECK(transposes(lower::lower(narrow, trn2())) > 0);
    isa::Machine without = trn2();
    without.dma_transpose = false;
    CHECK(transposes(lower::lower(narrow, without)) == 0);
  }
}

TEST_CASE("DMA transposes between maps whether their values stay in SBUF or go through HBM") {
  // [4, 300, 260]: negated, turned, negated.
  layout::LaidGraph laid;
  graph::Graph& g = laid.graph;
  g.name = "turned between maps";
  const Shape shape{4, 300, 260};
  const TensorId x = graph::add_input(g, "in", ElementType::f32, shape);
  const TensorId a = graph::add_node(g, "negated", Map{MapFunction::negate}, {x});
  const TensorId turned = graph::add_node(g, "turned", graph::Convert{}, {a});
  const TensorId b = graph::add_node(g, "back", Map{MapFunction::negate}, {turned});
  g.outputs = {graph::add_node(g, "out", graph::Convert{}, {b})};
  g.output_names = {"out"};
  const Layout rows = layout::row_major(3, 2);
  const Layout columns{{2, 0, 1}, 1, 0};
  for (const Layout& layout : {rows, rows, columns, columns, rows}) {
    laid.layouts.add(layout);
    laid.storage.add(isa::DType::bf16);
  }
  for (const Mechanism mechanism :
       {Mechanism::standard, Mechanism::dma_transpose, Mechanism::standard, Mechanism::dma}) {
    laid.mechanisms.add(mechanism);
    laid.predicted.add({});
  }
  for (const std::int64_t room : {std::int64_t{6144}, std::int64_t{12288}, trn2().sbuf_bytes}) {
    isa::Machine machine = trn2();
    machine.sbuf_bytes = room;
    CAPTURE(room);
    const isa::Program program = lower::lower(laid, machine);
    CHECK(transposes(program) > 0);
    CHECK(fault_of(program, laid, {{"in", numbers(shape)}}, machine, {0, 0}) == "");
  }
}

}  // namespace systole::test
