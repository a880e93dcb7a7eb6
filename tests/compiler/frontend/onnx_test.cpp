#include "compiler/frontend/onnx.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>

#include "compiler/frontend/onnx/table.hpp"
#include "compiler/graph/evaluate.hpp"
#include "isa/base/error.hpp"
#include "tests/compiler/frontend/model_file.hpp"

using namespace systole;
using test::floats;
using test::longs;
using test::ModelFile;
using test::values_of;
using Doubles = std::vector<double>;

TEST_CASE("the operator table is sorted, so that looking up finds every row") {
  const auto rows = frontend::operator_table();
  for (std::size_t i = 1; i < rows.size(); ++i) {
    CHECK(rows[i - 1].name < rows[i].name);
  }
  CHECK((frontend::find_converter("", "Conv") != nullptr));
  CHECK((frontend::find_converter("ai.onnx", "Conv") != nullptr));
  CHECK((frontend::find_converter("com.microsoft", "FastGelu") != nullptr));
  CHECK((frontend::find_converter("com.microsoft", "Conv") == nullptr));
}

TEST_CASE("softmax flattens from its axis on before opset 13 and works along one axis since") {
  for (const int opset : {11, 13}) {
    ModelFile model(opset);
    model.input("x", {"1", "2", "2"}).output("y");
    test::set_attribute(model.node("Softmax", {"x"}, {"y"}), "axis", 1);
    const auto y = model.run({{"x", floats({1, 2, 2}, {0, 0, 0, 0})}});
    CHECK(values_of(y.at(0)) == (opset == 11 ? Doubles(4, 0.25) : Doubles(4, 0.5)));
  }
}

TEST_CASE("axes are read from the attribute in old opsets and from the operand in new ones") {
  ModelFile old(11);
  old.input("x", {"2", "1", "3"}).output("y");
  test::set_attribute(old.node("Squeeze", {"x"}, {"y"}), "axes", std::vector<std::int64_t>{1});
  ModelFile recent(13);
  recent.input("x", {"2", "1", "3"}).initializer("axes", longs({1}, {-2})).output("y");
  recent.node("Squeeze", {"x", "axes"}, {"y"});
  for (const ModelFile* model : {&old, &recent}) {
    const auto graph = model->read();
    CHECK(graph.tensors[graph.outputs.at(0)].shape == graph::Shape{2, 3});
  }
}

TEST_CASE("shape arithmetic leaves no operator behind") {
  ModelFile model;
  model.input("x", {"N", "6"})
      .initializer("zero", longs({}, {0}))
      .initializer("two", longs({1}, {2}));
  model.initializer("axis", longs({1}, {0})).output("y");
  model.node("Shape", {"x"}, {"shape"});
  model.node("Gather", {"shape", "zero"}, {"n"});
  model.node("Unsqueeze", {"n", "axis"}, {"n1"});
  model.node("Mul", {"n1", "two"}, {"rows"});
  test::set_attribute(model.node("Constant", {}, {"rest"}), "value_ints",
                      std::vector<std::int64_t>{-1});
  test::set_attribute(model.node("Concat", {"rows", "rest"}, {"target"}), "axis", 0);
  model.node("Reshape", {"x", "target"}, {"y"});
  frontend::Options options;
  options.dims["N"] = 2;
  const auto graph = model.read(options);
  REQUIRE(graph.nodes.size() == 1);
  CHECK(graph.tensors[graph.outputs.at(0)].shape == graph::Shape{4, 3});
  CHECK(graph.tensors[graph.outputs.at(0)].name == "y");
}

TEST_CASE("what depends on the values of a graph input stays in the graph") {
  ModelFile model;
  model.input("x", {"2"}).initializer("one", floats({2}, {1, 1})).output("y");
  model.node("Add", {"one", "one"}, {"two"});
  model.node("Mul", {"x", "two"}, {"y"});
  const auto graph = model.read();
  CHECK(graph.nodes.size() == 1);
  CHECK(values_of(model.run({{"x", floats({2}, {3, 4})}}).at(0)) == Doubles{6, 8});
}

TEST_CASE("an initializer that is listed as an input too is a constant") {
  ModelFile model;
  model.input("x", {"2"}).input("w", {"2"}).initializer("w", floats({2}, {5, 6})).output("y");
  model.node("Add", {"x", "w"}, {"y"});
  const auto graph = model.read();
  CHECK(graph.inputs.size() == 1);
  CHECK(frontend::input_names(model.write()) == std::vector<std::string>{"x"});
  CHECK(values_of(model.run({{"x", floats({2}, {1, 1})}}).at(0)) == Doubles{6, 7});
}

