#include "compiler/frontend/recipe.hpp"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <set>
#include <sstream>
#include <utility>

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include "compiler/frontend/expression.hpp"
#include "compiler/frontend/onnx/importer.hpp"
#include "compiler/frontend/onnx/table.hpp"
#include "isa/base/error.hpp"

namespace systole::frontend {

namespace {

constexpr int recipe_opset = 18;
constexpr int deepest_block = 32;
constexpr int deepest_nesting = 200;
constexpr std::int64_t most_steps = 1'000'000;

std::string read_text(const std::filesystem::path& path) {
  std::error_code error;
  std::ifstream in(path, std::ios::binary);
  const auto size = std::filesystem::file_size(path, error);
  if (!in || error || !std::filesystem::is_regular_file(path, error)) {
    throw Error(path.string(), "cannot be read", "check the path");
  }
  if (size > (std::uintmax_t{1} << 22U)) {
    throw Error(path.string(), "is larger than 4 MB, too large for a recipe");
  }
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

// What a step sees: integers by name, values by name, and the path of blocks around it. Turns that share their weights
// have one weight path.
struct Frame {
  Parameters parameters;
  Scope scope;
  std::string path, weight_path;
  int depth = 0;
};

// A piece of YAML and the file that errors in it name.
struct Source {
  std::string file;
  YAML::Node node;
};

class Interpreter {
 public:
  Interpreter(std::string file, const Options& options)
      : file_(std::move(file)), options_(options), importer_(options, {}) {}

  graph::Graph run(const YAML::Node& given);

 private:
  [[noreturn]] void fail(const YAML::Node& at, const std::string& what,
                         const std::string& remedy = {}) const;
  void check_keys(const YAML::Node& map, const std::vector<std::string>& known) const;
  YAML::Node required(const YAML::Node& map, const char* key, const char* kind) const;
  std::string text(const YAML::Node& node, const char* what) const;
  std::vector<std::string> names(const YAML::Node& node, const Frame& frame) const;
  std::string name(const YAML::Node& node, const Frame& frame) const;
  std::vector<std::string> output_names(const YAML::Node& node, const Frame& frame) const;
  Number number(const YAML::Node& node, const Frame& frame) const;
  std::int64_t integer(const YAML::Node& node, const Frame& frame) const;
  Shape shape(const YAML::Node& node, const Frame& frame) const;
  ElementType type(const YAML::Node& node) const;
  bool applies(const YAML::Node& map, const Frame& frame) const {
    return !map["when"] || number(map["when"], frame).value != 0;
  }

  Source load(const YAML::Node& name) const;
  void add_blocks(const Source& recipe);
  void read_parameters(const YAML::Node& node, const Source& overrides, Frame& frame);
  void read_inputs(const YAML::Node& node, Frame& frame);
  void run_steps(const YAML::Node& steps, Frame& frame);
  void run_step(const YAML::Node& step, Frame& frame);
  void add_weights(const YAML::Node& step, Frame& frame);
  TensorId weight(const YAML::Node& at, const std::string& name, ElementType type,
                  const Shape& extents);
  void add_constant(const YAML::Node& step, Frame& frame);
  void run_operator(const YAML::Node& step, Frame& frame);
  void run_block(const YAML::Node& step, Frame& frame);
  void run_repeat(const YAML::Node& step, Frame& frame);
  void set_attribute(proto::AttributeProto& attribute, const YAML::Node& value,
                     const Frame& frame) const;

  std::string file_;
  Options options_;
  Importer importer_;
  std::map<std::string, Source> blocks_;
  std::map<std::string, TensorId> weights_;
  ElementType default_type_ = ElementType::f32;
  std::int64_t steps_ = 0;
  int nesting_ = 0;  // lists of steps being run
};

void Interpreter::fail(const YAML::Node& at, const std::string& what,
                       const std::string& remedy) const {
  const YAML::Mark mark = at.Mark();
  const std::string where =
      mark.is_null() ? file_ : fmt::format("{}:{}:{}", file_, mark.line + 1, mark.column + 1);
  throw Error(where, what, remedy);
}

void Interpreter::check_keys(const YAML::Node& map, const std::vector<std::string>& known) const {
  if (!map.IsMap()) {
    fail(map, fmt::format("a map with the keys {} is expected here", fmt::join(known, ", ")));
  }
  std::set<std::string> seen;
  for (const auto& entry : map) {
    const std::string key = text(entry.first, "a key");
    if (std::find(known.begin(), known.end(), key) == known.end()) {
      fail(entry.first, fmt::format("unknown key '{}'", key),
           fmt::format("known: {}", fmt::join(known, ", ")));
    }
    if (!seen.insert(key).second) {
      fail(entry.first, fmt::format("key '{}' stands twice", key));
    }
  }
}

YAML::Node Interpreter::required(const YAML::Node& map, const char* key, const char* kind) const {
  const YAML::Node found = map[key];
  if (!found) {
    fail(map, fmt::format("{} needs the key '{}'", kind, key));
  }
  return found;
}

std::string Interpreter::text(const YAML::Node& node, const char* what) const {
  if (!node.IsScalar()) {
    fail(node, fmt::format("{} must be one word", what));
  }
  return node.Scalar();
}

// A name with its {expressions} replaced by their values.
std::string Interpreter::name(const YAML::Node& node, const Frame& frame) const {
  const std::string raw = text(node, "a name");
  std::string out;
  for (std::size_t at = 0; at < raw.size(); ++at) {
    if (raw[at] != '{') {
      out += raw[at];
      continue;
    }
    const auto end = raw.find('}', at);
    if (end == std::string::npos) {
      fail(node, fmt::format("'{}' has no closing brace", raw));
    }
    try {
      out += fmt::format(
          "{}", evaluate_expression(raw.substr(at + 1, end - at - 1), frame.parameters).integer);
    } catch (const Error& error) {
      fail(node, error.what());
    }
    at = end;
  }
  return out;
}

std::vector<std::string> Interpreter::names(const YAML::Node& node, const Frame& frame) const {
  std::vector<std::string> out;
  if (!node.IsDefined() || node.IsNull()) {
    return out;
  }
  if (!node.IsSequence()) {
    return {name(node, frame)};
  }
  for (const auto& item : node) {
    out.push_back(item.IsNull() ? std::string() : name(item, frame));
  }
  return out;
}

Number Interpreter::number(const YAML::Node& node, const Frame& frame) const {
  try {
    return evaluate_expression(text(node, "a number"), frame.parameters);
  } catch (const Error& error) {
    fail(node, error.what());
  }
}

std::int64_t Interpreter::integer(const YAML::Node& node, const Frame& frame) const {
  const Number value = number(node, frame);
  if (value.real) {
    fail(node, fmt::format("'{}' is not an integer", node.Scalar()));
  }
  return value.integer;
}

Shape Interpreter::shape(const YAML::Node& node, const Frame& frame) const {
  if (!node.IsSequence()) {
    fail(node, "a shape is a list of extents");
  }
  Shape out;
  for (const auto& item : node) {
    out.push_back(integer(item, frame));
    if (out.back() < 0) {
      fail(item, fmt::format("extent '{}' is {}", item.Scalar(), out.back()));
    }
  }
  return out;
}

ElementType Interpreter::type(const YAML::Node& node) const {
  const auto found = graph::find_element_type(text(node, "an element type"));
  if (!found) {
    fail(node, fmt::format("unknown element type '{}'", node.Scalar()),
         "for example f32, bf16, i64, boolean");
  }
  return *found;
}

// Another recipe file, named relative to this one and without its ending.
Source Interpreter::load(const YAML::Node& name) const {
  const std::string given = text(name, "a recipe");
  const auto plain = [](char c) {
    return std::isalnum(c) != 0 || c == '_' || c == '-' || c == '/';
  };
  if (given.empty() || !std::all_of(given.begin(), given.end(), plain)) {
    fail(name, fmt::format("'{}' is not the name of a recipe", given),
         "letters, digits, _, - and /; it is looked up beside this file");
  }
  const auto path = std::filesystem::path(file_).parent_path() / (given + ".yaml");
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) {
    fail(name, fmt::format("there is no recipe {}", path.string()));
  }
  try {
    return {path.string(), YAML::Load(read_text(path))};
  } catch (const YAML::Exception& problem) {
    throw Error(
        fmt::format("{}:{}:{}", path.string(), problem.mark.line + 1, problem.mark.column + 1),
        problem.msg, "check the YAML syntax");
  }
}

// The recipe's own blocks and those of the files it uses.
void Interpreter::add_blocks(const Source& recipe) {
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
void Interpreter::read_parameters(const YAML::Node& node, const Source& overrides, Frame& frame) {
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

void Interpreter::read_inputs(const YAML::Node& node, Frame& frame) {
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

void Interpreter::run_steps(const YAML::Node& steps, Frame& frame) {
  if (!steps.IsSequence()) {
    fail(steps, "steps are a list");
  }
  if (++nesting_ > deepest_nesting) {  // an anchor may even stand inside itself
    fail(steps, "steps are nested too deeply");
  }
  for (const auto& step : steps) {
    run_step(step, frame);
  }
  --nesting_;
}

void Interpreter::run_step(const YAML::Node& step, Frame& frame) {
  if (++steps_ > most_steps) {
    fail(step, fmt::format("the recipe takes more than {} steps", most_steps));
  }
  if (!step.IsMap()) {
    fail(step, "a step is a map with one of the keys op, block, repeat, weights, constant");
  }
  if (!applies(step, frame)) {
    return;
  }
  if (step["op"]) {
    run_operator(step, frame);
  } else if (step["block"]) {
    run_block(step, frame);
  } else if (step["repeat"]) {
    run_repeat(step, frame);
  } else if (step["weights"]) {
    add_weights(step, frame);
  } else if (step["constant"]) {
    add_constant(step, frame);
  } else {
    fail(step, "a step needs one of the keys op, block, repeat, weights, constant");
  }
}

void Interpreter::add_weights(const YAML::Node& step, Frame& frame) {
  check_keys(step, {"weights", "when"});
  const YAML::Node list = step["weights"];
  if (!list.IsMap()) {
    fail(list, "weights are a map from names to shapes or {shape, type}");
  }
  for (const auto& entry : list) {
    const std::string key = name(entry.first, frame);
    const bool is_short = entry.second.IsSequence();
    if (!is_short) {
      check_keys(entry.second, {"shape", "type"});
    }
    const Shape extents =
        shape(is_short ? entry.second : required(entry.second, "shape", "a weight"), frame);
    const ElementType element =
        !is_short && entry.second["type"] ? type(entry.second["type"]) : default_type_;
    frame.scope.values[key] = weight(entry.second, frame.weight_path + key, element, extents);
  }
}

// A name met again is a weight that turns share.
TensorId Interpreter::weight(const YAML::Node& at, const std::string& name, ElementType type,
                             const Shape& extents) {
  importer_.build().set_origin(name);
  if (const auto known = weights_.find(name); known != weights_.end()) {
    return known->second;
  }
  try {
    return weights_[name] = importer_.build().weight(name, type, extents);
  } catch (const Error& error) {
    fail(at, error.what());
  }
}

// One value everywhere, a list of values, or 0, 1, ... up to a range.
void Interpreter::add_constant(const YAML::Node& step, Frame& frame) {
  check_keys(step, {"constant", "type", "shape", "value", "values", "range", "when"});
  const std::string key = name(step["constant"], frame);
  const ElementType element = step["type"] ? type(step["type"]) : default_type_;
  Builder& build = importer_.build();
  build.set_origin(frame.path + key);
  try {
    if (step["range"]) {
      frame.scope.values[key] =
          build.iota(std::max<std::int64_t>(0, integer(step["range"], frame)), element);
    } else if (step["values"]) {
      std::vector<double> values;
      for (const auto& item : step["values"]) {
        values.push_back(number(item, frame).value);
      }
      const Shape extents = step["shape"] ? shape(step["shape"], frame)
                                          : Shape{static_cast<std::int64_t>(values.size())};
      build.check_size(extents);
      if (graph::elements(extents) != static_cast<std::int64_t>(values.size())) {
        fail(step["values"],
             fmt::format("{} values do not fill {}", values.size(), graph::to_string(extents)));
      }
      frame.scope.values[key] = build.reals(values, element, extents);
    } else {
      const Shape extents = step["shape"] ? shape(step["shape"], frame) : Shape{};
      frame.scope.values[key] = build.filled(
          extents, number(required(step, "value", "a constant"), frame).value, element);
    }
  } catch (const Error& error) {
    fail(step, error.what());
  }
}

void Interpreter::set_attribute(proto::AttributeProto& attribute, const YAML::Node& value,
                                const Frame& frame) const {
  // Quoted scalars are texts; bare ones are expressions where all their names are known.
  const auto is_number = [&](const YAML::Node& node) {
    return node.IsScalar() && node.Tag() != "!" && is_expression(node.Scalar(), frame.parameters);
  };
  if (value.IsScalar() && is_number(value)) {
    const Number n = number(value, frame);
    if (n.real) {
      attribute.set_f(static_cast<float>(n.value));
    } else {
      attribute.set_i(n.integer);
    }
  } else if (value.IsScalar()) {
    attribute.set_s(value.Scalar());
  } else if (value.IsSequence()) {
    for (const auto& item : value) {
      if (!is_number(item)) {
        attribute.add_strings(text(item, "an entry"));
        continue;
      }
      const Number n = number(item, frame);
      if (n.real) {
        attribute.add_floats(static_cast<float>(n.value));
      } else {
        attribute.add_ints(n.integer);
      }
    }
  } else {
    fail(value, "an attribute is a number, a word or a list of them");
  }
}

void Interpreter::run_operator(const YAML::Node& step, Frame& frame) {
  proto::NodeProto node;
  const std::string op = text(step["op"], "an operator");
  if (find_converter("", op) == nullptr) {
    fail(step["op"], fmt::format("unknown operator '{}'", op),
         "operators are those of ONNX that can be read");
  }
  node.set_op_type(op);
  for (const std::string& input : names(step["in"], frame)) {
    if (!input.empty() && !frame.scope.values.contains(input)) {
      fail(step["in"], fmt::format("no value '{}' here", input));
    }
    node.add_input(input);
  }
  for (const std::string& output : names(required(step, "out", "an operator"), frame)) {
    node.add_output(output);
  }
  node.set_name(frame.path + (node.output_size() > 0 ? node.output(0) : op));
  std::set<std::string> seen;
  for (const auto& entry : step) {
    const std::string key = text(entry.first, "a key");
    if (!seen.insert(key).second) {
      fail(entry.first, fmt::format("key '{}' stands twice", key));
    }
    if (key != "op" && key != "in" && key != "out" && key != "when") {
      proto::AttributeProto* attribute = node.add_attribute();
      attribute->set_name(key);
      set_attribute(*attribute, entry.second, frame);
    }
  }
  try {
    importer_.convert(node, frame.scope);
  } catch (const Error& error) {
    fail(step, error.what());
  }
}

void Interpreter::run_block(const YAML::Node& step, Frame& frame) {
  const std::string key = text(step["block"], "a block");
  const auto defined = blocks_.find(key);
  if (defined == blocks_.end()) {
    fail(step["block"], fmt::format("no block '{}'", key),
         "blocks are defined under the key blocks, here or in a recipe under use");
  }
  const YAML::Node block = defined->second.node;
  const std::string outside = std::exchange(file_, defined->second.file);
  check_keys(block, {"parameters", "inputs", "outputs", "steps"});
  file_ = outside;
  Frame inner;
  inner.depth = frame.depth + 1;
  if (inner.depth > deepest_block) {
    fail(step, "blocks are nested too deeply");
  }
  std::vector<std::string> known = {"block", "name", "in", "out", "when"};
  for (const auto& parameter : block["parameters"]) {
    const std::string wanted = text(parameter, "a parameter");
    known.push_back(wanted);
    const auto around = frame.parameters.find(wanted);
    if (!step[wanted] && around == frame.parameters.end()) {
      fail(step, fmt::format("block '{}' needs the parameter '{}'", key, wanted));
    }
    inner.parameters[wanted] = step[wanted] ? number(step[wanted], frame) : around->second;
  }
  check_keys(step, known);
  const std::string own = (step["name"] ? name(step["name"], frame) : key) + "/";
  inner.path = frame.path + own;
  inner.weight_path = frame.weight_path + own;
  inner.scope.opset = recipe_opset;
  inner.scope.strict = true;
  const std::vector<std::string> formal = names(block["inputs"], inner);
  const std::vector<std::string> actual = names(step["in"], frame);
  if (formal.size() != actual.size()) {
    fail(step,
         fmt::format("block '{}' takes {} inputs, not {}", key, formal.size(), actual.size()));
  }
  for (std::size_t i = 0; i < formal.size(); ++i) {
    const auto found = frame.scope.values.find(actual[i]);
    if (found == frame.scope.values.end()) {
      fail(step["in"], fmt::format("no value '{}' here", actual[i]));
    }
    inner.scope.values[formal[i]] = found->second;
  }
  file_ = defined->second.file;
  run_steps(required(block, "steps", "a block"), inner);
  file_ = outside;
  const std::vector<std::string> results = names(block["outputs"], inner);
  const std::vector<std::string> targets = names(step["out"], frame);
  if (results.size() != targets.size()) {
    fail(step,
         fmt::format("block '{}' gives {} outputs, not {}", key, results.size(), targets.size()));
  }
  for (std::size_t i = 0; i < results.size(); ++i) {
    const auto found = inner.scope.values.find(results[i]);
    if (found == inner.scope.values.end()) {
      fail(block["outputs"],
           fmt::format("block '{}' does not define its output '{}'", key, results[i]));
    }
    frame.scope.values[targets[i]] = found->second;
  }
}

// The steps see and set the names around them, so that a value can be carried from turn to turn. Turns that share use
// the weights of the first.
void Interpreter::run_repeat(const YAML::Node& step, Frame& frame) {
  check_keys(step, {"repeat", "index", "name", "shared", "steps", "when"});
  const std::int64_t count = integer(step["repeat"], frame);
  const std::string index = step["index"] ? text(step["index"], "an index") : std::string();
  const bool shared = step["shared"] && number(step["shared"], frame).value != 0;
  const std::string path = frame.path;
  const std::string weight_path = frame.weight_path;
  const Parameters outside = frame.parameters;
  if (frame.parameters.contains(index)) {
    fail(step["index"], fmt::format("'{}' is already a parameter", index));
  }
  for (std::int64_t i = 0; i < count; ++i) {
    if (!index.empty()) {
      frame.parameters[index] = Number::of(i);
    }
    const std::string own = step["name"] ? name(step["name"], frame) : "";
    frame.path = fmt::format("{}{}{}/", path, own, i);
    frame.weight_path = fmt::format("{}{}{}/", weight_path, own, shared ? 0 : i);
    run_steps(required(step, "steps", "a repetition"), frame);
    if (++steps_ > most_steps) {
      fail(step, fmt::format("the recipe takes more than {} steps", most_steps));
    }
  }
  frame.path = path;
  frame.weight_path = weight_path;
  frame.parameters = outside;
}

// Names, or maps of a name and when it is an output.
std::vector<std::string> Interpreter::output_names(const YAML::Node& node,
                                                   const Frame& frame) const {
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
graph::Graph Interpreter::run(const YAML::Node& given) {
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

graph::Graph parse_recipe(const std::string& text, const std::string& file,
                          const Options& options) {
  try {
    return Interpreter(file, options).run(YAML::Load(text));
  } catch (const YAML::Exception& error) {
    throw Error(fmt::format("{}:{}:{}", file, error.mark.line + 1, error.mark.column + 1),
                error.msg, "check the YAML syntax");
  }
}

graph::Graph read_recipe(const std::filesystem::path& path, const Options& options) {
  return parse_recipe(read_text(path), path.string(), options);
}

std::string recipe_description(const std::filesystem::path& path) {
  try {
    const YAML::Node root = YAML::Load(read_text(path));
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
