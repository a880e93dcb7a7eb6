#include <doctest/doctest.h>

#include <map>

#include "compiler/graph/evaluate.hpp"
#include "compiler/graph/text.hpp"
#include "compiler/passes/passes.hpp"
#include "isa/base/error.hpp"

namespace systole::passes {
namespace {

using graph::Graph;
using graph::TensorId;

// The statements that are left of a graph written without its first line.
Graph read(const std::string& text) {
  return graph::parse("graph 1 \"t\"\n" + text, "test");
}

std::vector<std::string> kinds(const Graph& graph) {
  std::vector<std::string> names;
  for (const graph::Node& node : graph.nodes) {
    names.emplace_back(graph::name_of(node.op));
  }
  return names;
}
using Kinds = std::vector<std::string>;

Kinds kinds_of_canonical(const std::string& text, const Options& options = {}) {
  return kinds(canonicalize(read(text), options));
}

// Multiples of a third between -5/3 and 5/3, the same at every call.
std::map<std::string, graph::Array> some_inputs(const Graph& graph) {
  std::map<std::string, graph::Array> inputs;
  for (const TensorId input : graph.inputs) {
    const graph::Tensor& tensor = graph.tensors[input];
    graph::Array values = graph::make_array(tensor.type, tensor.shape);
    for (std::int64_t i = 0; i < graph::elements(tensor.shape); ++i) {
      graph::set(values, i, static_cast<double>((7 * i) % 11 - 5) / 3.0);
    }
    inputs[tensor.name] = values;
  }
  return inputs;
}

}  // namespace

TEST_CASE("what depends on constants alone is folded, what depends on an input is not") {
  const Graph g = canonicalize(read(R"(
input %x f32[2] "x"
constant %a f32[2] "a" = [1, 2]
constant %b f32[2] "b" = [10, 20]
node %s f32[2] "s" = add(%a, %b)
node %p f32[2] "p" = multiply(%x, %s)
output %p "y"
)"));
  CHECK(kinds(g) == Kinds{"multiply"});
  const graph::Tensor& folded = g.tensors[g.nodes[graph::NodeId(0)].inputs[1]];
  REQUIRE(folded.data != nullptr);
  CHECK(graph::get(*folded.data, 0) == 11.0);
  CHECK(graph::get(*folded.data, 1) == 22.0);
}

TEST_CASE("a graph that is folded away still has its outputs") {
  const Graph g = canonicalize(read(R"(
input %x f32[2] "x"
constant %a f32[2] "a" = [1, 2]
node %s f32[2] "s" = add(%a, %a)
node %c f32[2] "c" = copy(%x)
output %s "y0"
output %c "y1"
)"));
  CHECK(g.nodes.empty());
  REQUIRE(g.outputs.size() == 2);
  CHECK(g.tensors[g.outputs[0]].kind == graph::TensorKind::constant);
  CHECK(g.outputs[1] == g.inputs[0]);
}

TEST_CASE("folding does not make constants beyond its limits") {
  const std::string text = R"(
constant %a f32[1] "a" = [1]
node %e f32[1000,1000] "e" = expand(%a)
output %e "y"
)";
  CHECK(kinds_of_canonical(text, {.fold_growth = 999'999}) == Kinds{"expand"});
  CHECK(kinds_of_canonical(text, {.fold_growth = 1'000'001}).empty());
  CHECK(kinds_of_canonical(R"(
constant %a f32[100,100] "a" = splat 1
node %e f32[100,100] "e" = contraction(%a, %a) lhs=[0,1] rhs=[1,2] out=[0,2]
output %e "y"
)",
                           {.fold_products = 1'999'999}) == Kinds{"contraction"});
}

TEST_CASE("a weight without values is transposed into a weight without values") {
  const Graph g = canonicalize(read(R"(
input %x f32[2,3] "x"
constant %w f32[4,3] "w" = absent
node %t f32[3,4] "t" = transpose(%w) perm=[1,0]
node %y f32[2,4] "y" = contraction(%x, %t) lhs=[0,1] rhs=[1,2] out=[0,2]
output %y "y"
)"));
  CHECK(kinds(g) == Kinds{"contraction"});
  CHECK(g.tensors[g.nodes[graph::NodeId(0)].inputs[1]].data == nullptr);
}

TEST_CASE("a constant node that cannot be computed is the user's mistake and names its origin") {
  CHECK_THROWS_WITH_AS(
      kinds_of_canonical(R"(
constant %a i64[1] "a" = [1]
constant %b i64[1] "b" = [0]
node %d i64[1] "d" = divide(%a, %b) origin="Div_7"
output %d "y"
)"),
      "Div_7: divide: an integer is divided by zero; keep zeros out of the divisor", Error);
}

TEST_CASE("movements that move nothing disappear") {
  CHECK(kinds_of_canonical(R"(
input %x f32[2,1,3] "x"
node %a f32[2,1,3] "a" = transpose(%x) perm=[0,1,2]
node %b f32[2,1,3] "b" = reshape(%a)
node %c f32[2,1,3] "c" = expand(%b)
node %d f32[2,1,3] "d" = slice(%c) starts=[0,0,0] steps=[1,-4,1]
node %e f32[2,1,3] "e" = pad(%d) low=[0,0,0] high=[0,0,0] interior=[0,9,0] value=7
node %f f32[2,1,3] "f" = cast(%e)
node %g f32[2,1,3] "g" = concat(%f) axis=1
node %h f32[2,1,3] "h" = reduce(%g) function=product axes=[1] keep=true
node %i f32[2,1,3] "i" = clip(%h) alpha=-inf beta=inf
output %i "y"
)")
            .empty());
}

TEST_CASE("movements that do move something stay") {
  CHECK(kinds_of_canonical(R"(
input %x f32[2,2] "x"
node %a f32[2,2] "a" = transpose(%x) perm=[1,0]
node %d f32[2,2] "d" = slice(%a) starts=[1,0] steps=[-1,1]
node %e f32[2,2] "e" = pad(%d) low=[1,0] high=[-1,0] interior=[0,0]
output %e "y"
)") == Kinds{"transpose", "slice", "pad"});
}

TEST_CASE("a reduction of single elements without kept axes is a reshape") {
  CHECK(kinds_of_canonical(R"(
input %x f32[2,1,3] "x"
node %h f32[2,3] "h" = reduce(%x) function=max axes=[1]
output %h "y"
)") == Kinds{"reshape"});
}

TEST_CASE("empty parts of a concatenation are left out") {
  const Graph g = canonicalize(read(R"(
input %x f32[2,0] "x"
input %y f32[2,3] "y"
input %z f32[2,1] "z"
node %c f32[2,4] "c" = concat(%x, %y, %z) axis=1
node %d f32[2,3] "d" = concat(%x, %y) axis=1
output %c "c"
output %d "d"
)"));
  CHECK(kinds(g) == Kinds{"concat"});
  CHECK(g.nodes[graph::NodeId(0)].inputs == std::vector<TensorId>{g.inputs[1], g.inputs[2]});
  CHECK(g.outputs[1] == g.inputs[1]);
}

TEST_CASE("cyclic transposes are composed in the right order and keep both origins") {
  const Graph g = canonicalize(read(R"(
input %x f32[2,3,4] "x"
node %a f32[3,4,2] "a" = transpose(%x) perm=[1,2,0]
node %b f32[2,3,4] "b" = transpose(%a) perm=[2,0,1]
node %c f32[4,3,2] "c" = transpose(%a) perm=[1,0,2]
output %b "back"
output %c "on"
)"));
  CHECK(g.outputs[0] == g.inputs[0]);
  REQUIRE(kinds(g) == Kinds{"transpose"});
  CHECK(g.nodes[graph::NodeId(0)].op == graph::Op(graph::Transpose{{2, 1, 0}}));
  CHECK(g.nodes[graph::NodeId(0)].origin == "a+c");
}

TEST_CASE("slices of slices, reshapes of reshapes and expands of expands are one") {
  const Graph g = canonicalize(read(R"(
input %x f32[20] "x"
node %a f32[5] "a" = slice(%x) starts=[18] steps=[-4]
node %b f32[2] "b" = slice(%a) starts=[1] steps=[2]
node %c f32[2,1] "c" = reshape(%b)
node %d f32[1,2,1] "d" = reshape(%c)
node %e f32[1,2,3] "e" = expand(%d)
node %f f32[4,2,3] "f" = expand(%e)
output %f "y"
)"));
  CHECK(kinds(g) == Kinds{"slice", "reshape", "expand"});
  CHECK(g.nodes[graph::NodeId(0)].op == graph::Op(graph::Slice{{14}, {-8}}));
}

TEST_CASE("reshapes and transposes that undo one another come to rest") {
  // The case reported as an endless loop elsewhere: two rules that move transposes through
  // reshapes.
  const Kinds left = kinds_of_canonical(R"(
input %x f32[4,6] "x"
input %y f32[6,4] "y"
input %z f32[12,2] "z"
node %a f32[6,4] "a" = transpose(%x) perm=[1,0]
node %b f32[4,6] "b" = transpose(%y) perm=[1,0]
node %c f32[6,4] "c" = reshape(%b)
node %d f32[6,4] "d" = add(%a, %c)
node %e f32[2,12] "e" = reshape(%d)
node %f f32[12,2] "f" = transpose(%e) perm=[1,0]
node %g f32[12,2] "g" = add(%f, %z)
output %g "y"
)");
  CHECK(left == Kinds{"transpose", "transpose", "reshape", "add", "reshape", "transpose", "add"});
}

TEST_CASE("neutral operands disappear unless they broadcast or change the type") {
  CHECK(kinds_of_canonical(R"(
input %x f32[3] "x"
constant %o f32[] "o" = [1]
constant %z f32[3] "z" = splat 0
constant %w f32[2,3] "w" = splat 1
node %a f32[3] "a" = multiply(%o, %x)
node %b f32[3] "b" = subtract(%a, %z)
node %c f32[3] "c" = divide(%b, %o)
node %d f32[3] "d" = add(%z, %c)
node %e f32[2,3] "e" = multiply(%d, %w)
node %f f32[3] "f" = subtract(%z, %x)
output %e "e"
output %f "f"
)") == Kinds{"multiply", "subtract"});
}

TEST_CASE("maps with constant operands become maps of one operand") {
  const Graph g = canonicalize(read(R"(
input %x f32[3] "x"
constant %two f32[] "two" = [2]
constant %zero f32[] "zero" = [0]
constant %six f32[3] "six" = splat 6
constant %one f32[] "one" = [1]
node %a f32[3] "a" = power(%x, %two)
node %b f32[3] "b" = max(%zero, %a)
node %c f32[3] "c" = min(%b, %six)
node %d f32[3] "d" = divide(%one, %c)
node %e f32[3] "e" = multiply(%d, %d)
output %e "y"
)"));
  CHECK(kinds(g) == Kinds{"square", "relu", "clip", "reciprocal", "square"});
  CHECK(std::get<graph::Map>(g.nodes[graph::NodeId(2)].op).beta == 6.0);
}

TEST_CASE("double negations, repeated rectifiers and reciprocal square roots are simplified") {
  CHECK(kinds_of_canonical(R"(
input %x f32[3] "x"
node %a f32[3] "a" = negate(%x)
node %b f32[3] "b" = negate(%a)
node %c f32[3] "c" = relu(%b)
node %d f32[3] "d" = relu(%c)
node %e f32[3] "e" = sqrt(%d)
node %f f32[3] "f" = reciprocal(%e)
output %f "y"
)") == Kinds{"relu", "rsqrt"});
}

TEST_CASE("a choice by a constant is the chosen operand, broadcast if need be") {
  const Graph g = canonicalize(read(R"(
input %a f32[2,3] "a"
input %b f32[3] "b"
constant %t bool[2,1] "t" = splat 1
constant %f bool[2,1] "f" = splat 0
constant %m bool[2,1] "m" = [1, 0]
node %x f32[2,3] "x" = select(%t, %a, %b)
node %y f32[2,3] "y" = select(%f, %a, %b)
node %z f32[2,3] "z" = select(%m, %a, %b)
output %x "x"
output %y "y"
output %z "z"
)"));
  CHECK(kinds(g) == Kinds{"expand", "select"});
  CHECK(g.outputs[0] == g.inputs[0]);
}

TEST_CASE(
    "equal operators on equal operands are computed once, and equal small tables of integers are "
    "one") {
  const Graph g = canonicalize(read(R"(
input %x i64[3] "x"
constant %a i64[3] "a" = [1, 2, 3]
constant %b i64[3] "b" = [1, 2, 3]
constant %c i64[3] "c" = [1, 2, 4]
node %p i64[3] "p" = add(%x, %a)
node %q i64[3] "q" = add(%x, %b)
node %r i64[3] "r" = add(%x, %c)
node %s i64[3] "s" = subtract(%p, %q)
node %t i64[3] "t" = negate(%r)
output %s "s"
output %t "t"
)"));
  CHECK(kinds(g) == Kinds{"add", "add", "subtract", "negate"});
  CHECK(g.nodes[graph::NodeId(2)].inputs[0] == g.nodes[graph::NodeId(2)].inputs[1]);
}

TEST_CASE("equal weights of different layers stay apart, equal scalars are one") {
  const Graph g = canonicalize(read(R"(
input %x f32[2,2] "x"
constant %v f32[2,2] "v" = [1, 2, 3, 4]
constant %w f32[2,2] "w" = [1, 2, 3, 4]
constant %a f32[] "a" = [3]
constant %b f32[] "b" = [3]
node %p f32[2,2] "p" = contraction(%x, %v) lhs=[0,1] rhs=[1,2] out=[0,2]
node %q f32[2,2] "q" = contraction(%x, %w) lhs=[0,1] rhs=[1,2] out=[0,2]
node %r f32[2,2] "r" = multiply(%p, %a)
node %s f32[2,2] "s" = multiply(%q, %b)
output %r "r"
output %s "s"
)"));
  REQUIRE(kinds(g) == Kinds{"contraction", "contraction", "multiply", "multiply"});
  CHECK(g.nodes[graph::NodeId(2)].inputs[1] == g.nodes[graph::NodeId(3)].inputs[1]);
}

TEST_CASE("operators that differ in an attribute, and weights without values, are not merged") {
  CHECK(kinds_of_canonical(R"(
input %x f32[2,2] "x"
constant %v f32[2,2] "v" = absent
constant %w f32[2,2] "w" = absent
node %p f32[2] "p" = reduce(%x) function=sum axes=[0]
node %q f32[2] "q" = reduce(%x) function=sum axes=[1]
node %r f32[2,2] "r" = add(%x, %v)
node %s f32[2,2] "s" = add(%x, %w)
output %p "p"
output %q "q"
output %r "r"
output %s "s"
)")
            .size() == 4);
}

TEST_CASE("nodes and constants that no output needs are dropped, inputs stay") {
  const Graph g = canonicalize(read(R"(
input %x f32[2] "x"
input %unused f32[2] "unused"
constant %w f32[2] "w" = [1, 2]
node %p f32[2] "p" = add(%x, %w)
node %q f32[2] "q" = exp(%x)
output %q "q"
)"));
  CHECK(kinds(g) == Kinds{"exp"});
  CHECK(g.inputs.size() == 2);
  CHECK(g.tensors.size() == 3);
}

TEST_CASE("batch normalisation goes into the weights of a convolution if asked for") {
  const std::string text = R"(
input %x f32[1,2,3,3] "x"
constant %w f32[2,2,1,1] "w" = [1, 2, 3, 4]
constant %b f32[2,1,1] "b" = [5, 7]
constant %s f32[2,1,1] "s" = [10, 100]
constant %o f32[2,1,1] "o" = [1, 1]
node %c f32[1,2,3,3] "c" = convolution(%x, %w) strides=[1,1] pads_low=[0,0] pads_high=[0,0] dilations=[1,1]
node %d f32[1,2,3,3] "d" = add(%c, %b)
node %e f32[1,2,3,3] "e" = multiply(%d, %s)
node %f f32[1,2,3,3] "f" = add(%e, %o)
output %f "y"
)";
  CHECK(kinds_of_canonical(text) == Kinds{"convolution", "add", "multiply", "add"});
  const Graph g = canonicalize(read(text), {.fold_scales = true});
  REQUIRE(kinds(g) == Kinds{"convolution", "add"});
  const graph::Array& weights = *g.tensors[g.nodes[graph::NodeId(0)].inputs[1]].data;
  const graph::Array& offset = *g.tensors[g.nodes[graph::NodeId(1)].inputs[1]].data;
  const std::vector<double> expected{10, 20, 300, 400};
  for (std::int64_t i = 0; i < 4; ++i) {
    CHECK(graph::get(weights, i) == expected[static_cast<std::size_t>(i)]);
  }
  CHECK(graph::get(offset, 0) == 51.0);
  CHECK(graph::get(offset, 1) == 701.0);
  CHECK(g.nodes[graph::NodeId(0)].origin == "c+e");
}

TEST_CASE("scales go into the constant operand of a contraction along its own axes only") {
  const auto text = [](const std::string& scale) {
    return R"(
input %x f32[3,2] "x"
constant %w f32[4,2] "w" = [1, 2, 3, 4, 5, 6, 7, 8]
constant %s )" +
           scale + R"(
node %c f32[3,4] "c" = contraction(%x, %w) lhs=[0,1] rhs=[2,1] out=[0,2]
node %e f32[3,4] "e" = divide(%c, %s)
output %e "y"
)";
  };
  CHECK(kinds_of_canonical(text("f32[4] \"s\" = [1, 2, 4, 8]"), {.fold_scales = true}) ==
        Kinds{"contraction"});
  CHECK(kinds_of_canonical(text("f32[1,1] \"s\" = [2]"), {.fold_scales = true}) ==
        Kinds{"contraction"});
  CHECK(kinds_of_canonical(text("f32[3,1] \"s\" = [1, 2, 4]"), {.fold_scales = true}) ==
        Kinds{"contraction", "divide"});
  const Graph g = canonicalize(read(text("f32[4] \"s\" = [1, 2, 4, 8]")), {.fold_scales = true});
  const graph::Array& weights = *g.tensors[g.nodes[graph::NodeId(0)].inputs[1]].data;
  CHECK(graph::get(weights, 2) == 1.5);
  CHECK(graph::get(weights, 7) == 1.0);
}

TEST_CASE("a product that something else reads keeps its scale") {
  CHECK(kinds_of_canonical(R"(
input %x f32[3,2] "x"
constant %w f32[2,2] "w" = [1, 2, 3, 4]
constant %s f32[2] "s" = [2, 4]
node %c f32[3,2] "c" = contraction(%x, %w) lhs=[0,1] rhs=[1,2] out=[0,2]
node %e f32[3,2] "e" = multiply(%c, %s)
output %e "y"
output %c "c"
)",
                           {.fold_scales = true}) == Kinds{"contraction", "multiply"});
}

TEST_CASE("the division of a softmax moves behind the product of its shares") {
  const auto text = [](const std::string& axis, const std::string& lhs, const std::string& extra) {
    return R"(
input %x f32[2,3,40] "x"
input %v f32[2,40,5] "v"
node %m f32[2,3,1] "m" = reduce(%x) function=max axes=[)" +
           axis + R"(] keep=true
node %d f32[2,3,40] "d" = subtract(%x, %m)
node %e f32[2,3,40] "e" = exp(%d)
node %s f32[2,3,1] "s" = reduce(%e) function=sum axes=[2] keep=true
node %p f32[2,3,40] "p" = divide()" +
           lhs + R"(, %s)
node %c f32[2,3,5] "c" = contraction(%p, %v) lhs=[0,1,3] rhs=[0,3,2] out=[0,1,2]
output %c "y"
)" + extra;
  };
  const Kinds moved{"reduce", "subtract", "exp", "reduce", "contraction", "divide"};
  const Kinds kept{"reduce", "subtract", "exp", "reduce", "divide", "contraction"};
  CHECK(kinds_of_canonical(text("2", "%e", "")) == moved);
  CHECK(kinds_of_canonical(text("2", "%e", "output %p \"p\"\n")) == kept);  // the shares are read
  CHECK(kinds_of_canonical(text("2", "%x", "")) == kept);                   // no shares
  const Graph before = read(text("2", "%e", ""));
  const Graph after = canonicalize(before);
  const auto inputs = some_inputs(before);
  const graph::Array want = graph::evaluate(before, inputs)[0];
  const graph::Array got = graph::evaluate(after, inputs)[0];
  for (std::int64_t i = 0; i < graph::elements(want.shape); ++i) {
    CHECK(graph::get(got, i) == doctest::Approx(graph::get(want, i)).epsilon(1e-5));
  }
}

TEST_CASE("a power of two before a mask goes to the smaller operand of the product of the scores") {
  const auto text = [](const std::string& scale, const std::string& addend,
                       const std::string& extra) {
    return R"(
input %x f32[3,2,4] "x"
input %k f32[2,40,4] "k"
input %m f32[40] "m"
input %o f32[] "o"
constant %s f32[] "s" = [)" +
           scale + R"(]
node %h f32[3,2,4] "h" = tanh(%x)
node %q f32[2,3,4] "q" = transpose(%h) perm=[1,0,2]
node %c f32[2,3,40] "c" = contraction(%q, %k) lhs=[0,1,3] rhs=[0,2,3] out=[0,1,2]
node %t f32[2,3,40] "t" = multiply(%c, %s)
node %y f32[2,3,40] "y" = add()" +
           addend + R"(, %t)
output %y "y"
)" + extra;
  };
  const Kinds moved{"tanh", "multiply", "transpose", "contraction", "add"};
  const Kinds kept{"tanh", "transpose", "contraction", "multiply", "add"};
  CHECK(kinds_of_canonical(text("0.25", "%m", "")) == moved);
  CHECK(kinds_of_canonical(text("0.3", "%m", "")) == kept);
  CHECK(kinds_of_canonical(text("0.25", "%o", "")) == kept);  // a number is added for nothing
  CHECK(kinds_of_canonical(text("0.25", "%m", "output %t \"t\"\n")) == kept);
  CHECK(kinds_of_canonical(text("0.25", "%m", "output %c \"c\"\n")) == kept);
  // Another reader of what is moved gets it unscaled.
  CHECK(kinds_of_canonical(text("0.25", "%m", "output %h \"h\"\n")) == moved);
  CHECK(kinds_of_canonical(text("0.25", "%m", "output %q \"q\"\n")) ==
        Kinds{"tanh", "transpose", "multiply", "contraction", "add"});
  const Graph before = read(text("0.25", "%m", "output %h \"h\"\n"));
  const Graph after = canonicalize(before);
  const auto inputs = some_inputs(before);
  for (const std::size_t output : {0U, 1U}) {
    const graph::Array want = graph::evaluate(before, inputs)[output];
    const graph::Array got = graph::evaluate(after, inputs)[output];
    for (std::int64_t i = 0; i < graph::elements(want.shape); ++i) {
      CHECK(graph::get(got, i) == graph::get(want, i));
    }
  }
}

TEST_CASE("copies of one operator on a weight without values give one weight") {
  const Graph g = canonicalize(read(R"(
input %x f32[3] "x"
constant %w f32[3,1] "w" = absent
node %a f32[1,3] "a" = transpose(%w) perm=[1,0]
node %b f32[1,3] "b" = transpose(%w) perm=[1,0]
node %c f32[1,3] "c" = add(%x, %a)
node %d f32[1,3] "d" = multiply(%c, %b)
output %d "y"
)"));
  REQUIRE(kinds(g) == Kinds{"add", "multiply"});
  CHECK(g.nodes[graph::NodeId(0)].inputs[1] == g.nodes[graph::NodeId(1)].inputs[1]);
}

TEST_CASE("gathers by evenly spaced constants are slices, others stay") {
  const Graph g = canonicalize(read(R"(
input %x f32[2,5] "x"
input %n i64[1] "n"
constant %i i64[] "i" = [-2]
constant %j i64[3] "j" = [4, 2, 0]
constant %k i64[3] "k" = [0, 1, 3]
constant %l i64[2] "l" = [1, 1]
node %a f32[2] "a" = gather(%x, %i) axis=1
node %b f32[2,3] "b" = gather(%x, %j) axis=1
node %c f32[2,3] "c" = gather(%x, %k) axis=1
node %d f32[2,2] "d" = gather(%x, %l) axis=1
node %e f32[1,5] "e" = gather(%x, %n) axis=0
output %a "a"
output %b "b"
output %c "c"
output %d "d"
output %e "e"
)"));
  REQUIRE(kinds(g) == Kinds{"slice", "reshape", "slice", "gather", "gather", "gather"});
  CHECK(g.nodes[graph::NodeId(0)].op == graph::Op(graph::Slice{{0, 3}, {1, 1}}));
  CHECK(g.nodes[graph::NodeId(2)].op == graph::Op(graph::Slice{{0, 4}, {1, -2}}));
}

TEST_CASE("a gather outside its axis is left for evaluation to report") {
  CHECK(kinds_of_canonical(R"(
input %x f32[2] "x"
constant %i i64[1] "i" = [2]
node %a f32[1] "a" = gather(%x, %i)
output %a "a"
)") == Kinds{"gather"});
}

TEST_CASE(
    "maps read operands unexpanded and splat constants as scalars where the result keeps its "
    "shape") {
  const Graph g = canonicalize(read(R"(
input %x f32[3,1] "x"
input %y f32[2,3,4] "y"
constant %c f32[2,3,4] "c" = splat 0.5
node %e f32[2,3,4] "e" = expand(%x)
node %s f32[2,3,4] "s" = subtract(%e, %y)
node %m f32[2,3,4] "m" = multiply(%c, %s)
node %t f32[2,3,4] "t" = exp(%e)
node %u f32[2,3,4] "u" = subtract(%c, %e)
output %m "m"
output %t "t"
output %u "u"
)"));
  REQUIRE(kinds(g) == Kinds{"expand", "subtract", "multiply", "exp", "subtract"});
  CHECK(g.nodes[graph::NodeId(1)].inputs[0] == g.inputs[0]);
  CHECK(g.tensors[g.nodes[graph::NodeId(2)].inputs[0]].shape.empty());
  // One of the two operands must keep the shape: the first that can give way does.
  CHECK(g.tensors[g.nodes[graph::NodeId(4)].inputs[0]].shape.empty());
  CHECK(g.tensors[g.nodes[graph::NodeId(4)].inputs[1]].shape == graph::Shape{2, 3, 4});
}

TEST_CASE(
    "pads in front of convolutions and pooling become their padding if the value is neutral") {
  const auto text = [](const std::string& pad, const std::string& node) {
    return "input %x f32[1,1,4] \"x\"\nconstant %w f32[1,1,3] \"w\" = [1, 2, 3]\n"
           "node %p f32[1,1,7] \"p\" = pad(%x) low=[0,0,1] high=[0,0,2] interior=[0,0,0] value=" +
           pad + "\nnode %y f32[1,1,6] \"y\" = " + node + "\noutput %y \"y\"\n";
  };
  const std::string conv =
      "convolution(%p, %w) strides=[1] pads_low=[1] pads_high=[0] dilations=[1]";
  const std::string pool = " kernel=[3] strides=[1] pads_low=[1] pads_high=[0] dilations=[1]";
  const Graph g = canonicalize(read(text("0", conv)));
  REQUIRE(kinds(g) == Kinds{"convolution"});
  CHECK(g.nodes[graph::NodeId(0)].op == graph::Op(graph::Convolution{{1}, {2}, {2}, {1}, 1}));
  CHECK(g.nodes[graph::NodeId(0)].origin == "p+y");
  CHECK(kinds_of_canonical(text("1", conv)) == Kinds{"pad", "convolution"});
  CHECK(kinds_of_canonical(text("0", "window(%p) function=sum" + pool)) == Kinds{"window"});
  CHECK(kinds_of_canonical(text("0", "window(%p) function=max" + pool)) == Kinds{"pad", "window"});
  CHECK(kinds_of_canonical(text("-inf", "window(%p) function=max" + pool)) == Kinds{"window"});
}

TEST_CASE("the steps of the pipeline are reported in order") {
  std::vector<Step> steps;
  (void)canonicalize(
      read("input %x f32[2] \"x\"\nnode %a f32[2] \"a\" = copy(%x)\noutput %a \"y\"\n"), {},
      &steps);
  REQUIRE(steps.size() == 2 * (all_passes().size() - 1));
  CHECK(steps[0].pass == "drop_identities");
  CHECK(steps[0].rewrites == 1);
}

}  // namespace systole::passes