TEST_CASE(
    "inputs named in the metadata entry 'weights' are constants, without data unless a seed is "
    "given") {
  ModelFile model;
  model.input("x", {"2", "3"}).input("w", {"3", "4"}).output("y");
  auto* entry = model.proto().add_metadata_props();
  entry->set_key("weights");
  entry->set_value("[\"w\"]");
  model.node("MatMul", {"x", "w"}, {"y"});
  const auto absent = model.read();
  CHECK(absent.inputs.size() == 1);
  const auto weight = absent.nodes[graph::NodeId(0)].inputs.at(1);
  CHECK(absent.tensors[weight].kind == graph::TensorKind::constant);
  CHECK(absent.tensors[weight].data == nullptr);
  frontend::Options options;
  options.random_weights = 3;
  const auto first = model.read(options);
  const auto second = model.read(options);
  REQUIRE(first.tensors[weight].data != nullptr);
  CHECK(*first.tensors[weight].data == *second.tensors[weight].data);
  options.random_weights = 4;
  CHECK_FALSE(*model.read(options).tensors[weight].data == *first.tensors[weight].data);
}

TEST_CASE("operators on weights without data give weights without data") {
  ModelFile model;
  model.input("x", {"2", "3"}).input("w", {"4", "3"}).output("y");
  auto* entry = model.proto().add_metadata_props();
  entry->set_key("weights");
  entry->set_value("[\"w\"]");
  test::set_attribute(model.node("Transpose", {"w"}, {"t"}), "perm",
                      std::vector<std::int64_t>{1, 0});
  model.node("MatMul", {"x", "t"}, {"y"});
  const auto graph = model.read();
  CHECK(graph.nodes.size() == 1);
  CHECK(graph.tensors[graph.nodes[graph::NodeId(0)].inputs.at(1)].shape == graph::Shape{3, 4});
}

TEST_CASE("a scalar integer input is fixed by --dim, so that a condition on it picks its branch") {
  ModelFile model;
  model.input("x", {"2"})
      .input("rate", {}, onnx::TensorProto::INT64)
      .initializer("k", longs({}, {16}))
      .output("y");
  model.node("Equal", {"rate", "k"}, {"condition"});
  auto& node = model.node("If", {"condition"}, {"y"});
  for (const char* branch : {"then_branch", "else_branch"}) {
    auto* attribute = node.add_attribute();
    attribute->set_name(branch);
    auto* inner = attribute->mutable_g()->add_node();
    inner->set_op_type(std::string(branch) == "then_branch" ? "Neg" : "Abs");
    inner->add_input("x");
    inner->add_output("r");
    attribute->mutable_g()->add_output()->set_name("r");
  }
  const auto x = floats({2}, {-1, 2});
  frontend::Options options;
  options.dims["rate"] = 16;
  CHECK(values_of(model.run({{"x", x}}, options).at(0)) == Doubles{1, -2});
  CHECK(model.read(options).nodes.size() == 1);
  options.dims["rate"] = 8;
  CHECK(values_of(model.run({{"x", x}}, options).at(0)) == Doubles{1, 2});
  // Not fixed: both branches stay and the value selects.
  CHECK(values_of(model.run({{"x", x}, {"rate", longs({}, {16})}}).at(0)) == Doubles{1, -2});
  CHECK(values_of(model.run({{"x", x}, {"rate", longs({}, {9})}}).at(0)) == Doubles{1, 2});
}

TEST_CASE("a loop with a constant trip count is unrolled") {
  ModelFile model;
  model.input("x", {"2"}).initializer("trips", longs({}, {3})).output("last").output("all");
  auto& node = model.node("Loop", {"trips", "", "x"}, {"last", "all"});
  auto* attribute = node.add_attribute();
  attribute->set_name("body");
  auto* body = attribute->mutable_g();
  for (const char* name : {"turn", "go", "state"}) {
    body->add_input()->set_name(name);
  }
  auto* same = body->add_node();
  same->set_op_type("Identity");
  same->add_input("go");
  same->add_output("still");
  auto* sum = body->add_node();
  sum->set_op_type("Add");
  sum->add_input("state");
  sum->add_input("x");  // from around the loop
  sum->add_output("next");
  for (const char* name : {"still", "next", "next"}) {
    body->add_output()->set_name(name);
  }
  const auto out = model.run({{"x", floats({2}, {1, 10})}});
  CHECK(values_of(out.at(0)) == Doubles{4, 40});
  CHECK(out.at(1).shape == graph::Shape{3, 2});
  CHECK(values_of(out.at(1)) == Doubles{2, 20, 3, 30, 4, 40});
}

