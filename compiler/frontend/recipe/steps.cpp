#include "compiler/frontend/recipe/steps.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "compiler/frontend/onnx/table.hpp"
#include "isa/base/error.hpp"

namespace systole::frontend::recipe {
namespace {

constexpr int deepest_block = 32;
constexpr int deepest_nesting = 200;
constexpr std::int64_t most_steps = 1'000'000;

}  // namespace

void Steps::run_steps(const YAML::Node& steps, Frame& frame) {
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

void Steps::run_step(const YAML::Node& step, Frame& frame) {
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

void Steps::add_weights(const YAML::Node& step, Frame& frame) {
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
TensorId Steps::weight(const YAML::Node& at, const std::string& name, ElementType type,
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
void Steps::add_constant(const YAML::Node& step, Frame& frame) {
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

void Steps::set_attribute(proto::AttributeProto& attribute, const YAML::Node& value,
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

Value Steps::value(const YAML::Node& at, const std::string& name, const Frame& frame) const {
  const auto found = frame.scope.values.find(name);
  if (found == frame.scope.values.end()) {
    fail(at, fmt::format("no value '{}' here", name));
  }
  return found->second;
}

void Steps::add_attributes(proto::NodeProto& node, const YAML::Node& step,
                           const Frame& frame) const {
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
}

void Steps::run_operator(const YAML::Node& step, Frame& frame) {
  proto::NodeProto node;
  const std::string op = text(step["op"], "an operator");
  if (find_converter("", op) == nullptr) {
    fail(step["op"], fmt::format("unknown operator '{}'", op),
         "operators are those of ONNX that can be read");
  }
  node.set_op_type(op);
  for (const std::string& input : names(step["in"], frame)) {
    if (!input.empty()) {
      (void)value(step["in"], input, frame);
    }
    node.add_input(input);
  }
  for (const std::string& output : names(required(step, "out", "an operator"), frame)) {
    node.add_output(output);
  }
  node.set_name(frame.path + (node.output_size() > 0 ? node.output(0) : op));
  add_attributes(node, step, frame);
  try {
    importer_.convert(node, frame.scope);
  } catch (const Error& error) {
    fail(step, error.what());
  }
}

// What the steps of a block see: its parameters and inputs, as the step that uses it gives them.
Frame Steps::block_frame(const YAML::Node& step, const std::string& key, const YAML::Node& block,
                         const Frame& frame) const {
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
    inner.scope.values[formal[i]] = value(step["in"], actual[i], frame);
  }
  return inner;
}

void Steps::run_block(const YAML::Node& step, Frame& frame) {
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
  Frame inner = block_frame(step, key, block, frame);
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
void Steps::run_repeat(const YAML::Node& step, Frame& frame) {
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

}  // namespace systole::frontend::recipe
