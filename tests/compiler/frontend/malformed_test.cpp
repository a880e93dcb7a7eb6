#include <doctest/doctest.h>

#include <sys/resource.h>

#include <chrono>
#include <fstream>

#include "compiler/frontend/npy.hpp"
#include "compiler/frontend/onnx.hpp"
#include "compiler/frontend/recipe.hpp"
#include "isa/base/error.hpp"
#include "isa/base/random.hpp"
#include "tests/compiler/frontend/model_file.hpp"
#include "tests/compiler/frontend/onnx_cases.hpp"

using namespace systole;
using test::floats;
using test::longs;
using test::ModelFile;

namespace {

// A convolution, a reshape by shape arithmetic and a product: every kind of field a real file has.
ModelFile small_model() {
  ModelFile model;
  model.input("x", {"1", "2", "4", "4"}).output("y");
  model.initializer("w", floats({2, 2, 1, 1}, {1, 2, 3, 4}))
      .initializer("m", floats({16, 2}, std::vector<double>(32, 1)));
  model.initializer("target", longs({2}, {2, -1}));
  test::set_attribute(model.node("Conv", {"x", "w"}, {"c"}), "strides",
                      std::vector<std::int64_t>{1, 1});
  model.node("Reshape", {"c", "target"}, {"r"});
  model.node("MatMul", {"r", "m"}, {"y"}).set_name("product");
  return model;
}

// Reads; a legal outcome is a graph or an Error. Anything else (another exception, a crash, a hang) fails the test run.
bool reads(const std::filesystem::path& path) {
  try {
    static_cast<void>(frontend::read_onnx(path));
    return true;
  } catch (const Error&) {
    return false;
  }
}

std::string refusal(const ModelFile& model) {
  try {
    static_cast<void>(model.read());
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

long peak_memory_kb() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

// One to four bits flipped.
std::string flipped(std::string bytes, std::uint64_t seed) {
  Random random(seed);
  const auto last = static_cast<std::int64_t>(bytes.size()) - 1;
  for (std::int64_t flips = random.integer(1, 4); flips > 0; --flips) {
    const auto at = static_cast<std::size_t>(random.integer(0, last));
    bytes[at] = static_cast<char>(bytes[at] ^ (1 << random.integer(0, 7)));
  }
  return bytes;
}

// A stretch of text left out, doubled, or replaced by a number or a mark that means something in a recipe.
std::string edited(std::string text, std::uint64_t seed) {
  static const std::vector<std::string> words = {"9223372036854775807",
                                                 "-1",
                                                 "0",
                                                 "1e400",
                                                 "{",
                                                 "]",
                                                 "&a *a",
                                                 "2 / 0",
                                                 ": ",
                                                 "\n",
                                                 "null",
                                                 "x"};
  Random random(seed);
  const auto size = static_cast<std::int64_t>(text.size());
  const auto at = static_cast<std::size_t>(random.integer(0, size - 1));
  const auto length = static_cast<std::size_t>(random.integer(1, 12));
  const std::int64_t kind = random.integer(0, 2);
  const std::string word = kind == 0   ? ""
                           : kind == 1 ? text.substr(at, length) + text.substr(at, length)
                                       : words[static_cast<std::size_t>(random.integer(
                                             0, static_cast<std::int64_t>(words.size()) - 1))];
  return text.replace(at, length, word);
}

void cut_everywhere(const std::string& bytes) {
  int accepted = 0;
  for (std::size_t percent = 0; percent < 100; ++percent) {
    accepted +=
        reads(test::write_bytes("cut.onnx", bytes.substr(0, bytes.size() * percent / 100))) ? 1 : 0;
  }
  CHECK(accepted == 0);
}

}  // namespace

TEST_CASE("a file cut at every percent of its length is refused") {
  cut_everywhere(small_model().proto().SerializeAsString());
}

TEST_CASE("files with flipped bits give a graph or one error, in bounded time") {
  const std::string bytes = small_model().proto().SerializeAsString();
  const auto start = std::chrono::steady_clock::now();
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    static_cast<void>(reads(test::write_bytes("flipped.onnx", flipped(bytes, seed))));
  }
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(60));
}

