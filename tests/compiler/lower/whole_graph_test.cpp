// What whole graphs take on the timed machine, from row-major inputs and in the layouts of a strategy: floors for the
// published shapes.
#include <doctest/doctest.h>

#include "compiler/layout/apply.hpp"
#include "compiler/layout/state.hpp"
#include "compiler/layout/storage.hpp"
#include "compiler/lower/stages.hpp"
#include "compiler/solver/strategy.hpp"
#include "sim/simulate.hpp"

namespace systole::test {
namespace {

using graph::Graph;
using graph::Map;
using graph::MapFunction;
using graph::ReduceFunction;
using graph::TensorId;

// With so many percent of its SBUF.
isa::Machine trn1(std::int64_t sbuf = 100) {
  isa::Machine machine = isa::read_machine("trn1");
  machine.sbuf_bytes = machine.sbuf_bytes * sbuf / 100;
  return machine;
}

sim::Report measure(const Graph& graph, const isa::Machine& machine) {
  const layout::Statement statement =
      layout::state_problem(graph, layout::storage_types(graph, layout::Precision::bf16), machine,
                            layout::read_cost_model("trn1.analytic"));
  const solver::Result result =
      solver::solve(*solver::find_strategy("greedy"), statement.problem, {});
  sim::Options options;
  options.values = false;
  const sim::Outcome outcome =
      sim::simulate(lower::lower(layout::apply(graph, statement, result.assignment), machine),
                    machine, sim::read_timing("trn1"), {}, options);
  REQUIRE(outcome.status == sim::Status::done);
  return outcome.report;
}

double tensor_busy(const sim::Report& report) {
  return static_cast<double>(
             report.engines[static_cast<std::size_t>(isa::Engine::tensor)].busy.count()) /
         static_cast<double>(report.total.count());
}

TensorId input(Graph& g, const std::string& name, const graph::Shape& shape) {
  return graph::add_input(g, name, graph::ElementType::f32, shape);
}

TensorId matmul(Graph& g, TensorId a, TensorId b) {
  return graph::add_node(g, "product", graph::Contraction{{0, 2}, {2, 1}, {0, 1}}, {a, b});
}

Graph with_output(Graph g, TensorId output) {
  g.outputs = {output};
  g.output_names = {"y"};
  return g;
}

Graph product(std::int64_t m, std::int64_t k, std::int64_t n) {
  Graph g;
  g.name = "product";
  const TensorId x = input(g, "x", {m, k});
  const TensorId w = input(g, "w", {k, n});
  return with_output(g, matmul(g, x, w));
}

Graph attention(std::int64_t tokens, std::int64_t d) {
  Graph g;
  g.name = "attention";
  const TensorId q = input(g, "q", {tokens, d});
  const TensorId k = input(g, "k", {tokens, d});
  const TensorId v = input(g, "v", {tokens, d});
  const TensorId scores =
      graph::add_node(g, "scores", graph::Contraction{{0, 2}, {1, 2}, {0, 1}}, {q, k});
  const TensorId most =
      graph::add_node(g, "most", graph::Reduce{ReduceFunction::max, {1}, true}, {scores});
  const TensorId less = graph::add_node(g, "less", Map{MapFunction::subtract}, {scores, most});
  const TensorId e = graph::add_node(g, "e", Map{MapFunction::exp}, {less});
  const TensorId sum =
      graph::add_node(g, "sum", graph::Reduce{ReduceFunction::sum, {1}, true}, {e});
  return with_output(g, graph::add_node(g, "y", Map{MapFunction::divide}, {matmul(g, e, v), sum}));
}

Graph feed_forward(std::int64_t tokens, std::int64_t hidden, std::int64_t layers) {
  Graph g;
  g.name = "feed_forward";
  TensorId x = input(g, "x", {tokens, hidden});
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    const TensorId up = matmul(g, x, input(g, "up", {hidden, 4 * hidden}));
    const TensorId active = graph::add_node(g, "gelu", Map{MapFunction::gelu}, {up});
    const TensorId down = matmul(g, active, input(g, "down", {4 * hidden, hidden}));
    x = graph::add_node(g, "x", Map{MapFunction::add}, {x, down});
  }
  return with_output(g, x);
}

}  // namespace

TEST_CASE("products of row-major inputs keep the tensor engine busy, turned operand included") {
  CHECK(tensor_busy(measure(product(4096, 8192, 8192), trn1())) >= 0.85);
  CHECK(tensor_busy(measure(product(2048, 2048, 2048), trn1())) >= 0.80);
  CHECK(tensor_busy(measure(product(384, 1024, 4096), trn1())) >= 0.60);
  CHECK(tensor_busy(measure(product(384, 4096, 1024), trn1())) >= 0.60);
}

TEST_CASE("attention of 4096 tokens takes what hand-written kernels take") {
  CHECK(measure(attention(4096, 128), trn1()).microseconds <= 400.0);
}

TEST_CASE("a doubled SBUF is never slower by more than 2 %, a halved one suffices") {
  for (const Graph& graph :
       {product(1024, 1024, 1024), product(384, 1024, 4096), attention(1024, 128),
        attention(2048, 64), feed_forward(384, 1024, 2), feed_forward(128, 512, 3)}) {
    INFO(graph.name);
    const double whole = measure(graph, trn1()).microseconds;
    const double doubled = measure(graph, trn1(200)).microseconds;
    CHECK(doubled <= 1.02 * whole);
    CHECK(measure(graph, trn1(50)).microseconds >= 0.9 * doubled);
  }
}

}  // namespace systole::test
