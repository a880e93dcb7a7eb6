#include <doctest/doctest.h>

#include "compiler/graph/facts.hpp"
#include "tests/compiler/graph/naive.hpp"

namespace systole::graph {
namespace {

Graph chain() {
  Graph g;
  const TensorId x = add_input(g, "x", ElementType::f32, {2, 3});
  const TensorId y = add_node(g, "n", Map{MapFunction::add}, {x, x});
  g.outputs = {add_node(g, "n", Map{MapFunction::relu}, {y})};
  g.output_names = {"y"};
  return g;
}

bool reports(const Graph& g, const std::string& part) {
  for (const std::string& fault : verify(g)) {
    if (fault.find(part) != std::string::npos) {
      return true;
    }
  }
  return false;
}

}  // namespace

TEST_CASE("names are made unique and origins are kept") {
  Graph g = chain();
  CHECK(g.nodes[NodeId(0)].name == "n");
  CHECK(g.nodes[NodeId(1)].name == "n.1");
  CHECK(g.nodes[NodeId(1)].origin == "n");
  CHECK(g.tensors[TensorId(2)].name == "n.1");
  add_input(g, "n.2", ElementType::f32, {});
  CHECK(g.tensors[add_input(g, "n", ElementType::f32, {})].name == "n.3");
  rename(g, TensorId(1), "x");
  CHECK(g.tensors[TensorId(1)].name == "x.1");
  rename(g, TensorId(1), "x.1");
  CHECK(g.tensors[TensorId(1)].name == "x.1");
  const TensorId unnamed = add_node(g, "", Map{MapFunction::exp}, {TensorId(0)});
  CHECK(g.tensors[unnamed].name == "exp");
  CHECK(verify(g).empty());
}

TEST_CASE("uses list every argument in node order") {
  const auto found = uses(chain());
  CHECK(found[TensorId(0)] == std::vector<Use>{{NodeId(0), 0}, {NodeId(0), 1}});
  CHECK(found[TensorId(1)] == std::vector<Use>{{NodeId(1), 0}});
  CHECK(found[TensorId(2)].empty());
}

TEST_CASE("impossible shapes are refused when a tensor is added") {
  Graph g;
  CHECK_THROWS_AS(add_input(g, "x", ElementType::f32, {-1}), Error);
  const TensorId x = add_input(g, "x", ElementType::f32, {std::int64_t{1} << 31, 1});
  const TensorId y = add_input(g, "y", ElementType::f32, {1, std::int64_t{1} << 32});
  CHECK_THROWS_WITH_AS(add_node(g, "sum", Map{MapFunction::add}, {x, y}),
                       "sum: add gives shape [2147483648,4294967296], which has too many elements; "
                       "use smaller extents",
                       Error);
}

TEST_CASE("verify reports every kind of structural fault") {
  CHECK(verify(chain()).empty());
  Graph g = chain();
  g.tensors[TensorId(2)].shape = {3, 2};
  CHECK(reports(g, "output n.1 is f32[3,2], inferred f32[2,3]"));
  g = chain();
  g.nodes[NodeId(0)].inputs[1] = TensorId(9);
  CHECK(reports(g, "an operand does not exist"));
  g = chain();
  std::swap(g.nodes[NodeId(0)], g.nodes[NodeId(1)]);
  CHECK(reports(g, "is made later"));
  g = chain();
  g.nodes[NodeId(1)].name = std::string("n");
  g.tensors[TensorId(1)].name = std::string("x");
  CHECK(reports(g, "two nodes are called n"));
  CHECK(reports(g, "two tensors are called x"));
  g = chain();
  g.tensors[TensorId(1)].producer = NodeId(1);
  CHECK(reports(g, "its producer makes another tensor"));
  g = chain();
  g.tensors[TensorId(0)].producer = NodeId(0);
  CHECK(reports(g, "an input or constant has a producer"));
  g = chain();
  g.output_names.clear();
  CHECK(reports(g, "1 outputs, 0 output names"));
  g = chain();
  g.outputs = {TensorId(7)};
  CHECK(reports(g, "a graph output does not exist"));
  g = chain();
  g.inputs.clear();
  CHECK(reports(g, "an input that the graph does not list"));
  g = chain();
  g.inputs.push_back(TensorId(1));
  CHECK(reports(g, "not of kind input"));
  g = chain();
  const TensorId c = add_constant(g, "c", make_array(ElementType::f32, {2}));
  g.tensors[c].shape = {3};
  CHECK(reports(g, "tensor c: data is f32[2], declared f32[3]"));
  g = chain();
  g.tensors[TensorId(0)].data = std::make_shared<const Array>(make_array(ElementType::f32, {2, 3}));
  CHECK(reports(g, "data, but not a constant"));
}

TEST_CASE("operations and parameters are counted") {
  Graph g;
  const TensorId x = add_input(g, "x", ElementType::f32, {2, 6, 8, 8});
  const TensorId w = add_weight(g, "w", ElementType::f32, {4, 3, 3, 3});
  const TensorId y = add_node(g, "conv", Convolution{{1, 1}, {1, 1}, {1, 1}, {1, 1}, 2}, {x, w});
  const TensorId p =
      add_node(g, "pool", Window{ReduceFunction::sum, {2, 2}, {2, 2}, {0, 0}, {0, 0}, {1, 1}}, {y});
  const TensorId r = add_reshape(g, "flat", p, {2, 64});
  add_weight(g, "unused", ElementType::f32, {1000});
  g.outputs = {add_node(g, "fc", Contraction{{0, 1}, {2, 1}, {0, 2}},
                        {r, add_weight(g, "v", ElementType::f32, {5, 64})})};
  g.output_names = {"y"};
  const std::int64_t conv = 2 * 4 * 8 * 8 * 27;
  CHECK(multiply_accumulates(g, g.nodes[NodeId(0)]) == conv);
  CHECK(flops(g, g.nodes[NodeId(0)]) == 2 * conv);
  CHECK(flops(g, g.nodes[NodeId(1)]) == 2 * 4 * 4 * 4 * 4);
  CHECK(flops(g, g.nodes[NodeId(2)]) == 0);
  CHECK(multiply_accumulates(g, g.nodes[NodeId(3)]) == 2 * 5 * 64);
  CHECK(parameters(g) == 4 * 27 + 5 * 64);
  CHECK(is_movement(g.nodes[NodeId(2)].op));
  CHECK(!is_movement(g.nodes[NodeId(1)].op));
}

}  // namespace systole::graph