TEST_CASE("recipes with damaged text give a graph or one error, in bounded time") {
  std::ifstream in(std::string(SYSTOLE_SOURCE_DIR) + "/models/default.yaml");
  const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  REQUIRE(text.size() > 500);
  frontend::Options bounded;
  bounded.constant_bytes = 1 << 26;
  bounded.nodes = 20'000;
  const auto start = std::chrono::steady_clock::now();
  int refused = 0;
  for (std::uint64_t seed = 0; seed < 600; ++seed) {
    try {
      const std::string damaged = seed % 3 == 0 ? flipped(text, seed) : edited(text, seed);
      const graph::Graph graph = frontend::parse_recipe(damaged, "t.yaml", bounded);
      CHECK(graph::verify(graph).empty());
    } catch (const Error& error) {
      ++refused;
      CHECK(std::string(error.what()).find("t.yaml") == 0);
      CHECK(std::string(error.what()).find('\n') == std::string::npos);
    }
  }
  CHECK(refused > 100);
  CHECK(refused < 600);
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(60));
}

TEST_CASE("arrays with flipped bits give an array or one error") {
  const auto path = test::temporary_folder() / "whole.npy";
  frontend::write_npy(path, longs({2, 3}, {1, 2, 3, 4, 5, 6}));
  std::ifstream in(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  int refused = 0;
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    try {
      const auto array = frontend::read_npy(test::write_bytes("flipped.npy", flipped(bytes, seed)));
      CHECK(graph::elements(array.shape) * graph::size_of(array.type) == 48);
    } catch (const Error&) {
      ++refused;
    }
  }
  CHECK(refused > 100);
  CHECK(refused < 1000);
}

