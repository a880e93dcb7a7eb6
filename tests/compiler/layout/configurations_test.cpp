// What each operator family accepts, against the table in configurations.hpp, and that enumeration
// and acceptance agree.
#include "compiler/layout/configurations.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "compiler/layout/domains.hpp"
#include "tests/support/random_graph.hpp"

using namespace systole;
using namespace systole::layout;
using graph::ElementType;
using graph::Graph;
using graph::NodeId;
using graph::Shape;
using graph::TensorId;

namespace {

Layout lay(const std::string& text) {
  const std::optional<Layout> layout = parse_layout(text);
  REQUIRE_MESSAGE(layout, text);
  return *layout;
}

TensorId input(Graph& graph, const Shape& shape, ElementType type = ElementType::f32) {
  return graph::add_input(graph, "x", type, shape);
}

bool accepted(const Graph& graph, const std::vector<std::string>& inputs, const std::string& output,
              Mechanism mechanism, const isa::Machine& machine = {}) {
  Configuration configuration;
  for (const std::string& text : inputs) {
    configuration.inputs.push_back(lay(text));
  }
  configuration.output = lay(output);
  configuration.mechanism = mechanism;
  return accepts(graph, NodeId(graph.nodes.size() - 1), configuration, machine);
}

std::vector<Layout> all_layouts(const Shape& shape) {
  std::set<Layout> layouts;
  std::vector<int> order = row_major(static_cast<int>(shape.size()), 0).order;
  do {
    for (int split = 0; split <= static_cast<int>(shape.size()); ++split) {
      layouts.insert(canonical({order, split, 0}, shape));
    }
  } while (std::ranges::next_permutation(order).found);
  return {layouts.begin(), layouts.end()};
}

}  // namespace

TEST_CASE("a map has every operand in its output's order, broadcast axes left out") {
  Graph g;
  const TensorId a = input(g, {2, 3, 4});
  const TensorId b = input(g, {3, 1});
  graph::add_node(g, "add", graph::Map{.function = graph::MapFunction::add}, {a, b});
  CHECK(accepted(g, {"(1|0 2)", "(0|1)"}, "(1|0 2)", Mechanism::standard));
  CHECK(accepted(g, {"(2|0 1)", "(|0 1)"}, "(2|0 1)", Mechanism::standard));
  CHECK(accepted(g, {"(1 0|2)", "(0|1)"}, "(1 0|2)", Mechanism::standard));
  CHECK_FALSE(accepted(g, {"(1|2 0)", "(0|1)"}, "(1|0 2)", Mechanism::standard));
  CHECK_FALSE(accepted(g, {"(2|0 1)", "(0|1)"}, "(2|0 1)", Mechanism::standard));
  CHECK_FALSE(accepted(g, {"(1|0 2)", "(0|1)"}, "(1|0 2)", Mechanism::dma));
}

TEST_CASE("equal extents do not confuse the axes of a broadcast operand") {
  Graph g;
  const TensorId x = input(g, {4, 4, 4});
  const TensorId b = input(g, {4, 1});  // belongs to axis 1, though axis 2 is as long
  graph::add_node(g, "add", graph::Map{.function = graph::MapFunction::add}, {x, b});
  CHECK(accepted(g, {"(1|0 2)", "(0|1)"}, "(1|0 2)", Mechanism::standard));
  CHECK_FALSE(accepted(g, {"(2|0 1)", "(0|1)"}, "(2|0 1)", Mechanism::standard));
}