TEST_CASE("a model-local function is inlined with its attributes bound") {
  ModelFile model;
  model.input("x", {"2", "3"}).output("y");
  auto* function = model.proto().add_functions();
  function->set_domain("mine");
  function->set_name("Turn");
  function->add_input("a");
  function->add_output("b");
  function->add_attribute("order");
  auto* inner = function->add_node();
  inner->set_op_type("Transpose");
  inner->add_input("a");
  inner->add_output("b");
  auto* reference = inner->add_attribute();
  reference->set_name("perm");
  reference->set_ref_attr_name("order");
  auto& node = model.node("Turn", {"x"}, {"y"});
  node.set_domain("mine");
  test::set_attribute(node, "order", std::vector<std::int64_t>{1, 0});
  const auto y = model.run({{"x", floats({2, 3}, {1, 2, 3, 4, 5, 6})}});
  CHECK(values_of(y.at(0)) == Doubles{1, 4, 2, 5, 3, 6});
}

TEST_CASE("nodes out of order are sorted and dead nodes are dropped, whatever they are") {
  ModelFile model;
  model.input("x", {"1"}).output("y");
  model.node("Neg", {"a"}, {"y"});
  model.node("Abs", {"x"}, {"a"});
  model.node("NoSuchOperator", {"x"}, {"unused"});
  CHECK(values_of(model.run({{"x", floats({1}, {-2})}}).at(0)) == Doubles{-2});
}

TEST_CASE("the source node's name survives as the origin of every operator it became") {
  ModelFile model;
  model.input("x", {"2", "3"}).output("y");
  model.node("Softmax", {"x"}, {"y"}).set_name("attention/softmax");
  const auto graph = model.read();
  CHECK(graph.nodes.size() == 5);
  for (const auto& node : graph.nodes) {
    CHECK(node.origin == "attention/softmax");
  }
}

TEST_CASE("external data is read from beside the model and absent data makes absent weights") {
  const auto weight = floats({2}, {3, 4});
  test::write_bytes(
      "weights.bin",
      std::string(4, 'x') + std::string(reinterpret_cast<const char*>(weight.data.data()), 8));
  ModelFile model;
  model.input("x", {"2"}).initializer("w", weight).output("y");
  model.node("Add", {"x", "w"}, {"y"});
  auto* tensor = model.proto().mutable_graph()->mutable_initializer(0);
  tensor->clear_raw_data();
  tensor->set_data_location(onnx::TensorProto::EXTERNAL);
  const auto locate = [&](const std::string& location, const std::string& offset) {
    tensor->clear_external_data();
    auto* entry = tensor->add_external_data();
    entry->set_key("location");
    entry->set_value(location);
    entry = tensor->add_external_data();
    entry->set_key("offset");
    entry->set_value(offset);
  };
  locate("weights.bin", "4");
  CHECK(values_of(model.run({{"x", floats({2}, {1, 1})}}).at(0)) == Doubles{4, 5});
  locate("nowhere.bin", "4");
  const auto graph = model.read();
  CHECK(graph.tensors[graph.nodes[graph::NodeId(0)].inputs.at(1)].data == nullptr);
  locate("weights.bin", "8");
  CHECK_THROWS_WITH_AS(static_cast<void>(model.read()),
                       doctest::Contains("needs 8 bytes of data, the file holds 4"), Error);
  locate("weights.bin", "-1");
  CHECK_THROWS_AS(static_cast<void>(model.read()), Error);
  std::filesystem::create_directories(test::temporary_folder() / "links");
  std::error_code error;
  std::filesystem::create_directory_symlink("/etc", test::temporary_folder() / "links/out", error);
  for (const char* path :
       {"../weights.bin", "/etc/passwd", "a/../../weights.bin", "", "links/out/passwd"}) {
    CAPTURE(path);
    locate(path, "0");
    CHECK_THROWS_WITH_AS(static_cast<void>(model.read()),
                         doctest::Contains("leaves the model's folder"), Error);
  }
}

