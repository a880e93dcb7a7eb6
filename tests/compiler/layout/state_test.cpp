// Statement and application together: any legal answer gives a sound laid-out graph whose
// predictions add up to the solver's own idea of cost.
#include "compiler/layout/state.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>

#include "compiler/graph/evaluate.hpp"
#include "compiler/layout/apply.hpp"
#include "compiler/layout/storage.hpp"
#include "compiler/layout/text.hpp"
#include "compiler/solver/strategy.hpp"
#include "compiler/solver/text.hpp"
#include "isa/base/random.hpp"
#include "tests/support/random_graph.hpp"

using namespace systole;
using namespace systole::layout;
using graph::ElementType;
using graph::Graph;
using graph::MapFunction;
using graph::NodeId;
using graph::TensorId;

namespace {

const isa::Machine& trn1() {
  static const isa::Machine machine = isa::read_machine("trn1");
  return machine;
}

const CostModel& costs() {
  static const CostModel model = read_cost_model("trn1.analytic");
  return model;
}

Statement state(const Graph& graph, const StateOptions& options = {}) {
  return state_problem(graph, storage_types(graph, Precision::bf16), trn1(), costs(), options);
}

solver::Assignment random_assignment(const solver::Problem& problem, Random& random) {
  solver::Assignment assignment;
  for (const solver::Operator& op : problem.operators) {
    assignment.row.add(
        static_cast<int>(random.integer(0, static_cast<std::int64_t>(op.rows.size()) - 1)));
  }
  return assignment;
}

bool same_values(const graph::Array& a, const graph::Array& b) {
  return a == b;
}

}  // namespace

TEST_CASE("any assignment gives a sound laid-out graph that predicts what evaluate says") {
  std::size_t conversion_count = 0;
  for (std::uint64_t seed = 1; seed <= 80; ++seed) {
    test::RandomGraphOptions options;
    options.seed = seed;
    options.nodes = 10;
    if (seed % 5 == 0) {
      options.extents = {0, 1, 2, 3, 129};
    }
    const Graph g = test::random_graph(options);
    REQUIRE(graph::verify(g).empty());
    StateOptions state_options;
    state_options.domain.kind = seed % 3 == 0 ? DomainKind::partition : DomainKind::full;
    const Statement s = state(g, state_options);
    REQUIRE(solver::check(s.problem).empty());
    Random random(seed);
    for (int round = 0; round < 5; ++round) {
      const solver::Assignment assignment = random_assignment(s.problem, random);
      const LaidGraph laid = apply(g, s, assignment);
      REQUIRE(verify(laid, trn1()).empty());
      REQUIRE(predicted_total(laid) == solver::evaluate(s.problem, assignment));
      const auto parts = solver::cost_parts(s.problem, assignment);
      const auto rows = conversions(laid);
      REQUIRE(static_cast<int>(rows.size()) == parts.conversion_count);
      std::int64_t cycles = 0;
      std::set<std::pair<std::string, Layout>> wanted;
      for (const ConversionRow& row : rows) {
        cycles += row.cycles;
        REQUIRE(row.from != row.to);
        REQUIRE(wanted.emplace(row.tensor, row.to).second);  // one conversion per distinct layout
      }
      REQUIRE(cycles == parts.conversions);
      conversion_count += rows.size();
    }
  }
  CHECK(conversion_count > 500);
}

TEST_CASE("laying a graph out does not change its values") {
  for (std::uint64_t seed = 200; seed <= 215; ++seed) {
    test::RandomGraphOptions options;
    options.seed = seed;
    options.nodes = 8;
    const Graph g = test::random_graph(options);
    const Statement s = state(g);
    Random random(seed);
    const LaidGraph laid = apply(g, s, random_assignment(s.problem, random));
    const auto inputs = test::random_inputs(g, seed);
    const auto before = graph::evaluate(g, inputs);
    const auto after = graph::evaluate(laid.graph, inputs);
    REQUIRE(before.size() == after.size());
    for (std::size_t i = 0; i < before.size(); ++i) {
      REQUIRE(same_values(before[i], after[i]));
    }
  }
}

TEST_CASE("stating twice gives the same problem, which reads back from its text") {
  test::RandomGraphOptions options;
  options.seed = 7;
  options.nodes = 30;
  const Graph g = test::random_graph(options);
  const Statement s = state(g);
  CHECK(s.problem == state(g).problem);
  CHECK(solver::parse_problem(to_text(s, g), "text") == s.problem);
}

