// What lets recipes share: families with parameters, files of blocks, turns that share weights, parameters from around.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

#include "compiler/frontend/recipe.hpp"
#include "compiler/graph/evaluate.hpp"
#include "isa/base/error.hpp"
#include "tests/compiler/frontend/model_file.hpp"

using namespace systole;
namespace fs = std::filesystem;

namespace {

// A folder of recipes that goes with the object.
class Recipes {
 public:
  Recipes() : path_(fs::temp_directory_path() / "systole_recipe_reuse_tests") {
    fs::remove_all(path_);
    fs::create_directories(path_ / "blocks");
  }
  ~Recipes() { fs::remove_all(path_); }
  Recipes(const Recipes&) = delete;
  Recipes& operator=(const Recipes&) = delete;

  Recipes& file(const std::string& name, const std::string& text) {
    std::ofstream(path_ / (name + ".yaml")) << text;
    return *this;
  }
  [[nodiscard]] graph::Graph read(const std::string& name,
                                  std::map<std::string, std::int64_t> dims = {}) const {
    frontend::Options options;
    options.dims = std::move(dims);
    options.random_weights = 1;
    const graph::Graph graph = frontend::read_recipe(path_ / (name + ".yaml"), options);
    REQUIRE(graph::verify(graph).empty());
    return graph;
  }
  // The refusal with the folder's path cut out.
  [[nodiscard]] std::string refusal(const std::string& name) const {
    try {
      static_cast<void>(read(name));
    } catch (const Error& error) {
      std::string text = error.what();
      const std::string folder = path_.string() + "/";
      for (auto at = text.find(folder); at != std::string::npos; at = text.find(folder)) {
        text.erase(at, folder.size());
      }
      return text;
    }
    return "accepted";
  }

 private:
  fs::path path_;
};

graph::Shape shape_of_output(const graph::Graph& graph) {
  return graph.tensors[graph.outputs.at(0)].shape;
}

std::size_t constants_of(const graph::Graph& graph) {
  std::size_t count = 0;
  for (const auto& tensor : graph.tensors) {
    count += tensor.kind == graph::TensorKind::constant ? 1 : 0;
  }
  return count;
}

const char* const family =
    "name: family\nparameters: {n: 2, m: 3 * n}\ninputs: {x: [n, m]}\nsteps:\n"
    "  - {op: Relu, in: x, out: y}\noutputs: [y]\n";

}  // namespace

TEST_CASE("a recipe that extends another is that one with other parameters and its own name") {
  Recipes recipes;
  recipes.file("family", family).file("big", "name: big\nextends: family\nparameters: {n: 4}\n");
  CHECK(recipes.read("big").name == "big");
  CHECK(shape_of_output(recipes.read("family")) == graph::Shape{2, 6});
  CHECK(shape_of_output(recipes.read("big")) == graph::Shape{4, 12});
  recipes.file("square", "name: square\nextends: family\nparameters: {m: n}\n");
  CHECK(shape_of_output(recipes.read("square")) == graph::Shape{2, 2});
  // The command line has the last word.
  CHECK(shape_of_output(recipes.read("big", {{"n", 5}})) == graph::Shape{5, 15});
}

TEST_CASE("what a recipe extends or replaces wrongly is refused where it stands") {
  Recipes recipes;
  recipes.file("family", family);
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"name: a\nextends: famly\n", "a.yaml:2:10: there is no recipe famly.yaml"},
      {"name: a\nextends: ../family\n", "a.yaml:2:10: '../family' is not the name of a recipe"},
      {"name: a\nextends: family\nparameters: {k: 4}\n",
       "a.yaml:3:14: unknown key 'k'; known: n, m"},
      {"name: a\nextends: family\nparameters: {m: k}\n",
       "a.yaml:3:17: expression 'k': no parameter"},
      {"name: a\nextends: family\nsteps: []\n", "a.yaml:3:1: unknown key 'steps'"},
      {"extends: family\n", "a.yaml:1:1: a recipe needs the key 'name'"},
      {"name: a\nextends: chain\n", "chain.yaml:2:1: unknown key 'extends'"}};
  recipes.file("chain", "name: chain\nextends: family\n");
  for (const auto& [text, expected] : cases) {
    recipes.file("a", text);
    const std::string got = recipes.refusal("a");
    CAPTURE(got);
    CHECK(got.find(expected) == 0);
  }
}