TEST_CASE("half precision and bfloat16 initializers keep their bits") {
  for (const auto& [type, bits] :
       {std::pair{onnx::TensorProto::FLOAT16, 0x3e00}, {onnx::TensorProto::BFLOAT16, 0x3fc0}}) {
    ModelFile model;
    model.input("x", {"1"}, type).output("y");
    auto* tensor = model.proto().mutable_graph()->add_initializer();
    tensor->set_name("w");
    tensor->set_data_type(type);
    tensor->add_dims(1);
    tensor->add_int32_data(bits);  // 1.5 in both
    model.node("Add", {"x", "w"}, {"y"});
    const auto graph = model.read();
    CHECK(graph::get(*graph.tensors[graph.nodes[graph::NodeId(0)].inputs.at(1)].data, 0) == 1.5);
  }
}

TEST_CASE(
    "the operators of a file are counted, bodies and functions included, with those that cannot be "
    "read") {
  ModelFile model;
  model.input("x", {"1"}).output("y");
  model.node("Relu", {"x"}, {"a"});
  auto* attribute = model.node("If", {"c"}, {"y"}).add_attribute();
  attribute->set_name("then_branch");
  attribute->mutable_g()->add_node()->set_op_type(std::string("Relu"));
  auto* function = model.proto().add_functions();
  function->set_domain("mine");
  function->set_name("Known");
  model.node("Known", {"a"}, {"b"}).set_domain("mine");
  model.node("Mystery", {"a"}, {"d"});
  std::vector<std::string> found;
  for (const auto& row : frontend::source_operators(model.write())) {
    found.push_back(row.name + " " + std::to_string(row.count) + (row.supported ? "" : " no"));
  }
  CHECK(found == std::vector<std::string>{"If 1", "Mystery 1 no", "Relu 2", "mine.Known 1"});
}

TEST_CASE("TopK gives the earlier of equal elements first") {
  ModelFile model;
  model.input("x", {"4"}).initializer("k", longs({1}, {3})).output("values").output("places");
  model.node("TopK", {"x", "k"}, {"values", "places"});
  const auto out = model.run({{"x", floats({4}, {3, 1, 3, 2})}});
  CHECK(values_of(out.at(0)) == Doubles{3, 3, 2});
  CHECK(values_of(out.at(1)) == Doubles{0, 2, 3});
}

// The expected values are computed here, element by element, from the definition.
TEST_CASE("a filter of many strides over one channel gives what its taps say") {
  constexpr int samples = 103;
  constexpr int taps = 21;
  constexpr int stride = 9;
  constexpr int low = 4;
  constexpr int high = 7;
  ModelFile model;
  model.input("x", {"1", "1", std::to_string(samples)}).output("y");
  Doubles filter;
  for (int i = 0; i < 2 * taps; ++i) {
    filter.push_back(i % 5 - 2);
  }
  model.initializer("w", floats({2, 1, taps}, filter));
  auto& node = model.node("Conv", {"x", "w"}, {"y"});
  test::set_attribute(node, "strides", std::vector<std::int64_t>{stride});
  test::set_attribute(node, "pads", std::vector<std::int64_t>{low, high});
  std::vector<double> x;
  for (int i = 0; i < samples; ++i) {
    x.push_back(i % 7 - 3);
  }
  Doubles expected;
  for (int o = 0; o < 2; ++o) {
    for (int at = -low; at + taps <= samples + high; at += stride) {
      double sum = 0;
      for (int k = 0; k < taps; ++k) {
        const int position = at + k;
        if (position >= 0 && position < samples) {
          sum += filter[static_cast<std::size_t>(o * taps + k)] *
                 x[static_cast<std::size_t>(position)];
        }
      }
      expected.push_back(sum);
    }
  }
  const auto out = model.run({{"x", floats({1, 1, samples}, x)}});
  CHECK(values_of(out.at(0)) == expected);
  const graph::Graph graph = model.read();
  const auto& nodes = graph.nodes;
  const bool folded = std::any_of(nodes.begin(), nodes.end(), [&](const graph::Node& n) {
    const auto* op = std::get_if<graph::Convolution>(&n.op);
    return op != nullptr && op->strides == std::vector<std::int64_t>{1} &&
           graph.tensors[n.inputs[0]].shape[1] == stride;
  });
  CHECK(folded);
}

