#include "compiler/graph/evaluate.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "tests/compiler/graph/naive.hpp"

namespace systole::graph::naive {
namespace {

using Inputs = std::map<std::string, Array>;

}  // namespace

TEST_CASE(
    "a graph with shared operands, repeated outputs and outputs that are inputs or constants") {
  Graph g;
  const TensorId x = add_input(g, "x", ElementType::f32, {2});
  const TensorId c = add_constant(g, "c", real({2}, {10, 20}));
  const TensorId y = add_node(g, "y", Map{MapFunction::add}, {x, c});
  const TensorId z = add_node(g, "z", Map{MapFunction::multiply}, {y, y});
  const TensorId unused = add_node(g, "u", Map{MapFunction::exp}, {z});
  (void)unused;
  g.outputs = {z, x, c, y, z};
  g.output_names = {"a", "b", "c", "d", "e"};
  const std::vector<Array> out = evaluate(g, Inputs{{"x", real({2}, {1, 2})}});
  REQUIRE(out.size() == 5);
  CHECK(values(out[0]) == Values{121, 484});
  CHECK(values(out[1]) == Values{1, 2});
  CHECK(values(out[2]) == Values{10, 20});
  CHECK(values(out[3]) == Values{11, 22});
  CHECK(out[4] == out[0]);
}

TEST_CASE("missing and unfitting inputs and weights without values are the user's mistakes") {
  Graph g;
  const TensorId x = add_input(g, "x", ElementType::f32, {2});
  const TensorId w = add_weight(g, "w", ElementType::f32, {2});
  g.outputs = {add_node(g, "y", Map{MapFunction::add}, {x, w})};
  g.output_names = {"y"};
  CHECK_THROWS_WITH_AS(evaluate(g, Inputs{}), "x: no value for this input of type f32[2]; give one",
                       Error);
  CHECK_THROWS_WITH_AS(evaluate(g, Inputs{{"x", real({3}, {1, 2, 3})}}),
                       "x: the value given is f32[3], the input is f32[2]; give a value of the "
                       "input's type and shape",
                       Error);
  CHECK_THROWS_AS(evaluate(g, Inputs{{"x", whole({2}, {1, 2})}}), Error);
  CHECK_THROWS_WITH_AS(
      evaluate(g, Inputs{{"x", real({2}, {1, 2})}}),
      "w: this weight has no values; use random weights, or a model file that holds them", Error);
}

TEST_CASE("random values depend on seed, name, shape and type only") {
  Tensor t;
  t.name = std::string("w");
  t.shape = {4, 100};
  const Array a = random_array(t, 1, false);
  CHECK(random_array(t, 1, false) == a);
  CHECK(random_array(t, 2, false) != a);
  t.name = std::string("v");
  CHECK(random_array(t, 1, false).data != a.data);
  t.name = std::string("w");
  t.shape = {100, 4};
  CHECK(random_array(t, 1, false).data != a.data);
}

TEST_CASE(
    "random weights keep magnitudes, vectors stay away from zero, integers are valid indices") {
  Tensor t;
  t.name = std::string("w");
  t.shape = {64, 1000};
  double squares = 0.0;
  for (const double value : values(random_array(t, 1, true))) {
    squares += value * value;
  }
  CHECK(squares / 64000 == doctest::Approx(1.0 / 64).epsilon(0.05));
  t.shape = {1, 500, 1};
  for (const double value : values(random_array(t, 1, true))) {
    CHECK((value >= 0.5 && value < 1.5));
  }
  t.type = ElementType::i64;
  for (const double value : values(random_array(t, 1, false))) {
    CHECK((value == 0 || value == 1));
  }
  t.shape = {0, 3, 3};
  CHECK(random_array(t, 1, true).data.empty());
}

}  // namespace systole::graph::naive
