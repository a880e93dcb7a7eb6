// Passes on random graphs: same outputs, no faults, nothing left to do, fewer or as many nodes.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "compiler/graph/evaluate.hpp"
#include "compiler/graph/text.hpp"
#include "compiler/passes/passes.hpp"
#include "tests/support/random_graph.hpp"

namespace systole::passes {
namespace {

using graph::Array;
using graph::Graph;

bool same_values(const Array& a, const Array& b, double tolerance) {
  if (a.type != b.type || a.shape != b.shape) {
    return false;
  }
  double largest = 0.0;
  for (std::int64_t i = 0; i < graph::elements(a.shape); ++i) {
    largest = std::max(largest, std::abs(graph::get(a, i)));
  }
  for (std::int64_t i = 0; i < graph::elements(a.shape); ++i) {
    const double x = graph::get(a, i);
    const double y = graph::get(b, i);
    if (x != y && !(std::isnan(x) && std::isnan(y)) && !(std::abs(x - y) <= tolerance * largest)) {
      return false;
    }
  }
  return true;
}

void check_same(const Graph& before, const Graph& after, std::uint64_t seed, double tolerance) {
  REQUIRE(graph::verify(after).empty());
  REQUIRE(after.output_names == before.output_names);
  REQUIRE(after.inputs.size() == before.inputs.size());
  for (std::size_t i = 0; i < before.inputs.size(); ++i) {
    CHECK(after.tensors[after.inputs[i]].name == before.tensors[before.inputs[i]].name);
  }
  const auto inputs = test::random_inputs(before, seed);
  const std::vector<Array> expected = graph::evaluate(before, inputs);
  const std::vector<Array> got = graph::evaluate(after, inputs);
  REQUIRE(expected.size() == got.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    CHECK_MESSAGE(same_values(expected[i], got[i], tolerance), "output " << i);
  }
}

// Nodes other than reshapes (a gather may become a slice and a reshape).
std::int64_t moving_nodes(const Graph& graph) {
  return std::count_if(graph.nodes.begin(), graph.nodes.end(), [](const graph::Node& node) {
    return !std::holds_alternative<graph::Reshape>(node.op);
  });
}

test::RandomGraphOptions options_for(std::uint64_t seed) {
  test::RandomGraphOptions options{.seed = seed, .nodes = 16};
  if (seed % 3 == 0) {  // chains of movement on tiny shapes
    options.extents = {0, 1, 2, 3};
    options.families = {test::Family::transpose, test::Family::reshape, test::Family::slice,
                        test::Family::expand,    test::Family::pad,     test::Family::concat,
                        test::Family::reduce};
  }
  return options;
}

}  // namespace

TEST_CASE("every pass alone preserves the values of random graphs") {
  for (const Pass& pass : all_passes()) {
    CAPTURE(pass.name);
    const double tolerance = pass.run == fold_scales ? 1e-5 : 0.0;
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
      CAPTURE(seed);
      const Graph before = test::random_graph(options_for(seed));
      Graph after = before;
      pass.run(after, {});
      check_same(before, after, seed, tolerance);
    }
  }
}

TEST_CASE("canonicalize preserves the values of random graphs and leaves nothing to do") {
  std::int64_t before_nodes = 0;
  std::int64_t after_nodes = 0;
  for (std::uint64_t seed = 100; seed <= 250; ++seed) {
    CAPTURE(seed);
    const Graph before = test::random_graph(options_for(seed));
    const Graph after = canonicalize(before, {.verify_each = true});
    check_same(before, after, seed, 1e-6);
    before_nodes += static_cast<std::int64_t>(before.nodes.size());
    after_nodes += static_cast<std::int64_t>(after.nodes.size());
    CHECK(moving_nodes(after) <= moving_nodes(before));
    const graph::PrintOptions everything{.inline_limit = graph::print_everything, .note = {}};
    CHECK(graph::print(canonicalize(after), everything) == graph::print(after, everything));
  }
  CHECK(after_nodes < before_nodes);
}

TEST_CASE("canonicalize with scales folded preserves values within rounding") {
  for (std::uint64_t seed = 300; seed <= 360; ++seed) {
    CAPTURE(seed);
    const Graph before = test::random_graph(
        {.seed = seed,
         .nodes = 16,
         .families = {test::Family::contraction, test::Family::convolution, test::Family::binary}});
    check_same(before, canonicalize(before, {.fold_scales = true, .verify_each = true}), seed,
               1e-4);
  }
}

}  // namespace systole::passes