TEST_CASE("a reduction works inside partitions, sums also across them") {
  Graph g;
  const TensorId x = input(g, {5, 6, 7});
  graph::Reduce sum{graph::ReduceFunction::sum, {1}, false};
  graph::add_node(g, "sum", sum, {x});
  CHECK(accepted(g, {"(0|1 2)"}, "(0|1)", Mechanism::standard));
  CHECK(accepted(g, {"(2|0 1)"}, "(1|0)", Mechanism::standard));
  CHECK(accepted(g, {"(2|1 0)"}, "(1|0)", Mechanism::standard));
  CHECK_FALSE(accepted(g, {"(2|0 1)"}, "(0|1)", Mechanism::standard));
  CHECK_FALSE(accepted(g, {"(1|0 2)"}, "(|0 1)", Mechanism::standard));
  CHECK(accepted(g, {"(1|0 2)"}, "(|0 1)", Mechanism::ones_matmul));
  CHECK(accepted(g, {"(1|2 0)"}, "(|1 0)", Mechanism::ones_matmul));
  CHECK(accepted(g, {"(1|0 2)"}, "(1|0)", Mechanism::ones_matmul));
  CHECK(accepted(g, {"(1|0 2)"}, "(0|1)", Mechanism::ones_matmul));
  CHECK_FALSE(accepted(g, {"(1|0 2)"}, "(|1 0)", Mechanism::ones_matmul));
  CHECK_FALSE(accepted(g, {"(1|0 2)"}, "(0 1|)", Mechanism::ones_matmul));
  CHECK_FALSE(accepted(g, {"(0|1 2)"}, "(0|1)", Mechanism::ones_matmul));
  CHECK_FALSE(accepted(g, {"(1 0|2)"}, "(0|1)", Mechanism::ones_matmul));
  sum.function = graph::ReduceFunction::max;
  graph::add_node(g, "max", sum, {x});
  CHECK_FALSE(accepted(g, {"(1|0 2)"}, "(|0 1)", Mechanism::ones_matmul));
}

TEST_CASE("a contraction has its sum on the partitions of both operands") {
  Graph g;  // [m, k] x [k, n]
  const TensorId a = input(g, {32, 48});
  const TensorId b = input(g, {48, 20});
  graph::add_node(g, "mm", graph::Contraction{{0, 1}, {1, 2}, {0, 2}}, {a, b});
  CHECK(accepted(g, {"(1|0)", "(0|1)"}, "(0|1)", Mechanism::lhs_stationary));
  CHECK(accepted(g, {"(1|0)", "(0|1)"}, "(1|0)", Mechanism::rhs_stationary));
  CHECK_FALSE(accepted(g, {"(1|0)", "(0|1)"}, "(1|0)", Mechanism::lhs_stationary));
  CHECK_FALSE(accepted(g, {"(0|1)", "(0|1)"}, "(0|1)", Mechanism::lhs_stationary));
  CHECK_FALSE(accepted(g, {"(1|0)", "(1|0)"}, "(0|1)", Mechanism::lhs_stationary));
  CHECK_FALSE(accepted(g, {"(1|0)", "(0|1)"}, "(|0 1)", Mechanism::lhs_stationary));
}

TEST_CASE("a batch may precede the sum when the tensor engine can start at each of its members") {
  for (const std::int64_t d : {12, 64}) {
    Graph g;  // q [s, h, d] x k [t, h, d] -> [h, s, t]
    const TensorId q = input(g, {16, 4, d});
    const TensorId k = input(g, {16, 4, d});
    graph::add_node(g, "qk", graph::Contraction{{1, 0, 3}, {2, 0, 3}, {0, 1, 2}}, {q, k});
    CHECK(accepted(g, {"(2|1 0)", "(2|0 1)"}, "(1|0 2)", Mechanism::lhs_stationary));
    CHECK(accepted(g, {"(1 2|0)", "(1 2|0)"}, "(1|0 2)", Mechanism::lhs_stationary) == (d == 64));
    CHECK_FALSE(accepted(g, {"(2 1|0)", "(2 1|0)"}, "(1|0 2)", Mechanism::lhs_stationary));
    CHECK_FALSE(accepted(g, {"(1 2|0)", "(2|0 1)"}, "(1|0 2)", Mechanism::lhs_stationary));
    CHECK_FALSE(accepted(g, {"(2|0 1)", "(2|0 1)"}, "(0 1|2)", Mechanism::lhs_stationary));
    isa::Machine finer;
    finer.row_tile_min = 4;
    CHECK(accepted(g, {"(1 2|0)", "(1 2|0)"}, "(0 1|2)", Mechanism::lhs_stationary, finer));
  }
}

