#include <doctest/doctest.h>

#include "compiler/graph/text.hpp"
#include "isa/base/error.hpp"
#include "tests/support/random_graph.hpp"

namespace systole::graph {
namespace {

void check_equal(const Graph& a, const Graph& b) {
  CHECK(a.name == b.name);
  CHECK(a.inputs == b.inputs);
  CHECK(a.outputs == b.outputs);
  CHECK(a.output_names == b.output_names);
  REQUIRE(a.tensors.size() == b.tensors.size());
  for (const TensorId id : a.tensors.ids()) {
    const Tensor& s = a.tensors[id];
    const Tensor& t = b.tensors[id];
    CHECK(s.name == t.name);
    CHECK(type_of(s) == type_of(t));
    CHECK(s.kind == t.kind);
    CHECK(s.producer == t.producer);
    REQUIRE((s.data == nullptr) == (t.data == nullptr));
    CHECK((s.data == nullptr || *s.data == *t.data));
  }
  REQUIRE(a.nodes.size() == b.nodes.size());
  for (const NodeId id : a.nodes.ids()) {
    const Node& s = a.nodes[id];
    const Node& t = b.nodes[id];
    CHECK(s.name == t.name);
    CHECK(s.origin == t.origin);
    CHECK(s.op == t.op);
    CHECK(s.inputs == t.inputs);
    CHECK(s.output == t.output);
  }
}

std::string message_of(std::string_view text) {
  try {
    (void)parse(text, "file");
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

constexpr std::string_view small = R"(graph 1 "small"   # a comment
input %x f32[2,3] "x"

constant %b f32[3] "b" = [0.1, -inf, nan]
constant %i i64[2] "i" = [-9223372036854775808, 7]
constant %u u64[1] "u" = [18446744073709551615]
constant %s f32[4,5] "s" = splat 0.25
constant %g f32[7] "g" = absent
node %y f32[2,3] "sum" = add(%x, %b) origin="Add_1" tensor="a \"b\"\x0a\\"
node %z f32[2] "total" = reduce(%y) function=max axes=[1]
output %z "result"
output %s "s"
)";

}  // namespace

TEST_CASE("a graph written by hand is read") {
  const Graph g = parse(small, "file");
  CHECK(g.name == "small");
  REQUIRE(g.tensors.size() == 8);
  CHECK(g.tensors[TensorId(6)].name == "a \"b\"\n\\");
  CHECK(g.nodes[NodeId(0)].origin == "Add_1");
  CHECK(g.nodes[NodeId(1)].origin == "total");
  CHECK(g.nodes[NodeId(1)].op == Op(Reduce{ReduceFunction::max, {1}, false}));
  CHECK(get(*g.tensors[TensorId(1)].data, 0) == static_cast<double>(0.1F));
  CHECK(get_integer(*g.tensors[TensorId(2)].data, 0) == std::numeric_limits<std::int64_t>::min());
  CHECK(static_cast<std::uint64_t>(get_integer(*g.tensors[TensorId(3)].data, 0)) ==
        std::numeric_limits<std::uint64_t>::max());
  CHECK(get(*g.tensors[TensorId(4)].data, 19) == 0.25);
  CHECK(g.tensors[TensorId(5)].data == nullptr);
  check_equal(g, parse(print(g), "again"));
}

TEST_CASE("random graphs survive print and parse exactly") {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    const Graph g = test::random_graph({.seed = seed});
    CAPTURE(seed);
    const std::string text = print(g, {.inline_limit = print_everything, .note = {}});
    const Graph back = parse(text, "text");
    check_equal(g, back);
    CHECK(print(back, {.inline_limit = print_everything, .note = {}}) == text);
  }
}

TEST_CASE("large constants are omitted with a hash and come back without data") {
  Graph g;
  Array array = make_array(ElementType::f32, {3, 7});
  set(array, 20, 1.0);
  g.outputs = {add_constant(g, "w", array)};
  g.output_names = {"w"};
  const std::string text = print(g);
  CHECK(text.find("= omitted ") != std::string::npos);
  CHECK(parse(text, "text").tensors[TensorId(0)].data == nullptr);
  set(array, 3, 1.0);
  Graph h;
  h.outputs = {add_constant(h, "w", array)};
  h.output_names = {"w"};
  CHECK(print(h) != text);
}

TEST_CASE("notes appear as comments and are ignored by the reader") {
  const Graph g = parse(small, "file");
  const std::string text = print(
      g, {.inline_limit = 16, .note = [](TensorId id) { return id.index() == 6 ? "(0|1)" : ""; }});
  CHECK(text.find("# (0|1)") != std::string::npos);
  check_equal(g, parse(text, "again"));
}

TEST_CASE("faults in graph text name the line") {
  CHECK(message_of("").find("file: this is no graph text") == 0);
  CHECK(message_of("graph 2 \"x\"").find("file:1: ") == 0);
  CHECK(message_of("graph 1 \"x\"\nnonsense").find("file:2: unknown statement 'nonsense'") == 0);
  CHECK(message_of("graph 1 \"x\"\ninput %0 f31[2] \"x\"").find("file:2: 'f31'") == 0);
  CHECK(message_of("graph 1 \"x\"\ninput %0 f32[2 \"x\"").find("file:2: expected ','") == 0);
  CHECK(message_of("graph 1 \"x\"\ninput %0 f32[-2] \"x\"").find("file:2: shape [-2]") == 0);
  CHECK(message_of("graph 1 \"x\"\ninput %0 f32[9999999999,9999999999] \"x\"")
            .find("file:2: shape") == 0);
  CHECK(message_of("graph 1 \"x\"\nconstant %0 f32[100000000] \"x\" = [1]")
            .find("file:2: fewer than") == 0);
  CHECK(message_of("graph 1 \"x\"\nconstant %0 f32[2] \"x\" = [1, 2, 3]")
            .find("file:2: expected ']'") == 0);
  CHECK(message_of("graph 1 \"x\"\ninput %0 f32[2] \"x\"\ninput %0 f32[2] \"y\"")
            .find("file:3: %0 is defined twice") == 0);
  CHECK(message_of("graph 1 \"x\"\ninput %0 f32[2] \"x\"\nnode %1 f32[2] \"y\" = relu(%3)")
            .find("file:3: %3") == 0);
  CHECK(message_of("graph 1 \"x\"\ninput %0 f32[2] \"x\"\nnode %1 f32[2] \"y\" = swirl(%0)")
            .find("file:3: 'swirl'") == 0);
  CHECK(message_of("graph 1 \"x\"\ninput %0 f32[2] \"x\"\nnode %1 f32[2] \"y\" = relu(%0) axis=1")
            .find("file:3: relu has no attribute 'axis'") == 0);
  CHECK(message_of("graph 1 \"x\"\ninput %0 f32[2] \"x\"\nnode %1 f32[3] \"y\" = relu(%0)")
            .find("inferred f32[2]") != std::string::npos);
  CHECK(message_of("graph 1 \"x\"\ninput %0 f32[2] \"x\" y").find("file:2: unexpected text") == 0);
  CHECK(message_of("graph 1 \"x\"\ninput %0 f32[2] \"x")
            .find("file:2: expected '\"', the line ends") == 0);
}

TEST_CASE("every prefix of a graph text is either read or refused") {
  for (std::size_t size = 0; size < small.size(); ++size) {
    try {
      (void)parse(small.substr(0, size), "file");
    } catch (const Error&) {
    }
  }
  CHECK(message_of(small).empty());
}

TEST_CASE("the Graphviz form has a box per tensor that is computed and an edge per use") {
  const std::string dot = print_dot(parse(small, "file"));
  CHECK(dot.find("t0 -> t6") != std::string::npos);
  CHECK(dot.find("t6 -> t7") != std::string::npos);
  CHECK(dot.find("t1 ->") == std::string::npos);
  CHECK(dot.find("add Add_1\\nf32[2,3]") != std::string::npos);
  CHECK(dot.find("t4 -> o1") != std::string::npos);
}

}  // namespace systole::graph
