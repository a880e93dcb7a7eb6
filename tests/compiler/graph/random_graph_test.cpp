#include <doctest/doctest.h>

#include <set>

#include "compiler/graph/evaluate.hpp"
#include "tests/support/random_graph.hpp"

namespace systole::test {

TEST_CASE("random graphs are free of faults, evaluate to finite values and cover every operator") {
  std::set<std::string> seen;
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    const graph::Graph g = random_graph({.seed = seed});
    CAPTURE(seed);
    for (const std::string& fault : graph::verify(g)) {
      FAIL_CHECK(fault);
    }
    CHECK(g.nodes.size() >= 6);
    for (const graph::Node& node : g.nodes) {
      seen.insert(std::string(graph::name_of(node.op)));
    }
    for (const graph::Array& output : graph::evaluate(g, random_inputs(g, seed))) {
      bool finite = true;
      for (std::int64_t i = 0; i < graph::elements(output.shape); ++i) {
        finite = finite && std::abs(graph::get(output, i)) < 1e30;
      }
      CHECK(finite);
    }
  }
  for (const char* name : {"contraction", "convolution", "reduce", "arg_reduce", "window",
                           "transpose", "reshape", "slice", "concat", "pad", "expand", "gather",
                           "gather_elements", "scatter", "add", "select", "cast", "exp"}) {
    CHECK_MESSAGE(seen.contains(name), name);
  }
}

TEST_CASE("random graphs with empty tensors and small ranks are free of faults") {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const graph::Graph g = random_graph({.seed = seed, .extents = {0, 1, 2, 3}, .max_rank = 3});
    CAPTURE(seed);
    CHECK(graph::verify(g).empty());
    CHECK(graph::evaluate(g, random_inputs(g, seed)).size() == g.outputs.size());
  }
}

TEST_CASE("the same options give the same random graph") {
  const graph::Graph a = random_graph({.seed = 7});
  const graph::Graph b = random_graph({.seed = 7});
  REQUIRE(a.nodes.size() == b.nodes.size());
  for (const graph::NodeId id : a.nodes.ids()) {
    CHECK(a.nodes[id].name == b.nodes[id].name);
    CHECK(a.nodes[id].op == b.nodes[id].op);
  }
  CHECK(random_inputs(a, 3) == random_inputs(b, 3));
}

}  // namespace systole::test