TEST_CASE("several contracted axes lie on the partitions one at a time or all together") {
  Graph g;  // [s, h, d] x [h, d, n]
  const TensorId a = input(g, {16, 4, 12});
  const TensorId w = input(g, {4, 12, 48});
  graph::add_node(g, "proj", graph::Contraction{{0, 1, 2}, {1, 2, 3}, {0, 3}}, {a, w});
  CHECK(accepted(g, {"(1 2|0)", "(0 1|2)"}, "(1|0)", Mechanism::rhs_stationary));
  CHECK(accepted(g, {"(2 1|0)", "(1 0|2)"}, "(1|0)", Mechanism::rhs_stationary));
  CHECK(accepted(g, {"(2|0 1)", "(1|0 2)"}, "(1|0)", Mechanism::rhs_stationary));
  CHECK_FALSE(accepted(g, {"(2 1|0)", "(0 1|2)"}, "(1|0)", Mechanism::rhs_stationary));
}

TEST_CASE("a convolution has channels on the partitions") {
  Graph g;
  const TensorId x = input(g, {2, 8, 6, 5});
  const TensorId w = graph::add_weight(g, "w", ElementType::f32, {16, 8, 3, 3});
  const graph::Convolution conv{{1, 1}, {1, 1}, {1, 1}, {1, 1}, 1};
  graph::add_node(g, "conv", conv, {x, w});
  CHECK(accepted(g, {"(1|0 2 3)", "(1|2 3 0)"}, "(1|0 2 3)", Mechanism::rhs_stationary));
  CHECK(accepted(g, {"(1|3 2 0)", "(1|0 2 3)"}, "(1|2 0 3)", Mechanism::rhs_stationary));
  CHECK(accepted(g, {"(1|0 2 3)", "(1|2 3 0)"}, "(2|0 1 3)", Mechanism::lhs_stationary));
  CHECK(accepted(g, {"(1|0 2 3)", "(1|2 3 0)"}, "(0|1 2 3)", Mechanism::lhs_stationary));
  CHECK_FALSE(accepted(g, {"(1|0 2 3)", "(1|2 3 0)"}, "(|0 1 2 3)", Mechanism::lhs_stationary));
  CHECK_FALSE(accepted(g, {"(1|0 2 3)", "(1|2 3 0)"}, "(0 1|2 3)", Mechanism::rhs_stationary));
  CHECK_FALSE(accepted(g, {"(2|0 1 3)", "(1|2 3 0)"}, "(1|0 2 3)", Mechanism::rhs_stationary));
  CHECK_FALSE(accepted(g, {"(1|0 2 3)", "(0|1 2 3)"}, "(1|0 2 3)", Mechanism::rhs_stationary));
}

TEST_CASE("a depthwise convolution may work channel by channel") {
  Graph g;
  const TensorId x = input(g, {1, 8, 6, 5});
  const TensorId w = graph::add_weight(g, "w", ElementType::f32, {16, 1, 3, 3});
  graph::add_node(g, "conv", graph::Convolution{{1, 1}, {1, 1}, {1, 1}, {1, 1}, 8}, {x, w});
  CHECK(accepted(g, {"(1|2 3 0)", "(0|2 3 1)"}, "(1|2 3 0)", Mechanism::standard));
  CHECK(accepted(g, {"(1|2 3 0)", "(|2 3 0 1)"}, "(1|2 3 0)", Mechanism::rhs_stationary));
  CHECK_FALSE(accepted(g, {"(1|2 3 0)", "(0|2 3 1)"}, "(2|1 3 0)", Mechanism::lhs_stationary));
}

TEST_CASE("windows keep their spatial axes inside the partitions") {
  Graph g;
  const TensorId x = input(g, {2, 8, 6, 6});
  graph::add_node(g, "pool",
                  graph::Window{graph::ReduceFunction::max, {2, 2}, {2, 2}, {0, 0}, {0, 0}, {1, 1}},
                  {x});
  CHECK(accepted(g, {"(1|0 2 3)"}, "(1|0 2 3)", Mechanism::standard));
  CHECK(accepted(g, {"(0 1|3 2)"}, "(0 1|3 2)", Mechanism::standard));
  CHECK_FALSE(accepted(g, {"(1|0 2 3)"}, "(1|2 0 3)", Mechanism::standard));
  CHECK_FALSE(accepted(g, {"(2|0 1 3)"}, "(2|0 1 3)", Mechanism::standard));
}

