#include "compiler/layout/domains.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "compiler/layout/configurations.hpp"
#include "tests/support/random_graph.hpp"

using namespace systole;
using namespace systole::layout;
using graph::ElementType;
using graph::Graph;
using graph::TensorId;

namespace {

std::vector<std::string> texts(const std::vector<Layout>& layouts) {
  std::vector<std::string> result;
  for (const Layout& layout : layouts) {
    result.push_back(to_string(layout));
  }
  return result;
}

bool contains(const std::vector<Layout>& layouts, const std::string& text) {
  return std::ranges::find(layouts, *parse_layout(text)) != layouts.end();
}

}  // namespace

TEST_CASE("the image of a convolution may have any of its moving axes on the partitions") {
  Graph g;
  const TensorId x = graph::add_input(g, "x", ElementType::f32, {1, 8, 6, 5});
  const TensorId w = graph::add_weight(g, "w", ElementType::f32, {16, 8, 3, 3});
  const TensorId y =
      graph::add_node(g, "conv", graph::Convolution{{1, 1}, {1, 1}, {1, 1}, {1, 1}, 1}, {x, w});
  g.outputs = {y};
  const Domains d = domains(g, {});
  CHECK(texts(d[x]) == std::vector<std::string>{"(1|2 3 0)", "(2|1 3 0)", "(3|1 2 0)"});
  CHECK(texts(d[y]) == std::vector<std::string>{"(1|2 3 0)", "(2|1 3 0)", "(3|1 2 0)"});
  CHECK(d[w].empty());
}

TEST_CASE("heads x head_dim becomes a group of partition axes on both sides of a reshape") {
  Graph g;
  const TensorId x = graph::add_input(g, "x", ElementType::f32, {16, 768});
  const TensorId y = graph::add_reshape(g, "split", x, {16, 12, 64});
  const TensorId z = graph::add_node(g, "t", graph::Transpose{{1, 0, 2}}, {y});
  g.outputs = {z};
  const Domains d = domains(g, {});
  CHECK(contains(d[x], "(1|0)"));
  CHECK(contains(d[y], "(1 2|0)"));
  CHECK(contains(d[z], "(0 2|1)"));
}

TEST_CASE("the order that a neighbour of a transpose has is offered on the other side") {
  Graph g;
  const TensorId x = graph::add_input(g, "x", ElementType::f32, {4, 5, 6});
  const TensorId y = graph::add_node(g, "t", graph::Transpose{{1, 2, 0}}, {x});
  g.outputs = {y};
  const Domains d = domains(g, {});
  // y (0|1 2) is x's axes (1|2 0); x (1|0 2) is y (0|2 1).
  CHECK(contains(d[x], "(1|2 0)"));
  CHECK(contains(d[y], "(0|2 1)"));
}

TEST_CASE(
    "the partition domain has one layout per partition axis, with one free order across a "
    "transpose") {
  Graph g;
  const TensorId x = graph::add_input(g, "x", ElementType::f32, {4, 5, 6});
  const TensorId y = graph::add_node(g, "t", graph::Transpose{{1, 2, 0}}, {x});
  g.outputs = {y};
  const Domains d = domains(g, {}, {DomainKind::partition, 16});
  CHECK(texts(d[x]).size() <= 5);  // three, and what keeps the transpose and the boundary feasible
  std::size_t aliases = 0;
  for (const Configuration& c : configurations(g, graph::NodeId(0), d, {})) {
    aliases += c.mechanism == Mechanism::alias ? 1U : 0U;
  }
  CHECK(aliases >= 3);
}

TEST_CASE("domains are canonical, distinct, capped and the same every time") {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    test::RandomGraphOptions options;
    options.seed = seed;
    options.nodes = 25;
    const Graph g = test::random_graph(options);
    const Domains d = domains(g, {});
    for (const TensorId t : g.tensors.ids()) {
      const bool constant = g.tensors[t].kind == graph::TensorKind::constant;
      REQUIRE(d[t].empty() == constant);
      for (std::size_t i = 0; i < d[t].size(); ++i) {
        REQUIRE(canonical(d[t][i], g.tensors[t].shape) == d[t][i]);
        REQUIRE(std::count(d[t].begin(), d[t].end(), d[t][i]) == 1);
      }
      REQUIRE(d[t].size() <= 16 + 12);
    }
    REQUIRE(d == domains(g, {}));
  }
}

TEST_CASE("boundaries have a row-major layout") {
  for (std::uint64_t seed = 100; seed <= 140; ++seed) {
    test::RandomGraphOptions options;
    options.seed = seed;
    const Graph g = test::random_graph(options);
    const Domains d = domains(g, {}, {DomainKind::full, 1});
    for (const auto* boundary : {&g.inputs, &g.outputs}) {
      for (const TensorId t : *boundary) {
        REQUIRE((d[t].empty() || std::ranges::any_of(d[t], [&](const Layout& layout) {
                   return identity_order(layout, g.tensors[t].shape);
                 })));
      }
    }
  }
}