TEST_CASE("a real file is cut and flipped without harm") {
  const auto shared = test::shared_folder();
  std::ifstream in(shared / "onnx" / "light_squeezenet.onnx", std::ios::binary);
  if (shared.empty() || !in) {
    MESSAGE("SKIPPED: no folder 'shared' with models (set SYSTOLE_SHARED)");
    return;
  }
  const std::string bytes{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  cut_everywhere(bytes);
}

TEST_CASE("a claim of gigabytes in a tiny file costs no memory") {
  const long before = peak_memory_kb();
  ModelFile model = small_model();
  auto* tensor = model.proto().mutable_graph()->mutable_initializer(0);
  tensor->set_dims(0, 500'000'000);
  CHECK(refusal(model).find("of data, the file holds 16") != std::string::npos);
  tensor->set_dims(0, std::int64_t{1} << 62U);
  CHECK(refusal(model).find("negative or too large") != std::string::npos);
  tensor->set_dims(0, -4);
  CHECK(refusal(model).find("negative or too large") != std::string::npos);
  ModelFile filled;
  filled.initializer("shape", longs({2}, {100'000, 100'000})).output("y");
  filled.node("ConstantOfShape", {"shape"}, {"y"});
  CHECK(refusal(filled).find("constants need more than") != std::string::npos);
  ModelFile overflowing;
  overflowing.initializer("shape", longs({3}, {4'000'000'000, 4'000'000'000, 4'000'000'000}))
      .output("y");
  overflowing.node("ConstantOfShape", {"shape"}, {"y"});
  CHECK(refusal(overflowing).find("more than 1099511627776 elements") != std::string::npos);
  ModelFile range;
  range.initializer("a", longs({}, {0}))
      .initializer("b", longs({}, {1LL << 39U}))
      .initializer("c", longs({}, {1}))
      .output("y");
  range.node("Range", {"a", "b", "c"}, {"y"});
  CHECK(refusal(range) != "accepted");
  CHECK(peak_memory_kb() - before < 200'000);
}

TEST_CASE("absurd extents of inputs are refused before anything is computed with them") {
  for (const char* extent : {"4611686018427387904", "9223372036854775807"}) {
    ModelFile model;
    model.input("x", {extent, extent}).output("y");
    model.node("Relu", {"x"}, {"y"});
    CHECK(refusal(model).find("more than") != std::string::npos);
  }
  ModelFile unknown;
  unknown.input("x", {"-1"}).output("y");
  unknown.node("Relu", {"x"}, {"y"});
  CHECK(
      refusal(unknown).find(
          "extents without a value: x:0; give each as --dim NAME=VALUE, for example --dim x:0=1") !=
      std::string::npos);
}

TEST_CASE("structural faults are named") {
  ModelFile cycle;
  cycle.input("x", {"1"}).output("a");
  cycle.node("Add", {"x", "b"}, {"a"}).set_name("first");
  cycle.node("Neg", {"a"}, {"b"});
  CHECK(refusal(cycle).find("node 'first': the node depends on its own output (a cycle)") == 0);

  ModelFile dangling;
  dangling.input("x", {"1"}).output("y");
  dangling.node("Add", {"x", "ghost"}, {"y"}).set_name("sum");
  CHECK(refusal(dangling).find("sum: value 'ghost' is not defined") == 0);

  ModelFile twice;
  twice.input("x", {"1"}).output("y");
  twice.node("Neg", {"x"}, {"y"});
  twice.node("Abs", {"x"}, {"y"});
  CHECK(refusal(twice).find("value 'y' is produced twice") != std::string::npos);

  ModelFile no_output;
  no_output.input("x", {"1"});
  CHECK(refusal(no_output).find("has no outputs") != std::string::npos);

  ModelFile unsupported;
  unsupported.input("x", {"1"}).output("y");
  unsupported.node("Mystery", {"x"}, {"a"}).set_name("m1");
  unsupported.node("Mystery", {"a"}, {"b"});
  auto& vendor = unsupported.node("Special", {"b"}, {"y"});
  vendor.set_domain("acme");
  CHECK(refusal(unsupported)
            .find("unsupported operators: Mystery (node 'm1' and 1 more), acme.Special (node "
                  "Special -> 'y')") != std::string::npos);

  ModelFile missing;
  missing.input("x", {"rows", "columns"}).output("y");
  missing.node("Relu", {"x"}, {"y"});
  CHECK(refusal(missing).find("extents without a value: columns, rows") != std::string::npos);
  frontend::Options options;
  options.dims = {{"rows", 1}, {"columns", 2}, {"colums", 2}};
  CHECK_THROWS_WITH_AS(
      static_cast<void>(missing.read(options)),
      doctest::Contains("no extent is called 'colums'; names in this model: columns, rows, x"),
      Error);
}

TEST_CASE(
    "a shape that comes with values must fit what the model states, and gives shared symbols "
    "values") {
  ModelFile model;
  model.input("x", {"n", "3"}).input("z", {"n", "3"}).output("y");
  model.node("Add", {"x", "z"}, {"y"});
  frontend::Options options;
  options.input_shapes["x"] = {5, 3};
  CHECK(model.read(options).tensors[model.read(options).inputs.at(1)].shape == graph::Shape{5, 3});
  for (const graph::Shape& shape : {graph::Shape{5, 4}, graph::Shape{5}, graph::Shape{1, 5, 3}}) {
    options.input_shapes["x"] = shape;
    CHECK_THROWS_WITH_AS(static_cast<void>(model.read(options)),
                         doctest::Contains("--input x: the array is ["), Error);
  }
}

TEST_CASE("a graph input that decides a shape is refused by name") {
  ModelFile model;
  model.input("x", {"4"}).input("target", {"2"}, onnx::TensorProto::INT64).output("y");
  model.node("Reshape", {"x", "target"}, {"y"}).set_name("shape it");
  CHECK(refusal(model) ==
        "shape it: Reshape: shape (operand 'target') depends on the values of a graph input; it "
        "must be known at compile time");
}

TEST_CASE("deep nesting and endless recursion are refused") {
  ModelFile nested;
  nested.input("x", {"1"}).initializer("yes", longs({}, {1})).output("y");
  auto* graph = nested.proto().mutable_graph();
  for (int depth = 0; depth < 40; ++depth) {
    auto* node = graph->add_node();
    node->set_op_type("If");
    node->add_input(std::string("yes"));
    node->add_output(std::string("y"));
    auto* attribute = node->add_attribute();
    attribute->set_name("then_branch");
    graph = attribute->mutable_g();
    graph->add_output()->set_name("y");
  }
  CHECK(refusal(nested) != "accepted");

  ModelFile recursive;
  recursive.input("x", {"1"}).output("y");
  auto* function = recursive.proto().add_functions();
  function->set_domain("mine");
  function->set_name("Again");
  function->add_input(std::string("a"));
  function->add_output(std::string("b"));
  auto* inner = function->add_node();
  inner->set_domain("mine");
  inner->set_op_type("Again");
  inner->add_input(std::string("a"));
  inner->add_output(std::string("b"));
  recursive.node("Again", {"x"}, {"y"}).set_domain("mine");
  CHECK(refusal(recursive).find("functions call each other too deeply") != std::string::npos);
}

TEST_CASE("wrong paths and other kinds of files are refused") {
  const auto message = [](const std::filesystem::path& path) {
    try {
      static_cast<void>(frontend::read_onnx(path));
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  CHECK(message("/no/such/file.onnx") == "/no/such/file.onnx: no such file; check the path");
  CHECK(message(test::temporary_folder()).find("no such file") != std::string::npos);
  CHECK(message(test::write_bytes("empty.onnx", "")).find("holds no graph") != std::string::npos);
  CHECK(message(test::write_bytes("text.onnx", "name: default\nsteps: []\n")) != "accepted");
}