TEST_CASE(
    "a transpose or a reshape of the same bytes is an alias, a reshape of others goes by DMA") {
  Graph g;
  const TensorId x = input(g, {4, 6, 5});
  graph::add_node(g, "t", graph::Transpose{{1, 2, 0}}, {x});
  CHECK(accepted(g, {"(1|0 2)"}, "(0|2 1)", Mechanism::alias));
  CHECK_FALSE(accepted(g, {"(1|0 2)"}, "(0|1 2)", Mechanism::alias));
  CHECK_FALSE(accepted(g, {"(1|0 2)"}, "(0|2 1)", Mechanism::dma));
  graph::add_reshape(g, "r", x, {24, 5});
  CHECK(accepted(g, {"(2|0 1)"}, "(1|0)", Mechanism::alias));
  CHECK(accepted(g, {"(0 1|2)"}, "(0|1)", Mechanism::alias));
  CHECK_FALSE(accepted(g, {"(0|1 2)"}, "(0|1)", Mechanism::alias));
  CHECK(accepted(g, {"(0|1 2)"}, "(0|1)", Mechanism::dma));
  CHECK_FALSE(accepted(g, {"(1|0 2)"}, "(0|1)", Mechanism::dma));
}

TEST_CASE("a slice down to one element agrees on the axes that are left") {
  Graph g;
  const TensorId x = input(g, {4, 6});
  graph::add_slice(g, "s", x, {2, 0}, {1, 2}, {1, 3});
  CHECK(accepted(g, {"(0|1)"}, "(|1 0)", Mechanism::standard));
  CHECK(accepted(g, {"(1|0)"}, "(1|0)", Mechanism::standard));
  CHECK(accepted(g, {"(0 1|)"}, "(1|0)", Mechanism::standard));
  CHECK_FALSE(accepted(g, {"(1|0)"}, "(|1 0)", Mechanism::standard));
}

TEST_CASE("gathers move rows of a table that lie across the partitions") {
  Graph g;
  const TensorId data = input(g, {7, 30, 5});
  const TensorId indices = input(g, {2, 3}, ElementType::i64);
  graph::add_node(g, "g", graph::Gather{1}, {data, indices});  // [7, 2, 3, 5]
  CHECK(accepted(g, {"(1|0 2)", "(0 1|)"}, "(1 2|0 3)", Mechanism::dma));
  CHECK(accepted(g, {"(1|2 0)", "(0 1|)"}, "(1 2|3 0)", Mechanism::dma));
  CHECK_FALSE(accepted(g, {"(1|2 0)", "(0 1|)"}, "(1 2|0 3)", Mechanism::dma));
  CHECK_FALSE(accepted(g, {"(0|1 2)", "(0 1|)"}, "(1 2|0 3)", Mechanism::dma));
  CHECK_FALSE(accepted(g, {"(1|0 2)", "(0|1)"}, "(1 2|0 3)", Mechanism::dma));
  CHECK_FALSE(accepted(g, {"(1|0 2)", "(1 0|)"}, "(2 1|0 3)", Mechanism::dma));
}

TEST_CASE("a scatter has one form only") {
  Graph g;
  const TensorId data = input(g, {6, 5, 4});
  const TensorId indices = input(g, {3, 2}, ElementType::i64);
  const TensorId updates = input(g, {3, 4});
  graph::add_node(g, "s", graph::ScatterND{}, {data, indices, updates});
  CHECK(accepted(g, {"(0 1|2)", "(0|1)", "(0|1)"}, "(0 1|2)", Mechanism::dma));
  CHECK_FALSE(accepted(g, {"(0|1 2)", "(0|1)", "(0|1)"}, "(0|1 2)", Mechanism::dma));
  CHECK_FALSE(accepted(g, {"(0 1|2)", "(0|1)", "(1|0)"}, "(0 1|2)", Mechanism::dma));
}