TEST_CASE("a constant asked for in two layouts is stored twice and converted never") {
  Graph g;
  const TensorId x = graph::add_input(g, "x", ElementType::f32, {6, 8});
  const TensorId w = graph::add_weight(g, "w", ElementType::f32, {8, 8});
  const TensorId a = graph::add_node(g, "a", graph::Contraction{{0, 1}, {1, 2}, {0, 2}}, {x, w});
  const TensorId b = graph::add_node(g, "b", graph::Contraction{{0, 1}, {2, 1}, {0, 2}}, {a, w});
  g.outputs = {b};
  g.output_names = {"y"};
  const Statement s = state(g);
  Random random(3);
  const LaidGraph laid = apply(g, s, random_assignment(s.problem, random));
  CHECK(laid.graph.tensors.size() >= g.tensors.size() + 1);
  std::size_t constants = 0;
  for (const graph::Tensor& t : laid.graph.tensors) {
    constants += t.kind == graph::TensorKind::constant ? 1U : 0U;
  }
  CHECK(constants == 2);
  for (const ConversionRow& row : conversions(laid)) {
    CHECK(row.tensor.substr(0, 1) != "w");
  }
}

TEST_CASE("two consumers that want the same layout share one conversion") {
  Graph g;
  const TensorId x = graph::add_input(g, "x", ElementType::f32, {6, 8});
  const TensorId a = graph::add_node(g, "a", graph::Map{.function = MapFunction::relu}, {x});
  const TensorId b = graph::add_node(g, "b", graph::Map{.function = MapFunction::exp}, {x});
  g.outputs = {a, b};
  g.output_names = {"a", "b"};
  const Statement s = state(g);
  solver::Assignment assignment;
  for (const solver::OperatorId op : s.operators.ids()) {
    const OperatorMeaning& meaning = s.operators[op];
    int chosen = 0;
    for (std::size_t i = 0; i < meaning.rows->size(); ++i) {
      if (meaning.kind == OperatorKind::node &&
          (*meaning.rows)[i].configuration.output == *parse_layout("(1|0)")) {
        chosen = static_cast<int>(i);
      }
    }
    assignment.row.add(chosen);
  }
  const auto rows = conversions(apply(g, s, assignment));
  REQUIRE(rows.size() == 3);  // x once, a and b to the outputs
  CHECK(rows[0].tensor == "x");
  CHECK(to_string(rows[0].from) == "(0|1)");
  CHECK(to_string(rows[0].to) == "(1|0)");
  CHECK(rows[0].bytes == 6 * 8 * 4);
  CHECK(rows[1].tensor == "a");
  CHECK(rows[2].tensor == "b");
}

TEST_CASE("what a follower of a product reads is converted before the product starts") {
  Graph g;
  const auto map = [&g](const char* name, MapFunction function, std::vector<TensorId> inputs) {
    return graph::add_node(g, name, graph::Map{.function = function}, std::move(inputs));
  };
  const TensorId mask = graph::add_input(g, "mask", ElementType::f32, {6, 1});
  const TensorId input = graph::add_input(g, "x", ElementType::f32, {6, 4});
  const TensorId w = graph::add_weight(g, "w", ElementType::f32, {4, 8});
  const TensorId early = map("early", MapFunction::exp, {mask});
  const TensorId x = map("ready", MapFunction::relu, {input});
  const TensorId late = map("late", MapFunction::relu, {mask});  // the product need not wait for it
  const TensorId product =
      graph::add_node(g, "product", graph::Contraction{{0, 1}, {1, 2}, {0, 2}}, {x, w});
  const TensorId first = map("first", MapFunction::add, {product, early});
  const TensorId second = map("second", MapFunction::add, {first, early});
  const TensorId third = map("third", MapFunction::add, {second, late});
  g.outputs = {third};
  g.output_names = {"y"};
  const Statement s = state(g);
  Random random(5);
  std::map<TensorId, int> seen;
  for (int trial = 0; trial < 300; ++trial) {
    const LaidGraph laid = apply(g, s, random_assignment(s.problem, random));
    const NodeId starts = laid.graph.tensors[product].producer;
    for (const NodeId node : laid.graph.nodes.ids()) {
      const bool copies = std::holds_alternative<graph::Convert>(laid.graph.nodes[node].op);
      const TensorId copied = laid.graph.nodes[node].inputs.front();
      if (copies && (copied == early || copied == late)) {
        CHECK((node < starts) == (copied == early));
        ++seen[copied];
      }
    }
  }
  CHECK(seen[early] > 20);
  CHECK(seen[late] > 20);
}

