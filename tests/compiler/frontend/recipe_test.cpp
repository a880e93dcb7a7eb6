#include "compiler/frontend/recipe.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "compiler/frontend/model.hpp"
#include "compiler/graph/evaluate.hpp"
#include "isa/base/error.hpp"
#include "tests/compiler/frontend/model_file.hpp"

using namespace systole;
using test::floats;
using test::values_of;
using Doubles = std::vector<double>;

namespace {

const char* const head = "name: t\ninputs:\n  x: [2, 3]\n";

graph::Graph parse(const std::string& text, const frontend::Options& options = {}) {
  const graph::Graph graph = frontend::parse_recipe(text, "t.yaml", options);
  REQUIRE(graph::verify(graph).empty());
  return graph;
}

std::string refusal(const std::string& text, const frontend::Options& options = {}) {
  try {
    static_cast<void>(frontend::parse_recipe(text, "t.yaml", options));
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

frontend::Options random_options(std::map<std::string, std::int64_t> dims = {}) {
  frontend::Options options;
  options.random_weights = 1;
  options.dims = std::move(dims);
  return options;
}

graph::Graph model(const std::string& name, std::map<std::string, std::int64_t> dims = {}) {
  const graph::Graph graph = frontend::read_model(name, random_options(std::move(dims)));
  REQUIRE(graph::verify(graph).empty());
  return graph;
}

std::map<std::string, graph::Array> seeded_inputs(const graph::Graph& graph,
                                                  std::uint64_t seed = 5) {
  std::map<std::string, graph::Array> out;
  for (const auto id : graph.inputs) {
    out[graph.tensors[id].name] = graph::random_array(graph.tensors[id], seed, false);
  }
  return out;
}

std::int64_t parameters_of(const graph::Graph& graph) {
  std::int64_t total = 0;
  for (const auto& tensor : graph.tensors) {
    if (tensor.kind == graph::TensorKind::constant && !tensor.shape.empty()) {
      total += graph::elements(tensor.shape);
    }
  }
  return total;
}

// Largest difference over rows [first, last) of axis 1 of two [1, rows, columns] arrays.
double row_difference(const graph::Array& a, const graph::Array& b, std::int64_t first,
                      std::int64_t last) {
  REQUIRE(a.shape == b.shape);
  double worst = 0;
  const std::int64_t columns = a.shape[2];
  for (std::int64_t i = first * columns; i < last * columns; ++i) {
    worst = std::max(worst, std::abs(graph::get(a, i) - graph::get(b, i)));
  }
  return worst;
}

graph::Array constant(const graph::Graph& graph, const std::string& name) {
  for (const auto& tensor : graph.tensors) {
    if (tensor.name == name && tensor.data != nullptr) {
      return *tensor.data;
    }
  }
  FAIL("no constant ", name);
  return {};
}

void replace_constant(graph::Graph& graph, const std::string& name, graph::Array value) {
  for (auto& tensor : graph.tensors) {
    if (tensor.name == name) {
      REQUIRE(tensor.shape == value.shape);
      tensor.data = std::make_shared<const graph::Array>(std::move(value));
      return;
    }
  }
  FAIL("no constant ", name);
}

}  // namespace

TEST_CASE("steps, blocks, repetition, conditions and names with expressions do what they say") {
  const auto graph = parse(std::string(head) + R"(
parameters: {times: 3, twice: 2 * times}
blocks:
  scale:
    parameters: [factor]
    inputs: [a]
    outputs: [b]
    steps:
      - {constant: f, value: factor}
      - {op: Mul, in: [a, f], out: b}
steps:
  - {op: Identity, in: x, out: v0}
  - repeat: times
    index: i
    steps:
      - {block: scale, in: "v{i}", out: "v{i + 1}", factor: i + 1}
      - {op: Neg, in: "v{i + 1}", out: "v{i + 1}", when: i == 1}
outputs: ["v{twice / 2}"]
)");
  const auto y = graph::evaluate(graph, {{"x", floats({2, 3}, {1, 2, 3, 4, 5, 6})}});
  CHECK(values_of(y.at(0)) == Doubles{-6, -12, -18, -24, -30, -36});
  CHECK(graph.output_names.at(0) == "v3");
}

TEST_CASE("parameters are overridden by name and unknown ones are refused") {
  const std::string text =
      "name: t\nparameters: {n: 2, m: n + 1}\ninputs:\n  x: [n, m]\nsteps: []\noutputs: x\n";
  CHECK(parse(text).tensors[graph::TensorId(0)].shape == graph::Shape{2, 3});
  frontend::Options options;
  options.dims["n"] = 7;
  CHECK(parse(text, options).tensors[graph::TensorId(0)].shape == graph::Shape{7, 8});
  options.dims["k"] = 1;
  CHECK(refusal(text, options) == "t.yaml: the recipe has no parameter 'k'; it has n, m");
}

TEST_CASE("weights in a repetition are separate, weights before it are shared") {
  const auto graph = parse(std::string(head) + R"(
steps:
  - weights: {shared: [3, 3]}
  - repeat: 2
    steps:
      - weights: {own: [3, 3]}
      - {op: MatMul, in: [x, shared], out: x}
      - {op: MatMul, in: [x, own], out: x}
outputs: x
)");
  CHECK(parameters_of(graph) == 27);
}

TEST_CASE("faults are reported with file, line and column") {
  const std::vector<std::pair<std::string, const char*>> cases = {
      {"name: t\nsteps: [", "t.yaml:2:"},
      {"name: t\nextra: 1\ninputs: {}\nsteps: []\noutputs: []\n",
       "t.yaml:2:1: unknown key 'extra'; known: name,"},
      {"name: t\nname: u\ninputs: {}\nsteps: []\noutputs: []\n",
       "t.yaml:2:1: key 'name' stands twice"},
      {std::string(head) + "outputs: x\n", "needs the key 'steps'"},
      {std::string(head) + "steps:\n  - {op: Rleu, in: x, out: y}\noutputs: y\n",
       "t.yaml:5:10: unknown operator 'Rleu'"},
      {std::string(head) + "steps:\n  - {op: Relu, in: z, out: y}\noutputs: y\n",
       "t.yaml:5:20: no value 'z' here"},
      {std::string(head) + "steps:\n  - {op: Relu, in: x, out: y}\noutputs: z\n",
       "t.yaml:6:10: no value 'z' at the end"},
      {std::string(head) + "steps:\n  - {block: b, in: x, out: y}\noutputs: y\n",
       "t.yaml:5:13: no block 'b'"},
      {std::string(head) + "steps:\n  - {repeat: n, steps: []}\noutputs: x\n",
       "t.yaml:5:14: expression 'n': no parameter 'n' here"},
      {std::string(head) + "steps:\n  - {weights: {w: [2 / 0]}}\noutputs: x\n", "division by zero"},
      {std::string(head) + "steps:\n  - {weights: {w: [-1]}}\noutputs: x\n", "extent '-1' is -1"},
      {std::string(head) + "steps:\n  - {weights: {w: [99999999999, 99999999999]}}\noutputs: x\n",
       "t.yaml:5:19: w: shape"},
      {std::string(head) + "steps:\n  - {op: Transpose, in: x, out: y, perm: [0, 2]}\noutputs: y\n",
       "t.yaml:5:5: y: Transpose: perm [0,2]"},
      {std::string(head) + "steps:\n  - {constant: c, type: f31, value: 1}\noutputs: x\n",
       "unknown element type 'f31'"},
      {std::string(head) + "steps:\n  - {repeat: 100000000, steps: []}\noutputs: x\n",
       "more than 1000000 steps"},
      {std::string(head) + "steps:\n  - {nothing: 1}\noutputs: x\n",
       "a step needs one of the keys"},
      {std::string(head) + "steps: 3\noutputs: x\n", "t.yaml:4:8: steps are a list"},
      {std::string(head) + "steps: []\noutputs: []\n", "t.yaml:5:10: a recipe needs at least one output"},
      {std::string(head) + "steps:\n  - {op: Relu, in: x, out: y, alpha: 1}\noutputs: y\n",
       "t.yaml:5:5: y: Relu: attribute 'alpha' means nothing here"},
      {std::string(head) + "steps:\n  - {op: Relu, in: [x, x], out: y}\noutputs: y\n",
       "t.yaml:5:5: y: Relu: operand 1 ('x') means nothing here"},
      {std::string(head) + "steps: &s\n  - {repeat: 1, steps: *s}\noutputs: x\n", "nested too deeply"},
      {"- 1\n", "t.yaml:1:1: a map with the keys"}};
  for (const auto& [text, message] : cases) {
    CAPTURE(text);
    const std::string got = refusal(text);
    CAPTURE(got);
    CHECK(got.find(message) != std::string::npos);
    CHECK(got.find("t.yaml") == 0);
  }
}

TEST_CASE("block calls are checked: parameters, inputs, outputs, recursion") {
  const std::string blocks =
      "blocks:\n  b:\n    parameters: [n]\n    inputs: [a]\n    outputs: [r]\n    steps:\n      - "
      "{op: Relu, in: a, out: r}\n"
      "  loop:\n    steps:\n      - {block: loop}\n";
  const auto with = [&](const std::string& step) {
    return std::string(head) + blocks + "steps:\n  - " + step + "\noutputs: x\n";
  };
  CHECK(refusal(with("{block: b, in: x, out: y, n: 1}")) == "accepted");
  CHECK(refusal(with("{block: b, in: x, out: y}")).find("needs the parameter 'n'") !=
        std::string::npos);
  CHECK(refusal(with("{block: b, in: x, out: y, n: 1, m: 2}")).find("unknown key 'm'") !=
        std::string::npos);
  CHECK(refusal(with("{block: b, in: [x, x], out: y, n: 1}")).find("takes 1 inputs, not 2") !=
        std::string::npos);
  CHECK(refusal(with("{block: b, in: x, out: [y, z], n: 1}")).find("gives 1 outputs, not 2") !=
        std::string::npos);
  CHECK(refusal(with("{block: loop}")).find("nested too deeply") != std::string::npos);
}

TEST_CASE("the embedded default is models/default.yaml and runs to finite values") {
  const auto embedded = frontend::default_model();
  const auto file = frontend::read_recipe(std::string(SYSTOLE_SOURCE_DIR) + "/models/default.yaml",
                                          random_options());
  CHECK(embedded.nodes.size() == file.nodes.size());
  const auto y = graph::evaluate(embedded, seeded_inputs(embedded));
  CHECK(y.at(0).shape == graph::Shape{1, 196, 64});
  CHECK(y.at(0) == graph::evaluate(file, seeded_inputs(file)).at(0));
  for (const double value : values_of(y.at(0))) {
    REQUIRE(std::isfinite(value));
  }
}

TEST_CASE("every recipe in models/ has a description and builds") {
  const auto entries = frontend::list_models();
  CHECK(entries.size() >= 9);
  for (const auto& entry : entries) {
    CAPTURE(entry.name);
    CHECK_FALSE(entry.description.empty());
    const auto graph = frontend::read_model(entry.name);
    CHECK(graph::verify(graph).empty());
    CHECK(graph.name == entry.name);
  }
  CHECK_THROWS_WITH_AS(
      static_cast<void>(frontend::read_model("brt")),
      doctest::Contains("neither a file nor a known model; known models: albert_large,"), Error);
}

TEST_CASE("bert: tokens that the mask drops do not change the others") {
  const auto graph = model("bert", {{"tokens", 8}, {"layers", 2}});
  auto inputs = seeded_inputs(graph);
  inputs["attention_mask"] = test::longs({1, 8}, {1, 1, 1, 1, 1, 0, 0, 0});
  const auto before = graph::evaluate(graph, inputs);
  graph::set_integer(inputs["input_ids"], 6, 99);
  const auto after = graph::evaluate(graph, inputs);
  CHECK(before.at(0).shape == graph::Shape{1, 8, 128});
  CHECK(before.at(1).shape == graph::Shape{1, 1, 128});
  CHECK(row_difference(before.at(0), after.at(0), 0, 5) < 1e-6);
  CHECK(row_difference(before.at(0), after.at(0), 6, 7) > 1e-3);
  // Layer normalisation comes last: with gains near 1 every row has about unit size.
  CHECK(std::abs(values_of(before.at(0)).at(0)) < 10);
}

TEST_CASE(
    "bert: shared layers hold one layer's weights, and a mask per layer changes operators, not "
    "values") {
  const auto separate = model("bert", {{"tokens", 8}, {"layers", 3}});
  const auto shared = model("bert", {{"tokens", 8}, {"layers", 3}, {"shared_layers", 1}});
  // One layer: four products and biases of the hidden size, two of the inner size, four norm vectors.
  const std::int64_t layer =
      4 * (128 * 128 + 128) + (128 * 512 + 512) + (512 * 128 + 128) + 4 * 128;
  CHECK(parameters_of(separate) - parameters_of(shared) == 2 * layer);
  const auto masks = model("bert", {{"tokens", 8}, {"layers", 3}, {"mask", 3}});
  CHECK(masks.nodes.size() > separate.nodes.size());
  // The same row for every layer.
  auto inputs = seeded_inputs(separate);
  inputs["attention_mask"] = test::longs({1, 8}, {1, 1, 1, 0, 1, 1, 0, 1});
  const auto once = graph::evaluate(separate, inputs);
  inputs["attention_mask"] =
      test::longs({3, 8}, {1, 1, 1, 0, 1, 1, 0, 1, 1, 1, 1, 0, 1, 1, 0, 1, 1, 1, 1, 0, 1, 1, 0, 1});
  CHECK(graph::evaluate(masks, inputs) == once);
}

TEST_CASE("llama: a later token never changes an earlier one") {
  const auto graph = model("llama", {{"tokens", 6}});
  auto inputs = seeded_inputs(graph);
  const auto before = graph::evaluate(graph, inputs);
  graph::set_integer(inputs["input_ids"], 4, 77);
  const auto after = graph::evaluate(graph, inputs);
  CHECK(before.at(0).shape == graph::Shape{1, 6, 1000});
  CHECK(row_difference(before.at(0), after.at(0), 0, 4) < 1e-6);
  CHECK(row_difference(before.at(0), after.at(0), 4, 6) > 1e-3);
}

TEST_CASE("llama: positions matter, and tables made in every layer change no value") {
  const auto graph = model("llama", {{"tokens", 6}});
  auto inputs = seeded_inputs(graph);
  inputs["input_ids"] = test::longs({1, 6}, {1, 2, 3, 4, 5, 6});
  const auto straight = graph::evaluate(graph, inputs);
  inputs["input_ids"] = test::longs({1, 6}, {2, 1, 3, 4, 5, 6});
  const auto swapped = graph::evaluate(graph, inputs);
  CHECK(row_difference(straight.at(0), swapped.at(0), 5, 6) >
        1e-3);  // without positions the last row would be equal
  // Constants, operators once, operators in each of the two layers: the same values.
  std::size_t operators = graph.nodes.size();
  for (const std::int64_t kind : {2, 3}) {
    const auto other = model("llama", {{"tokens", 6}, {"mask", kind}, {"rotary", kind}});
    CHECK(other.nodes.size() > operators);
    operators = other.nodes.size();
    std::vector<std::int64_t> ones;
    std::vector<std::int64_t> places;
    for (std::int64_t i = 0; i < 6 * (kind - 1); ++i) {
      ones.push_back(1);
      places.push_back(i % 6);
    }
    inputs["attention_mask"] = test::longs({kind - 1, 6}, ones);
    inputs["positions"] = test::longs({kind - 1, 6}, places);
    CHECK(row_difference(graph::evaluate(other, inputs).at(0), swapped.at(0), 0, 6) < 1e-5);
  }
}

TEST_CASE("resnet50 has the published number of parameters and the shape of its logits") {
  frontend::Options options;
  const auto graph = frontend::read_model("resnet50", options);
  // 25,557,032 with scale and offset per channel, to which batch normalisation's four vectors fold.
  CHECK(parameters_of(graph) == 25'557'032);
  CHECK(graph.tensors[graph.outputs.at(0)].shape == graph::Shape{1, 1000});
  std::int64_t convolutions = 0;
  for (const auto& node : graph.nodes) {
    convolutions += std::holds_alternative<graph::Convolution>(node.op) ? 1 : 0;
  }
  CHECK(convolutions == 53);
  const auto small = model("resnet50", {{"extent", 32}, {"width", 4}, {"classes", 10}});
  const auto y = graph::evaluate(small, seeded_inputs(small));
  CHECK(y.at(0).shape == graph::Shape{1, 10});
  CHECK(std::isfinite(values_of(y.at(0)).at(0)));
}

TEST_CASE("unet: sizes per level, and the output covers the input") {
  const auto graph = model("unet", {{"extent", 16}, {"depth", 2}, {"width", 4}});
  // Pairs: 3->4, 4->8, 8->16, then 16->8 after 16->8 upwards, 8->4 after 8->4 upwards, and the 1x1 convolution to 2 classes.
  const auto pair = [](std::int64_t from, std::int64_t to) {
    return 9 * from * to + to + 9 * to * to + to;
  };
  const std::int64_t up = 4 * 16 * 8 + 8 + pair(16, 8) + 4 * 8 * 4 + 4 + pair(8, 4);
  CHECK(parameters_of(graph) == pair(3, 4) + pair(4, 8) + pair(8, 16) + up + 4 * 2 + 2);
  const auto y = graph::evaluate(graph, seeded_inputs(graph));
  CHECK(y.at(0).shape == graph::Shape{1, 2, 16, 16});
  CHECK(std::isfinite(values_of(y.at(0)).at(0)));
}

TEST_CASE("encoder_decoder: the target is causal and masked source tokens do not matter") {
  const auto graph = model("encoder_decoder", {{"tokens", 6}, {"steps", 4}});
  auto inputs = seeded_inputs(graph);
  inputs["source_mask"] = test::longs({1, 6}, {1, 1, 1, 1, 0, 0});
  const auto first = graph::evaluate(graph, inputs);
  CHECK(first.at(0).shape == graph::Shape{1, 4, 1000});
  graph::set_integer(inputs["source_ids"], 5, 321);
  CHECK(row_difference(first.at(0), graph::evaluate(graph, inputs).at(0), 0, 4) < 1e-5);
  graph::set_integer(inputs["target_ids"], 2, 123);
  const auto second = graph::evaluate(graph, inputs);
  CHECK(row_difference(first.at(0), second.at(0), 0, 2) < 1e-5);
  CHECK(row_difference(first.at(0), second.at(0), 2, 4) > 1e-3);
  graph::set_integer(inputs["source_ids"], 1, 55);
  CHECK(row_difference(second.at(0), graph::evaluate(graph, inputs).at(0), 0, 1) >
        1e-4);  // cross attention is there
}

TEST_CASE("both forms of the mixture of experts compute the same with the same weights") {
  const std::map<std::string, std::int64_t> dims = {
      {"tokens", 5}, {"hidden", 8}, {"inner", 6}, {"experts", 4}};
  const auto unrolled = model("moe_unrolled", dims);
  auto batched = model("moe_batched", dims);
  const std::string part = "decoder/layer0/part/experts/";
  for (const std::string matrix : {"gate", "up", "down"}) {
    const std::string target = part + "experts_batched/" + matrix + "_w";
    graph::Array stacked = constant(batched, target);
    for (int e = 0; e < 4; ++e) {
      const std::string turn = e == 0 ? "" : std::to_string(e - 1) + "/";
      const auto one = constant(unrolled, part + "experts_unrolled/" + turn + "expert" +
                                              std::to_string(e) + "/part/" + matrix + "/w");
      std::copy(one.data.begin(), one.data.end(),
                stacked.data.begin() + static_cast<std::ptrdiff_t>(one.data.size()) * e);
    }
    replace_constant(batched, target, stacked);
  }
  const auto inputs = seeded_inputs(unrolled);
  const auto a = graph::evaluate(unrolled, inputs);
  const auto b = graph::evaluate(batched, inputs);
  CHECK(a.at(0).shape == graph::Shape{1, 5, 1000});
  CHECK(row_difference(a.at(0), b.at(0), 0, 5) < 1e-5);
  const auto without = model("llama", {{"tokens", 5}, {"hidden", 8}, {"inner", 6}, {"layers", 1}});
  CHECK(row_difference(a.at(0), graph::evaluate(without, inputs).at(0), 0, 5) >
        1e-3);  // the experts do something of their own
}

TEST_CASE(
    "perceiver: the order of the input tokens does not matter, repeated passes share weights") {
  const auto graph = model("perceiver", {{"tokens", 4}});
  auto inputs = seeded_inputs(graph);
  const auto before = graph::evaluate(graph, inputs);
  CHECK(before.at(0).shape == graph::Shape{1, 1, 10});
  graph::Array& x = inputs["features"];
  std::rotate(x.data.begin(), x.data.begin() + 64 * 4, x.data.end());  // by one token
  CHECK(row_difference(before.at(0), graph::evaluate(graph, inputs).at(0), 0, 1) < 1e-5);
  graph::set(x, 0, 3.0);
  CHECK(row_difference(before.at(0), graph::evaluate(graph, inputs).at(0), 0, 1) > 1e-5);
  const auto twice = model("perceiver", {{"tokens", 4}, {"repeats", 2}});
  CHECK(parameters_of(twice) == parameters_of(graph));
  CHECK(twice.nodes.size() > graph.nodes.size());
}