TEST_CASE("blocks come from the files a recipe uses, and errors name the file they stand in") {
  Recipes recipes;
  const std::string start = "name: a\nuse: [blocks/b]\ninputs: {x: [2]}\nsteps:\n";
  recipes.file("blocks/b",
               "blocks:\n  twice:\n    inputs: [x]\n    outputs: [y]\n    steps:\n"
               "      - {op: Add, in: [x, x], out: y}\n"
               "  bad:\n    inputs: [x]\n    outputs: [y]\n    steps:\n"
               "      - {op: Relu, in: z, out: y}\n");
  recipes.file("a", start + "  - {block: twice, in: x, out: y}\noutputs: [y]\n");
  const auto graph = recipes.read("a");
  CHECK(test::values_of(graph::evaluate(graph, {{"x", test::floats({2}, {3, 4})}}).at(0)) ==
        std::vector<double>{6, 8});
  recipes.file("a", start + "  - {block: bad, in: x, out: y}\noutputs: [y]\n");
  CHECK(recipes.refusal("a").find("blocks/b.yaml:11:24: no value 'z' here") == 0);
  recipes.file("a", start + "  - {block: twice, in: x, out: y}\noutputs: [z]\n");
  CHECK(recipes.refusal("a").find("a.yaml:6:10: no value 'z'") == 0);
  recipes.file(
      "a",
      start + "  - {block: twice, in: x, out: y}\noutputs: [y]\nblocks: {twice: {steps: []}}\n");
  CHECK(recipes.refusal("a").find("blocks/b.yaml:2:3: block 'twice' stands twice") == 0);
  recipes.file("blocks/b", "blocks: {}\nsteps: []\n");
  CHECK(recipes.refusal("a").find("blocks/b.yaml:2:1: unknown key 'steps'") == 0);
}

TEST_CASE("a block takes a parameter that its call leaves out from around the call") {
  Recipes recipes;
  const std::string start =
      "name: a\nparameters: {n: 3}\ninputs: {x: [2, 3]}\nblocks:\n  rows:\n    parameters: [n]\n"
      "    inputs: [x]\n    outputs: [y]\n    steps:\n"
      "      - {op: Reshape, in: x, out: y, shape: [n, -1]}\nsteps:\n";
  recipes.file("a", start + "  - {block: rows, in: x, out: y}\noutputs: [y]\n");
  CHECK(shape_of_output(recipes.read("a")) == graph::Shape{3, 2});
  recipes.file("a", start + "  - {block: rows, in: x, out: y, n: 2 * n}\noutputs: [y]\n");
  CHECK(shape_of_output(recipes.read("a")) == graph::Shape{6, 1});
}

TEST_CASE("turns that share have one set of weights, also in blocks and repetitions within") {
  Recipes recipes;
  const auto text = [](const std::string& shared) {
    return "name: a\ninputs: {x: [2]}\nblocks:\n  add:\n    inputs: [x]\n    outputs: [y]\n    "
           "steps:\n"
           "      - weights: {w: [2]}\n      - {op: Add, in: [x, w], out: y}\nsteps:\n"
           "  - repeat: 3\n    shared: " +
           shared +
           "\n    steps:\n      - repeat: 2\n        steps:\n          - {block: add, in: x, out: "
           "x}\n"
           "outputs: [x]\n";
  };
  recipes.file("a", text("1"));
  const auto shared = recipes.read("a");
  CHECK(constants_of(shared) == 2);
  CHECK(shared.nodes.size() == 6);
  CHECK(constants_of(recipes.file("a", text("0")).read("a")) == 6);
  // Three passes over the same two vectors add three times their sum.
  const auto once =
      test::values_of(graph::evaluate(shared, {{"x", test::floats({2}, {0, 0})}}).at(0));
  const auto again = test::values_of(
      graph::evaluate(shared, {{"x", test::floats({2}, {static_cast<float>(once[0]), 0})}}).at(0));
  CHECK(again[0] == doctest::Approx(2 * once[0]));
}

TEST_CASE("inputs and outputs can depend on parameters") {
  Recipes recipes;
  recipes.file(
      "a",
      "name: a\nparameters: {k: 0}\ninputs:\n  x: [2]\n  z: {shape: [3], when: k}\nsteps:\n"
      "  - {op: Relu, in: x, out: y}\n  - {op: Relu, in: z, out: v, when: k}\n"
      "outputs: [y, {name: v, when: k}]\n");
  CHECK(recipes.read("a").inputs.size() == 1);
  CHECK(recipes.read("a").outputs.size() == 1);
  const auto both = recipes.read("a", {{"k", 1}});
  CHECK(both.inputs.size() == 2);
  CHECK(both.output_names == std::vector<std::string>{"y", "v"});
}