TEST_CASE("conversions: inside partitions, across disjoint ones, or by DMA") {
  Graph g;
  const TensorId x = input(g, {4, 6, 5});
  graph::add_node(g, "c", graph::Convert{}, {x});
  CHECK(accepted(g, {"(0|1 2)"}, "(0|2 1)", Mechanism::reorder));
  CHECK_FALSE(accepted(g, {"(0|1 2)"}, "(1|0 2)", Mechanism::reorder));
  CHECK(accepted(g, {"(0|1 2)"}, "(1|0 2)", Mechanism::array_transpose));
  CHECK_FALSE(accepted(g, {"(0 1|2)"}, "(1|0 2)", Mechanism::array_transpose));
  CHECK(accepted(g, {"(0 1|2)"}, "(1|0 2)", Mechanism::dma));
  CHECK_FALSE(accepted(g, {"(0 1|2)"}, "(1|0 2)", Mechanism::reorder));
  CHECK(accepted(g, {"(0|1 2)"}, "(1|0 2)", Mechanism::vector_transpose));
  CHECK(accepted(g, {"(0 1|2)"}, "(2|0 1)", Mechanism::vector_transpose));
  CHECK_FALSE(accepted(g, {"(0 1|2)"}, "(1|0 2)", Mechanism::vector_transpose));
  CHECK_FALSE(accepted(g, {"(0|1 2)"}, "(0|2 1)", Mechanism::vector_transpose));
}

TEST_CASE("conversions by DMA transpose: where the machine has it, of one type of 2 bytes") {
  Graph g;
  const TensorId x = input(g, {4, 6, 5});
  const TensorId y = graph::add_node(g, "c", graph::Convert{}, {x});
  isa::Machine with;
  with.dma_transpose = true;
  const auto turns = [&](const char* from, const char* to, const isa::Machine& machine) {
    return accepted(g, {from}, to, Mechanism::dma_transpose, machine);
  };
  CHECK(turns("(0|1 2)", "(2|1 0)", with));
  CHECK_FALSE(turns("(0|1 2)", "(2|1 0)", isa::Machine{}));
  CHECK(turns("(1 0|2)", "(1 2|0)", with));  // an axis across both
  CHECK_FALSE(turns("(0|1 2)", "(1|2 0)", with));
  CHECK_FALSE(turns("(0|1 2)", "(2|0 1)", with));
  LaidGraph laid;
  g.outputs = {y};
  g.output_names = {"y"};
  laid.graph = g;
  laid.layouts.resize(2);
  laid.layouts[x] = lay("(0 1|2)");
  laid.layouts[y] = lay("(0 1|2)");
  laid.storage.resize(2, isa::DType::bf16);
  laid.mechanisms.resize(1, Mechanism::dma_transpose);
  laid.predicted.resize(1);
  const auto refuses = [&laid, &with](const std::string& text) {
    return std::ranges::any_of(verify(laid, with), [&text](const std::string& fault) {
      return fault.find(text) != std::string::npos;
    });
  };
  CHECK_FALSE(refuses("2 bytes"));
  CHECK(refuses("cannot be computed as"));
  laid.storage[x] = isa::DType::f32;
  CHECK(refuses("DMA transposes one type of 2 bytes, not f32 to bf16"));
  laid.storage[y] = isa::DType::f32;
  CHECK(refuses("DMA transposes one type of 2 bytes, not f32 to f32"));
}

TEST_CASE("partition axes come and go inside the partitions where the rest fills whole blocks") {
  Graph g;
  const TensorId x = input(g, {4, 256, 5});
  graph::add_node(g, "c", graph::Convert{}, {x});
  CHECK(accepted(g, {"(0 1|2)"}, "(1|0 2)", Mechanism::reorder));
  CHECK(accepted(g, {"(1|0 2)"}, "(2 1|0)", Mechanism::reorder));
  CHECK_FALSE(accepted(g, {"(1 0|2)"}, "(1|0 2)", Mechanism::reorder));
  CHECK_FALSE(accepted(g, {"(0 1|2)"}, "(0|1 2)", Mechanism::reorder));
}