TEST_CASE("inputs enter and outputs leave row-major") {
  Graph g;
  const TensorId x = graph::add_input(g, "x", ElementType::f32, {6, 8});
  const TensorId y = graph::add_node(g, "t", graph::Transpose{{1, 0}}, {x});
  g.outputs = {y, x};
  g.output_names = {"y", "again"};
  const Statement s = state(g);
  Random random(1);
  for (int i = 0; i < 10; ++i) {
    const LaidGraph laid = apply(g, s, random_assignment(s.problem, random));
    REQUIRE(verify(laid, trn1()).empty());
    REQUIRE(laid.graph.outputs[1] == x);
  }
}

TEST_CASE("verify finds what was tampered with") {
  Graph g;
  const TensorId x = graph::add_input(g, "x", ElementType::f32, {6, 8});
  const TensorId y = graph::add_node(g, "t", graph::Transpose{{1, 0}}, {x});
  const TensorId z = graph::add_node(g, "relu", graph::Map{.function = MapFunction::relu}, {y});
  g.outputs = {z};
  g.output_names = {"z"};
  const Statement s = state(g);
  Random random(1);
  const LaidGraph laid = apply(g, s, random_assignment(s.problem, random));
  const auto broken = [&](auto change) {
    LaidGraph copy = laid;
    change(copy);
    const auto faults = verify(copy, trn1());
    return faults.empty() ? std::string() : faults.front();
  };
  CHECK(broken([](LaidGraph&) {}).empty());
  const TensorId t = laid.graph.nodes[NodeId(0)].output;
  CHECK(broken([&](LaidGraph& l) {
          l.layouts[t] = *parse_layout("(0 1|)");
        }).find("cannot be computed as") != std::string::npos);
  CHECK(broken([&](LaidGraph& l) {
          l.layouts[t] = *parse_layout("(0|1 2)");
        }).find("does not fit shape [8,6]") != std::string::npos);
  CHECK(broken([&](LaidGraph& l) { l.layouts[x] = *parse_layout("(1|0)"); }).find("input x") !=
        std::string::npos);
  CHECK(broken([&](LaidGraph& l) {
          l.mechanisms[NodeId(0)] = Mechanism::dma;
        }).find("cannot be computed as") != std::string::npos);
  CHECK(broken([&](LaidGraph& l) { l.layouts.resize(1); }).find("do not cover") !=
        std::string::npos);
}

TEST_CASE("nodes that differ only in an attribute do not share rows") {
  Graph g;
  const TensorId x = graph::add_input(g, "x", ElementType::f32, {6, 6});
  const TensorId a =
      graph::add_node(g, "a", graph::Reduce{graph::ReduceFunction::max, {0}, false}, {x});
  const TensorId b =
      graph::add_node(g, "b", graph::Reduce{graph::ReduceFunction::max, {1}, false}, {x});
  g.outputs = {a, b};
  g.output_names = {"a", "b"};
  const Statement s = state(g);
  for (const NodeId node : g.nodes.ids()) {
    for (const RowMeaning& row : *s.operators[s.of_node[node]].rows) {
      CHECK(accepts(g, node, row.configuration, trn1()));
    }
  }
}

TEST_CASE("a cost file of another machine is refused by name") {
  Graph g;
  g.outputs = {graph::add_input(g, "x", ElementType::f32, {6, 8})};
  g.output_names = {"y"};
  CHECK_THROWS_WITH_AS(
      (void)state_problem(g, storage_types(g, Precision::fp32), isa::read_machine("trn2"), costs()),
      doctest::Contains("\"trn1\", not \"trn2\""), Error);
}

TEST_CASE("the printed laid-out graph shows layout, type, mechanism and cycles") {
  Graph g;
  const TensorId x = graph::add_input(g, "x", ElementType::f32, {6, 8});
  const TensorId y = graph::add_node(g, "relu", graph::Map{.function = MapFunction::relu}, {x});
  g.outputs = {y};
  g.output_names = {"y"};
  const Statement s = state(g);
  Random random(1);
  const std::string text = to_text(apply(g, s, random_assignment(s.problem, random)));
  CHECK_MESSAGE(text.find("f32 standard") != std::string::npos, text);
}
