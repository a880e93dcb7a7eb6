#include "compiler/lower/recognise.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <numbers>

#include "compiler/layout/apply.hpp"
#include "compiler/layout/state.hpp"
#include "compiler/solver/strategy.hpp"
#include "isa/base/random.hpp"
#include "tests/compiler/lower/kernel_harness.hpp"

namespace systole::test {
namespace {

using graph::Graph;
using graph::Map;
using graph::MapFunction;
using graph::TensorId;

// Maps of one value x over a few partitions.
struct Formula {
  Graph g;
  TensorId x = graph::add_input(g, "x", graph::ElementType::f32, {6, 5});

  TensorId number(double value) {
    graph::Array a = graph::make_array(graph::ElementType::f32, {});
    graph::set(a, 0, value);
    return graph::add_constant(g, "c", std::move(a));
  }
  TensorId map(MapFunction function, TensorId a, TensorId b) {
    return graph::add_node(g, "m", Map{function}, {a, b});
  }
  TensorId times(TensorId a, TensorId b) { return map(MapFunction::multiply, a, b); }
  TensorId over(TensorId a, double b) { return map(MapFunction::divide, a, number(b)); }
  TensorId erf(TensorId a) { return graph::add_node(g, "erf", Map{MapFunction::erf}, {a}); }
  TensorId one_and(TensorId a) { return map(MapFunction::add, number(1), a); }
  TensorId gate() { return one_and(erf(over(x, std::numbers::sqrt2))); }
};

layout::LaidGraph laid_out(const Formula& formula, const std::vector<TensorId>& outputs) {
  Graph g = formula.g;
  g.name = "formula";
  g.outputs = outputs;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    g.output_names.push_back(std::string(1, static_cast<char>('a' + i)));
  }
  const isa::Machine machine = isa::read_machine("toy");
  const layout::Statement statement =
      layout::state_problem(g, layout::storage_types(g, layout::Precision::fp32), machine,
                            layout::read_cost_model("toy.analytic"));
  return layout::apply(
      g, statement,
      solver::solve(*solver::find_strategy("greedy"), statement.problem, {}).assignment);
}

int count(const layout::LaidGraph& laid, MapFunction function) {
  int found = 0;
  for (const graph::NodeId id : laid.graph.nodes.ids()) {
    const auto* map = std::get_if<Map>(&laid.graph.nodes[id].op);
    found += map != nullptr && map->function == function ? 1 : 0;
  }
  return found;
}

using Write = std::function<TensorId(Formula&)>;

// Hands f the number of each way, and its formula laid out, before and after.
template <class F>
void for_each_way(const std::vector<Write>& ways, F&& f) {
  for (std::size_t way = 0; way < ways.size(); ++way) {
    INFO("way ", way);
    Formula formula;
    const TensorId y = ways[way](formula);
    const layout::LaidGraph laid = laid_out(formula, {y});
    f(way, laid, lower::with_whole_functions(laid));
  }
}

}  // namespace

TEST_CASE("a GELU written out with erf is one function, whatever the order of its factors") {
  const std::vector<Write> ways{
      [](Formula& f) { return f.times(f.times(f.x, f.gate()), f.number(0.5)); },
      [](Formula& f) { return f.times(f.times(f.x, f.number(0.5)), f.gate()); },
      [](Formula& f) { return f.times(f.gate(), f.over(f.x, 2)); },
      [](Formula& f) { return f.over(f.times(f.gate(), f.x), 2); },
      [](Formula& f) {
        const TensorId inner = f.times(f.x, f.number(1 / std::numbers::sqrt2));
        return f.times(f.number(0.5),
                       f.times(f.x, f.map(MapFunction::add, f.erf(inner), f.number(1))));
      }};
  for_each_way(ways,
               [](std::size_t way, const layout::LaidGraph& laid, const layout::LaidGraph& whole) {
                 CHECK(count(whole, MapFunction::gelu) == 1);
                 CHECK(count(whole, MapFunction::erf) == 0);
                 CHECK(count(whole, MapFunction::multiply) == 0);
                 Random random(way + 1);
                 graph::Array x = graph::make_array(graph::ElementType::f32, {6, 5});
                 for (std::int64_t i = 0; i < 30; ++i) {
                   graph::set(x, i, static_cast<double>(random.integer(-400, 400)) / 100);
                 }
                 CHECK(fault_of(laid, {{"x", x}}, isa::read_machine("toy"), {}) == "");
               });
}

TEST_CASE("what is nearly a GELU stays as it is written") {
  const std::vector<Write> ways{
      [](Formula& f) { return f.times(f.times(f.x, f.gate()), f.number(0.25)); },
      [](Formula& f) { return f.times(f.x, f.gate()); },
      [](Formula& f) { return f.times(f.times(f.x, f.number(0.5)), f.one_and(f.erf(f.x))); },
      [](Formula& f) {
        return f.times(f.times(f.x, f.number(0.5)), f.map(MapFunction::add, f.number(2),
                                                          f.erf(f.over(f.x, std::numbers::sqrt2))));
      },
      [](Formula& f) { return f.times(f.times(f.gate(), f.gate()), f.number(0.5)); },
      [](Formula& f) {  // of another value
        return f.times(f.times(f.map(MapFunction::add, f.x, f.number(3)), f.number(0.5)), f.gate());
      }};
  for_each_way(ways,
               [](std::size_t, const layout::LaidGraph& laid, const layout::LaidGraph& whole) {
                 CHECK(count(whole, MapFunction::gelu) == 0);
                 CHECK(whole.graph.nodes.size() == laid.graph.nodes.size());
               });
}

TEST_CASE("parts of a GELU that something else reads stay") {
  Formula f;
  const TensorId gate = f.gate();
  const TensorId y = f.times(f.times(f.x, gate), f.number(0.5));
  const layout::LaidGraph whole = lower::with_whole_functions(laid_out(f, {y, gate}));
  CHECK(count(whole, MapFunction::erf) == 1);
}

TEST_CASE("long products end the search") {
  Formula f;
  TensorId y = f.x;
  for (int i = 0; i < 20000; ++i) {
    y = f.times(y, f.x);
  }
  layout::LaidGraph laid;  // layouts and types do not matter here
  laid.graph = f.g;
  laid.graph.outputs = {y};
  laid.layouts = IdVector<TensorId, layout::Layout>(f.g.tensors.size());
  laid.storage = IdVector<TensorId, isa::DType>(f.g.tensors.size(), isa::DType::f32);
  CHECK(lower::with_whole_functions(laid).graph.nodes.size() == 20000);
}

}  // namespace systole::test