TEST_CASE("a filter as large as the operand is one product") {
  ModelFile model;
  model.input("x", {"2", "2", "3", "2"}).output("y");
  model.initializer("w", floats({1, 2, 3, 2}, {1, 0, -1, 2, 0, 1, 3, 1, 0, -2, 1, 1}));
  test::set_attribute(model.node("Conv", {"x", "w"}, {"y"}), "strides",
                      std::vector<std::int64_t>{3, 2});
  Doubles x;
  for (int i = 0; i < 24; ++i) {
    x.push_back(i);
  }
  // 0 - 2 + 6 + 5 + 18 + 7 - 18 + 10 + 11 = 37; every value 12 more adds 12 * 7.
  const auto out = model.run({{"x", floats({2, 2, 3, 2}, x)}});
  CHECK(values_of(out.at(0)) == Doubles{37, 121});
  for (const graph::Node& node : model.read().nodes) {
    if (const auto* op = std::get_if<graph::Convolution>(&node.op)) {
      CHECK(op->strides == std::vector<std::int64_t>{1, 1});
    }
  }
}

TEST_CASE("a large window is pooled axis by axis, padding and dilations included") {
  constexpr int side = 40;
  constexpr int kernel = 17;
  ModelFile model;
  model.input("x", {"1", "1", std::to_string(side), std::to_string(side)});
  model.output("largest").output("mean");
  auto& largest = model.node("MaxPool", {"x"}, {"largest"});
  test::set_attribute(largest, "dilations", std::vector<std::int64_t>{2, 1});
  auto& mean = model.node("AveragePool", {"x"}, {"mean"});
  for (auto* node : {&largest, &mean}) {
    test::set_attribute(*node, "kernel_shape", std::vector<std::int64_t>{kernel, kernel});
    test::set_attribute(*node, "strides", std::vector<std::int64_t>{3, 5});
    test::set_attribute(*node, "pads", std::vector<std::int64_t>{1, 3, 2, 0});
  }
  std::vector<double> x;
  for (int i = 0; i < side * side; ++i) {
    x.push_back(-1.0 - (i * 37) % 101);
  }
  const auto pooled = [&](int dilation, bool average) {
    Doubles out;
    for (int r = -1; r + (kernel - 1) * dilation < side + 2; r += 3) {
      for (int c = -3; c + kernel - 1 < side; c += 5) {
        double best = -1e9;
        double sum = 0;
        int count = 0;
        for (int k = 0; k < kernel * kernel; ++k) {
          const int row = r + k / kernel * dilation;
          const int column = c + k % kernel;
          if (row >= 0 && row < side && column >= 0 && column < side) {
            const double value = x[static_cast<std::size_t>(row * side + column)];
            best = std::max(best, value);
            sum += value;
            ++count;
          }
        }
        out.push_back(average ? sum / count : best);
      }
    }
    return out;
  };
  const auto out = model.run({{"x", floats({1, 1, side, side}, x)}});
  CHECK(values_of(out.at(0)) == pooled(2, false));
  const Doubles means = values_of(out.at(1));
  const Doubles expected = pooled(1, true);
  REQUIRE(means.size() == expected.size());
  for (std::size_t i = 0; i < means.size(); ++i) {
    CHECK(means[i] == doctest::Approx(expected[i]).epsilon(1e-5));
  }
  for (const graph::Node& node : model.read().nodes) {
    if (const auto* op = std::get_if<graph::Window>(&node.op)) {
      CHECK(graph::elements(op->kernel) == kernel);
    }
  }
}

TEST_CASE("pooling rounded up gives one window to an operand shorter than the kernel") {
  ModelFile model;
  model.input("x", {"1", "1", "2"}).output("largest").output("mean");
  for (const auto& [op, output] : {std::pair{"MaxPool", "largest"}, {"AveragePool", "mean"}}) {
    auto& node = model.node(op, {"x"}, {output});
    test::set_attribute(node, "kernel_shape", std::vector<std::int64_t>{3});
    test::set_attribute(node, "strides", std::vector<std::int64_t>{2});
    test::set_attribute(node, "ceil_mode", 1);
  }
  const auto out = model.run({{"x", floats({1, 1, 2}, {-4, -2})}});
  CHECK(values_of(out.at(0)) == Doubles{-2});
  CHECK(values_of(out.at(1)) == Doubles{-3});
}