TEST_CASE(
    "constants take what the configuration asks for, packed with the result's axes innermost") {
  Graph g;
  const TensorId x = input(g, {1, 8, 6, 5});
  const TensorId w = graph::add_weight(g, "w", ElementType::f32, {16, 8, 3, 3});
  graph::add_node(g, "conv", graph::Convolution{{1, 1}, {1, 1}, {1, 1}, {1, 1}, 1}, {x, w});
  Domains domain(g.tensors.size());
  domain[x] = {lay("(1|2 3 0)")};
  domain[TensorId(2)] = {lay("(1|2 3 0)"), lay("(2|1 3 0)")};
  const auto rows = configurations(g, NodeId(0), domain, {});
  REQUIRE(rows.size() == 2);
  CHECK(rows[0] == Configuration{{lay("(1|2 3 0)"), lay("(1|2 3 0)")},
                                 lay("(1|2 3 0)"),
                                 Mechanism::rhs_stationary});
  CHECK(rows[1] == Configuration{{lay("(1|2 3 0)"), lay("(1|2 3 0)")},
                                 lay("(2|1 3 0)"),
                                 Mechanism::lhs_stationary});
}

TEST_CASE("enumeration lists exactly what is accepted, over all layouts of small operators") {
  const isa::Machine machine;
  std::size_t rows_seen = 0;
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    test::RandomGraphOptions options;
    options.seed = seed;
    options.nodes = 4;
    options.max_rank = 3;
    options.extents = {1, 2, 3, 64};
    const Graph g = test::random_graph(options);
    Domains everything(g.tensors.size());
    for (const TensorId t : g.tensors.ids()) {
      everything[t] = all_layouts(g.tensors[t].shape);
    }
    for (const NodeId node : g.nodes.ids()) {
      std::vector<TensorId> tensors = g.nodes[node].inputs;
      tensors.push_back(g.nodes[node].output);
      std::size_t tuples = 1;
      for (const TensorId t : tensors) {
        tuples *= everything[t].size();
      }
      const bool constants = std::ranges::any_of(g.nodes[node].inputs, [&](TensorId t) {
        return g.tensors[t].kind == graph::TensorKind::constant;
      });
      if (tuples > 20000 || constants) {
        continue;
      }
      std::set<Configuration> expected;
      for (std::size_t tuple = 0; tuple < tuples; ++tuple) {
        Configuration c;
        std::size_t rest = tuple;
        for (const TensorId t : tensors) {
          c.inputs.push_back(everything[t][rest % everything[t].size()]);
          rest /= everything[t].size();
        }
        c.output = c.inputs.back();
        c.inputs.pop_back();
        for (int m = 0; m <= static_cast<int>(Mechanism::vector_transpose); ++m) {
          c.mechanism = static_cast<Mechanism>(m);
          if (accepts(g, node, c, machine)) {
            expected.insert(c);
          }
        }
      }
      const auto rows = configurations(g, node, everything, machine);
      CHECK(std::set<Configuration>(rows.begin(), rows.end()) == expected);
      CHECK(rows.size() == expected.size());
      rows_seen += rows.size();
    }
  }
  CHECK(rows_seen > 3000);
}

TEST_CASE("every operator has an accepted row in every generated domain, constants included") {
  for (std::uint64_t seed = 1; seed <= 120; ++seed) {
    test::RandomGraphOptions options;
    options.seed = seed;
    options.nodes = 12;
    if (seed % 4 == 0) {
      options.extents = {0, 1, 2, 3, 129};
    }
    const Graph g = test::random_graph(options);
    for (const DomainKind kind : {DomainKind::full, DomainKind::partition}) {
      for (const std::size_t cap : {std::size_t{2}, std::size_t{16}}) {
        const Domains domain = domains(g, {}, {kind, cap});
        for (const NodeId node : g.nodes.ids()) {
          const auto rows = configurations(g, node, domain, {});
          REQUIRE_MESSAGE(!rows.empty(), "seed " << seed << " " << g.nodes[node].name);
          for (const Configuration& row : rows) {
            REQUIRE_MESSAGE(accepts(g, node, row, {}),
                            "seed " << seed << " " << g.nodes[node].name);
          }
        }
      }
    }
  }
}
