#include "compiler/frontend/recipe.hpp"

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>

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
constexpr std::int64_t most_steps = 1'000'000;

// What a step sees: integers by name, values by name, and the path of blocks around it.
struct Frame {
  Parameters parameters;
  Scope scope;
  std::string path;
  int depth = 0;
};

class Interpreter {
 public:
  Interpreter(std::string file, const Options& options)
      : file_(std::move(file)), options_(options), importer_(options, {}) {}

  graph::Graph run(const YAML::Node& root);

 private:
  [[noreturn]] void fail(const YAML::Node& at, const std::string& what,
                         const std::string& remedy = {}) const;
  void check_keys(const YAML::Node& map, const std::vector<std::string>& known) const;
  YAML::Node required(const YAML::Node& map, const char* key, const char* kind) const;
  std::string text(const YAML::Node& node, const char* what) const;
  std::vector<std::string> names(const YAML::Node& node, const Frame& frame) const;
  std::string name(const YAML::Node& node, const Frame& frame) const;
  Number number(const YAML::Node& node, const Frame& frame) const;
  std::int64_t integer(const YAML::Node& node, const Frame& frame) const;
  Shape shape(const YAML::Node& node, const Frame& frame) const;
  ElementType type(const YAML::Node& node) const;

  void read_parameters(const YAML::Node& node, Frame& frame) const;
  void read_inputs(const YAML::Node& node, Frame& frame);
  void run_steps(const YAML::Node& steps, Frame& frame);
  void run_step(const YAML::Node& step, Frame& frame);
  void add_weights(const YAML::Node& step, Frame& frame);
  void add_constant(const YAML::Node& step, Frame& frame);
  void run_operator(const YAML::Node& step, Frame& frame);
  void run_block(const YAML::Node& step, Frame& frame);
  void run_repeat(const YAML::Node& step, Frame& frame);
  void set_attribute(proto::AttributeProto& attribute, const YAML::Node& value,
                     const Frame& frame) const;

  std::string file_;
  Options options_;
  Importer importer_;
  YAML::Node blocks_;
  ElementType default_type_ = ElementType::f32;
  std::int64_t steps_ = 0;
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

// In the order written: later parameters may use earlier ones. Overrides replace the expression.
void Interpreter::read_parameters(const YAML::Node& node, Frame& frame) const {
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
    frame.parameters[key] =
        given != options_.dims.end() ? Number::of(given->second) : number(entry.second, frame);
    known.push_back(key);
  }
  for (const auto& [key, value] : options_.dims) {
    if (!frame.parameters.contains(key)) {
      throw Error(file_, fmt::format("the recipe has no parameter '{}'", key),
                  fmt::format("it has {}", fmt::join(known, ", ")));
    }
  }
}

void Interpreter::read_inputs(const YAML::Node& node, Frame& frame) {
  if (!node.IsMap()) {
    fail(node, "inputs are a map from names to {type, shape} or shapes");
  }
  for (const auto& entry : node) {
    const std::string key = text(entry.first, "an input");
    const bool is_short = entry.second.IsSequence();
    if (!is_short) {
      check_keys(entry.second, {"type", "shape"});
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
  for (const auto& step : steps) {
    run_step(step, frame);
  }
}

void Interpreter::run_step(const YAML::Node& step, Frame& frame) {
  if (++steps_ > most_steps) {
    fail(step, fmt::format("the recipe takes more than {} steps", most_steps));
  }
  if (!step.IsMap()) {
    fail(step, "a step is a map with one of the keys op, block, repeat, weights, constant");
  }
  if (step["when"] && number(step["when"], frame).value == 0) {
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
    importer_.build().set_origin(frame.path + key);
    try {
      const TensorId id = importer_.build().weight(frame.path + key, element, extents);
      frame.scope.values[key] = id;
    } catch (const Error& error) {
      fail(entry.second, error.what());
    }
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
  if (!blocks_ || !blocks_.IsMap() || !blocks_[key]) {
    fail(step["block"], fmt::format("no block '{}'", key),
         "blocks are defined under the key blocks");
  }
  const YAML::Node block = blocks_[key];
  check_keys(block, {"parameters", "inputs", "outputs", "steps"});
  Frame inner;
  inner.depth = frame.depth + 1;
  if (inner.depth > deepest_block) {
    fail(step, "blocks are nested too deeply");
  }
  std::vector<std::string> known = {"block", "name", "in", "out", "when"};
  for (const auto& parameter : block["parameters"]) {
    const std::string wanted = text(parameter, "a parameter");
    known.push_back(wanted);
    if (!step[wanted]) {
      fail(step, fmt::format("block '{}' needs the parameter '{}'", key, wanted));
    }
    inner.parameters[wanted] = number(step[wanted], frame);
  }
  check_keys(step, known);
  inner.path = frame.path + (step["name"] ? name(step["name"], frame) : key) + "/";
  inner.scope.opset = recipe_opset;
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
  run_steps(required(block, "steps", "a block"), inner);
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

// The steps see and set the names around them, so that a value can be carried from turn to turn.
void Interpreter::run_repeat(const YAML::Node& step, Frame& frame) {
  check_keys(step, {"repeat", "index", "name", "steps", "when"});
  const std::int64_t count = integer(step["repeat"], frame);
  const std::string index = step["index"] ? text(step["index"], "an index") : std::string();
  const std::string path = frame.path;
  const Parameters outside = frame.parameters;
  if (frame.parameters.contains(index)) {
    fail(step["index"], fmt::format("'{}' is already a parameter", index));
  }
  for (std::int64_t i = 0; i < count; ++i) {
    if (!index.empty()) {
      frame.parameters[index] = Number::of(i);
    }
    frame.path = fmt::format("{}{}{}/", path, step["name"] ? name(step["name"], frame) : "", i);
    run_steps(required(step, "steps", "a repetition"), frame);
    if (++steps_ > most_steps) {
      fail(step, fmt::format("the recipe takes more than {} steps", most_steps));
    }
  }
  frame.path = path;
  frame.parameters = outside;
}

graph::Graph Interpreter::run(const YAML::Node& root) {
  check_keys(root,
             {"name", "description", "type", "parameters", "inputs", "blocks", "steps", "outputs"});
  Frame frame;
  frame.scope.opset = recipe_opset;
  if (root["blocks"]) {
    blocks_ = root["blocks"];
  }
  if (root["type"]) {
    default_type_ = type(root["type"]);
  }
  const std::string model = text(required(root, "name", "a recipe"), "a name");
  if (root["parameters"]) {
    read_parameters(root["parameters"], frame);
  }
  read_inputs(required(root, "inputs", "a recipe"), frame);
  run_steps(required(root, "steps", "a recipe"), frame);
  std::vector<std::pair<std::string, Value>> outputs;
  for (const std::string& output : names(required(root, "outputs", "a recipe"), frame)) {
    const auto found = frame.scope.values.find(output);
    if (found == frame.scope.values.end()) {
      fail(root["outputs"], fmt::format("no value '{}' at the end of the steps", output));
    }
    outputs.emplace_back(output, found->second);
  }
  return importer_.finish(model, outputs);
}

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
