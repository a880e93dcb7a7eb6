#include "compiler/frontend/recipe.hpp"

#include <utility>
#include <vector>

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include "compiler/frontend/recipe/fields.hpp"
#include "compiler/frontend/recipe/steps.hpp"
#include "isa/base/error.hpp"

namespace systole::frontend {
namespace recipe {
namespace {

// A whole recipe: what stands around its steps.
class Recipe : private Steps {
 public:
  using Steps::Steps;

  graph::Graph run(const YAML::Node& given);

 private:
  std::vector<std::string> output_names(const YAML::Node& node, const Frame& frame) const;
  void add_blocks(const Source& recipe);
  void read_parameters(const YAML::Node& node, const Source& overrides, Frame& frame);
  void read_inputs(const YAML::Node& node, Frame& frame);
};

// The recipe's own blocks and those of the files it uses.
void Recipe::add_blocks(const Source& recipe) {
  const YAML::Node blocks = recipe.node["blocks"];
  for (const auto& entry : blocks) {
    const std::string key = text(entry.first, "a block");
    if (!blocks_.emplace(key, Source{recipe.file, entry.second}).second) {
      fail(entry.first, fmt::format("block '{}' stands twice", key));
    }
  }
  const YAML::Node used = recipe.node["use"];
  if (used && !used.IsSequence()) {
    fail(used, "use is a list of recipes");
  }
  for (const auto& item : used) {
    const Source library = load(item);
    const std::string outside = std::exchange(file_, library.file);
    check_keys(library.node, {"description", "blocks"});
    add_blocks(library);
    file_ = outside;
  }
}

// In the order written: later parameters may use earlier ones. The command line replaces an expression, and so does a
// recipe that extends this one.
void Recipe::read_parameters(const YAML::Node& node, const Source& overrides, Frame& frame) {
  std::vector<std::string> known;
  if (node && !node.IsMap()) {
    fail(node, "parameters are a map from names to expressions");
  }
  for (const auto& entry : node) {
    const std::string key = text(entry.first, "a parameter");
    const auto given = options_.dims.find(key);
    if (frame.parameters.contains(key)) {
      fail(entry.first, fmt::format("parameter '{}' stands twice", key));
    }
    const YAML::Node replaced = overrides.node[key];
    if (given != options_.dims.end()) {
      frame.parameters[key] = Number::of(given->second);
    } else if (replaced) {
      const std::string outside = std::exchange(file_, overrides.file);
      frame.parameters[key] = number(replaced, frame);
      file_ = outside;
    } else {
      frame.parameters[key] = number(entry.second, frame);
    }
    known.push_back(key);
  }
  for (const auto& [key, value] : options_.dims) {
    if (!frame.parameters.contains(key)) {
      throw Error(file_, fmt::format("the recipe has no parameter '{}'", key),
                  fmt::format("it has {}", fmt::join(known, ", ")));
    }
  }
  const std::string outside = std::exchange(file_, overrides.file);
  check_keys(overrides.node, known);
  file_ = outside;
}

void Recipe::read_inputs(const YAML::Node& node, Frame& frame) {
  if (!node.IsMap()) {
    fail(node, "inputs are a map from names to {type, shape} or shapes");
  }
  for (const auto& entry : node) {
    const std::string key = text(entry.first, "an input");
    const bool is_short = entry.second.IsSequence();
    if (!is_short) {
      check_keys(entry.second, {"type", "shape", "when"});
      if (!applies(entry.second, frame)) {
        continue;
      }
    }
    const Shape extents =
        shape(is_short ? entry.second : required(entry.second, "shape", "an input"), frame);
    const ElementType element =
        !is_short && entry.second["type"] ? type(entry.second["type"]) : default_type_;
    const auto given = options_.input_shapes.find(key);
    if (given != options_.input_shapes.end() && given->second != extents) {
      fail(entry.second,
           fmt::format("input '{}' is {}, the value given is {}", key, graph::to_string(extents),
                       graph::to_string(given->second)),
           "set the recipe's parameters with --dim");
    }
    importer_.build().set_origin(key);
    try {
      if (!frame.scope.values.emplace(key, importer_.build().input(key, element, extents)).second) {
        fail(entry.first, fmt::format("input '{}' stands twice", key));
      }
    } catch (const Error& error) {
      fail(entry.second, error.what());
    }
  }
}

// Names, or maps of a name and when it is an output.
std::vector<std::string> Recipe::output_names(const YAML::Node& node, const Frame& frame) const {
  if (!node.IsSequence()) {
    return names(node, frame);
  }
  std::vector<std::string> out;
  for (const auto& item : node) {
    if (item.IsMap()) {
      check_keys(item, {"name", "when"});
      if (!applies(item, frame)) {
        continue;
      }
    }
    const YAML::Node named = item.IsMap() ? required(item, "name", "an output") : YAML::Node(item);
    out.push_back(name(named, frame));
  }
  return out;
}

// A recipe that extends another is that one with a name and parameters of its own.
graph::Graph Recipe::run(const YAML::Node& given) {
  const std::vector<std::string> keys = {"name",   "description", "type",  "use",    "parameters",
                                         "inputs", "blocks",      "steps", "outputs"};
  const bool extends = given.IsMap() && given["extends"];
  check_keys(given, extends
                        ? std::vector<std::string>{"name", "description", "extends", "parameters"}
                        : keys);
  const std::string model = text(required(given, "name", "a recipe"), "a name");
  Source overrides{file_, YAML::Node(YAML::NodeType::Map)};
  YAML::Node root = given;
  if (extends) {
    if (given["parameters"]) {
      overrides.node.reset(given["parameters"]);
    }
    const Source family = load(given["extends"]);
    file_ = family.file;
    root.reset(family.node);
    check_keys(root, keys);
  }
  Frame frame;
  frame.scope.opset = recipe_opset;
  frame.scope.strict = true;
  add_blocks({file_, root});
  if (root["type"]) {
    default_type_ = type(root["type"]);
  }
  if (root["parameters"]) {
    read_parameters(root["parameters"], overrides, frame);
  }
  read_inputs(required(root, "inputs", "a recipe"), frame);
  run_steps(required(root, "steps", "a recipe"), frame);
  std::vector<std::pair<std::string, Value>> outputs;
  for (const std::string& output : output_names(required(root, "outputs", "a recipe"), frame)) {
    const auto found = frame.scope.values.find(output);
    if (found == frame.scope.values.end()) {
      fail(root["outputs"], fmt::format("no value '{}' at the end of the steps", output));
    }
    outputs.emplace_back(output, found->second);
  }
  if (outputs.empty()) {
    fail(root["outputs"], "a recipe needs at least one output");
  }
  return importer_.finish(model, outputs);
}

}  // namespace
}  // namespace recipe

graph::Graph parse_recipe(const std::string& text, const std::string& file,
                          const Options& options) {
  try {
    return recipe::Recipe(file, options).run(YAML::Load(text));
  } catch (const YAML::Exception& error) {
    throw Error(fmt::format("{}:{}:{}", file, error.mark.line + 1, error.mark.column + 1),
                error.msg, "check the YAML syntax");
  }
}

graph::Graph read_recipe(const std::filesystem::path& path, const Options& options) {
  return parse_recipe(recipe::read_text(path), path.string(), options);
}

std::string recipe_description(const std::filesystem::path& path) {
  try {
    const YAML::Node root = YAML::Load(recipe::read_text(path));
    return root.IsMap() && root["description"] && root["description"].IsScalar()
               ? root["description"].Scalar()
               : "";
  } catch (const YAML::Exception&) {
    return "";
  } catch (const Error&) {
    return "";
  }
}

}  // namespace systole::frontend
