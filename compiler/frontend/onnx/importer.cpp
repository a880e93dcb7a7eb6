#include "compiler/frontend/onnx/importer.hpp"

#include <algorithm>
#include <set>
#include <unordered_set>

#include <fmt/format.h>

#include "compiler/frontend/compact.hpp"
#include "compiler/frontend/onnx/order.hpp"
#include "compiler/frontend/onnx/table.hpp"
#include "compiler/frontend/onnx/tensor.hpp"
#include "isa/base/error.hpp"

namespace systole::frontend {

namespace {

constexpr int deepest_call = 32;

using Extents = std::map<std::string, std::int64_t>;

std::vector<std::string> output_names(const proto::GraphProto& graph) {
  std::vector<std::string> out;
  for (const auto& output : graph.output()) {
    out.push_back(output.name());
  }
  return out;
}

// Extent `axis` of a declared shape: its number, or the value given for its symbol; nullopt with the symbol's name
// appended to `missing` otherwise. Negative numbers are an old way to say unknown.
std::optional<std::int64_t> resolve_extent(const proto::ValueInfoProto& info, int axis,
                                           const Extents& extents, std::set<std::string>* missing,
                                           std::set<std::string>* known) {
  const auto& dim = info.type().tensor_type().shape().dim(axis);
  if (dim.has_dim_value() && dim.dim_value() >= 0) {
    return dim.dim_value();
  }
  const std::string name = dim.has_dim_param() && !dim.dim_param().empty()
                               ? dim.dim_param()
                               : fmt::format("{}:{}", info.name(), axis);
  if (known != nullptr) {
    known->insert(name);
  }
  const auto found = extents.find(name);
  if (found != extents.end()) {
    return found->second;
  }
  if (missing != nullptr) {
    missing->insert(name);
  }
  return std::nullopt;
}

std::optional<Shape> resolve_shape(const proto::ValueInfoProto& info, const Extents& extents,
                                   std::set<std::string>* missing = nullptr,
                                   std::set<std::string>* names = nullptr) {
  Shape shape;
  bool known = info.type().tensor_type().has_shape();
  for (int a = 0; known && a < info.type().tensor_type().shape().dim_size(); ++a) {
    const auto extent = resolve_extent(info, a, extents, missing, names);
    shape.push_back(extent.value_or(0));
    known = extent.has_value() || missing != nullptr;
  }
  return known ? std::optional<Shape>(shape) : std::nullopt;
}

}  // namespace

std::string describe(const proto::NodeProto& node) {
  if (!node.name().empty()) {
    return fmt::format("node '{}'", node.name());
  }
  return fmt::format("node {} -> '{}'", node.op_type(),
                     node.output_size() > 0 ? node.output(0) : "");
}

Importer::Importer(const Options& options, std::filesystem::path folder)
    : build_(options), folder_(std::move(folder)), extents_(options.dims) {}

Value Importer::lookup(const std::string& name, const Scope& scope) const {
  for (const Scope* at = &scope; at != nullptr; at = at->parent) {
    const auto found = at->values.find(name);
    if (found != at->values.end()) {
      return found->second;
    }
  }
  build_.fail(fmt::format("value '{}' is not defined", name),
              "it is neither an input, a constant nor another node's output");
}

std::optional<Shape> Importer::stated_shape(const std::string& name, const Scope& scope) const {
  const auto found = scope.stated.find(name);
  return found == scope.stated.end() ? std::nullopt : std::optional<Shape>(found->second);
}

void Importer::add_function(const proto::FunctionProto& function) {
  functions_[{function.domain(), function.name()}] = &function;
}

const proto::FunctionProto* Importer::find_function(const proto::NodeProto& node) const {
  const auto found = functions_.find({node.domain(), node.op_type()});
  return found == functions_.end() ? nullptr : found->second;
}

Values Importer::convert(const proto::NodeProto& original, Scope& scope) {
  const std::string origin =
      scope.prefix + (original.name().empty() ? describe(original).substr(5) : original.name());
  build_.set_origin(origin);
  Values operands;
  for (const std::string& name : original.input()) {
    operands.push_back(name.empty() ? Value{} : lookup(name, scope));
  }
  proto::NodeProto bound;
  const proto::NodeProto* node = &original;
  const bool refers = std::any_of(original.attribute().begin(), original.attribute().end(),
                                  [](const auto& a) { return !a.ref_attr_name().empty(); });
  if (refers) {
    bound = bind_attributes(original, scope);
    node = &bound;
  }
  Values results;
  if (const auto* function = find_function(*node)) {
    results = call_function(*function, *node, std::move(operands), scope);
  } else {
    const Converter converter = find_converter(node->domain(), node->op_type());
    if (converter == nullptr) {
      build_.fail(fmt::format("operator {} is not supported", node->op_type()));
    }
    asked_operands_.clear();
    asked_attributes_.clear();
    Call call{*node, scope.opset, std::move(operands), build_, *this, scope};
    results = converter(call);
    if (scope.strict) {
      expect_all_asked(*node);
    }
  }
  build_.set_origin(origin);
  for (int i = 0; i < node->output_size(); ++i) {
    const std::string& name = node->output(i);
    if (name.empty()) {
      continue;
    }
    if (static_cast<std::size_t>(i) >= results.size()) {
      build_.fail(fmt::format("{}: output {} ('{}') is not supported", node->op_type(), i, name));
    }
    const Value& result = results[static_cast<std::size_t>(i)];
    if (result.tensor.valid()) {
      names_.emplace(result.tensor, scope.prefix + name);
    }
    scope.values[name] = result;
  }
  return results;
}

void Importer::expect_all_asked(const proto::NodeProto& node) const {
  for (const auto& attribute : node.attribute()) {
    if (!asked_attributes_.contains(attribute.name())) {
      build_.fail(
          fmt::format("{}: attribute '{}' means nothing here", node.op_type(), attribute.name()),
          "remove it or correct its name");
    }
  }
  for (int i = 0; i < node.input_size(); ++i) {
    if (!node.input(i).empty() && !asked_operands_.contains(i)) {
      build_.fail(
          fmt::format("{}: operand {} ('{}') means nothing here", node.op_type(), i, node.input(i)),
          "remove it");
    }
  }
}

proto::NodeProto Importer::bind_attributes(const proto::NodeProto& node, const Scope& scope) const {
  proto::NodeProto bound = node;
  bound.clear_attribute();
  for (const auto& attribute : node.attribute()) {
    if (attribute.ref_attr_name().empty()) {
      *bound.add_attribute() = attribute;
      continue;
    }
    for (const Scope* at = &scope; at != nullptr; at = at->parent) {
      const auto found = at->attributes.find(attribute.ref_attr_name());
      if (found != at->attributes.end()) {
        proto::AttributeProto* copy = bound.add_attribute();
        *copy = *found->second;
        copy->set_name(attribute.name());
        break;
      }
    }
  }
  return bound;
}

Values Importer::call_function(const proto::FunctionProto& function, const proto::NodeProto& node,
                               Values operands, Scope& outer) {
  Scope scope;
  scope.depth = outer.depth + 1;
  scope.opset = outer.opset;
  scope.prefix = build_.origin() + "/";
  if (scope.depth > deepest_call) {
    build_.fail("functions call each other too deeply", "recursion is not allowed in ONNX");
  }
  for (const auto& import : function.opset_import()) {
    if (import.domain().empty() || import.domain() == "ai.onnx") {
      scope.opset = static_cast<int>(import.version());
    }
  }
  for (int i = 0; i < function.input_size(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    scope.values[function.input(i)] = at < operands.size() ? operands[at] : Value{};
  }
  for (const auto& attribute : node.attribute()) {
    scope.attributes[attribute.name()] = &attribute;
  }
  const std::vector<std::string> outputs(function.output().begin(), function.output().end());
  run_nodes(function.node(), order_nodes(function.node(), outputs).nodes, scope);
  Values results;
  for (const std::string& name : outputs) {
    results.push_back(lookup(name, scope));
  }
  return results;
}

Values Importer::run_body(const proto::GraphProto& body, const Values& inputs, Scope& outer,
                          const std::string& prefix) {
  Scope scope;
  scope.parent = &outer;
  scope.opset = outer.opset;
  scope.depth = outer.depth + 1;
  scope.prefix = prefix;
  if (scope.depth > deepest_call) {
    build_.fail("bodies are nested too deeply");
  }
  for (int i = 0; i < body.input_size() && static_cast<std::size_t>(i) < inputs.size(); ++i) {
    scope.values[body.input(i).name()] = inputs[static_cast<std::size_t>(i)];
  }
  const std::vector<std::string> outputs = output_names(body);
  const Order order = order_nodes(body.node(), outputs);
  add_initializers(body, order.external, scope);
  state_shapes(body, scope);
  run_nodes(body.node(), order.nodes, scope);
  Values results;
  for (const std::string& name : outputs) {
    results.push_back(lookup(name, scope));
  }
  return results;
}

void Importer::run_nodes(const Nodes& nodes, const std::vector<int>& order, Scope& scope) {
  for (const int i : order) {
    convert(nodes[i], scope);
  }
}

void Importer::add_initializers(const proto::GraphProto& graph,
                                const std::vector<std::string>& needed, Scope& scope) {
  const std::unordered_set<std::string> wanted(needed.begin(), needed.end());
  for (const auto& tensor : graph.initializer()) {
    if (!wanted.contains(tensor.name())) {
      continue;
    }
    const std::string name = scope.prefix + tensor.name();
    build_.set_origin(name);
    TensorContents contents = read_tensor(tensor, fmt::format("tensor '{}'", name), folder_);
    const TensorId id = contents.value ? build_.constant(name, std::move(*contents.value))
                                       : build_.weight(name, contents.type, contents.shape);
    if (!scope.values.emplace(tensor.name(), id).second) {
      throw Error(fmt::format("tensor '{}'", name), "is defined twice", "the file is damaged");
    }
  }
  for (const auto& sparse : graph.sparse_initializer()) {
    if (wanted.contains(sparse.values().name())) {
      throw Error(fmt::format("tensor '{}'", sparse.values().name()),
                  "sparse constants are not supported", "store it densely");
    }
  }
}

// An input that the options make a constant; invalid when they do not.
TensorId Importer::fixed_input(const std::string& name, ElementType type,
                               const std::optional<Shape>& shape) {
  const auto given = build_.options().fixed_inputs.find(name);
  if (given != build_.options().fixed_inputs.end()) {
    if (shape && given->second.shape != *shape) {
      build_.fail(fmt::format("the input is {}, the value given is {}", graph::to_string(*shape),
                              graph::to_string(given->second.shape)));
    }
    return build_.constant(name, graph::convert(given->second, type));
  }
  const auto number = build_.options().dims.find(name);
  if (number == build_.options().dims.end() || !shape || !shape->empty() || graph::is_float(type)) {
    return {};
  }
  Array value = graph::make_array(type, {});
  graph::set_integer(value, 0, number->second);
  return build_.constant(name, std::move(value));
}

Value Importer::add_input(const proto::ValueInfoProto& info, bool is_weight,
                          std::set<std::string>& missing, std::set<std::string>& known) {
  const std::string where = fmt::format("input '{}'", info.name());
  build_.set_origin(where);
  if (!info.type().has_tensor_type()) {
    throw Error(where, "is not a tensor",
                "sequences and optionals are supported inside a model only");
  }
  const ElementType type = element_type_of(info.type().tensor_type().elem_type(), where);
  const auto given = build_.options().input_shapes.find(info.name());
  std::optional<Shape> shape = resolve_shape(info, extents_, &missing, &known);
  if (given != build_.options().input_shapes.end()) {
    shape = given->second;
  }
  if (!shape) {
    throw Error(where, "the model does not state its rank", "give the input as an .npy file");
  }
  if (const TensorId fixed = fixed_input(info.name(), type, shape); fixed.valid()) {
    return fixed;
  }
  return is_weight ? build_.weight(info.name(), type, *shape)
                   : build_.input(info.name(), type, *shape);
}

// A shape that comes with an input's values must be one that the model states; it gives its symbols values, which other
// inputs may share.
void Importer::bind_given_shapes(const proto::GraphProto& graph) {
  for (const auto& info : graph.input()) {
    const auto given = build_.options().input_shapes.find(info.name());
    const auto& type = info.type().tensor_type();
    if (given == build_.options().input_shapes.end() || !type.has_shape()) {
      continue;
    }
    const Shape& shape = given->second;
    bool fits = type.shape().dim_size() == static_cast<int>(shape.size());
    std::vector<std::string> stated;
    for (int a = 0; a < type.shape().dim_size(); ++a) {
      const auto& dim = type.shape().dim(a);
      const bool fixed = dim.has_dim_value() && dim.dim_value() >= 0;
      stated.push_back(fixed ? fmt::format("{}", dim.dim_value()) : dim.dim_param());
      fits = fits && (!fixed || dim.dim_value() == shape[static_cast<std::size_t>(a)]);
      if (fits && !fixed && !dim.dim_param().empty()) {
        extents_.emplace(dim.dim_param(), shape[static_cast<std::size_t>(a)]);
      }
    }
    if (!fits) {
      throw Error(fmt::format("--input {}", info.name()),
                  fmt::format("the array is {}, the model states [{}]", graph::to_string(shape),
                              fmt::join(stated, ",")),
                  "give an array of that shape");
    }
  }
}

void Importer::add_inputs(const proto::GraphProto& graph, const std::vector<std::string>& weights,
                          Scope& scope) {
  const std::unordered_set<std::string> parameters(weights.begin(), weights.end());
  std::unordered_set<std::string> initialized;
  for (const auto& tensor : graph.initializer()) {
    initialized.insert(tensor.name());
  }
  std::set<std::string> missing;
  std::set<std::string> known;
  bind_given_shapes(graph);
  for (const auto& info : graph.input()) {
    if (initialized.contains(info.name())) {
      continue;
    }
    const bool has_shape = build_.options().input_shapes.contains(info.name());
    std::set<std::string> unused;
    const Value value =
        add_input(info, parameters.contains(info.name()), has_shape ? unused : missing, known);
    if (!scope.values.emplace(info.name(), value).second) {
      throw Error(fmt::format("input '{}'", info.name()), "is defined twice",
                  "the file is damaged");
    }
    known.insert(info.name());
  }
  const std::string where = graph.name().empty() ? "model" : graph.name();
  if (!missing.empty()) {
    throw Error(
        where, fmt::format("extents without a value: {}", fmt::join(missing, ", ")),
        fmt::format("give each as --dim NAME=VALUE, for example --dim {}=1", *missing.begin()));
  }
  for (const auto& [name, value] : build_.options().dims) {
    if (!known.contains(name)) {
      throw Error(where, fmt::format("no extent is called '{}'", name),
                  fmt::format("names in this model: {}", fmt::join(known, ", ")));
    }
  }
}

void Importer::state_shapes(const proto::GraphProto& graph, Scope& scope) const {
  const auto state = [&](const proto::ValueInfoProto& info) {
    if (const auto shape = resolve_shape(info, extents_)) {
      scope.stated.emplace(info.name(), *shape);
    }
  };
  std::for_each(graph.value_info().begin(), graph.value_info().end(), state);
  std::for_each(graph.output().begin(), graph.output().end(), state);
}

void Importer::collect_unsupported(const proto::NodeProto& node, int depth,
                                   std::map<std::string, std::vector<std::string>>& found) const {
  if (const auto* function = find_function(node)) {
    for (int i = 0; depth < deepest_call && i < function->node_size(); ++i) {
      collect_unsupported(function->node(i), depth + 1, found);
    }
    return;
  }
  if (find_converter(node.domain(), node.op_type()) == nullptr) {
    const bool standard = node.domain().empty() || node.domain() == "ai.onnx";
    found[standard ? node.op_type() : node.domain() + "." + node.op_type()].push_back(
        describe(node));
  }
  if (node.op_type() == "If") {
    return;  // the branch not taken need not be supported
  }
  for (const auto& attribute : node.attribute()) {
    for (int i = 0; depth < deepest_call && i < attribute.g().node_size(); ++i) {
      collect_unsupported(attribute.g().node(i), depth + 1, found);
    }
  }
}

void Importer::report_unsupported(const Nodes& nodes, const std::vector<int>& order) const {
  std::map<std::string, std::vector<std::string>> found;
  for (const int i : order) {
    collect_unsupported(nodes[i], 0, found);
  }
  if (found.empty()) {
    return;
  }
  std::vector<std::string> parts;
  for (const auto& [type, places] : found) {
    const std::string more =
        places.size() > 1 ? fmt::format(" and {} more", places.size() - 1) : "";
    parts.push_back(fmt::format("{} ({}{})", type, places[0], more));
  }
  throw Error("model", fmt::format("unsupported operators: {}", fmt::join(parts, ", ")),
              "express them by supported operators or as model-local functions");
}

graph::Graph Importer::read(const proto::GraphProto& graph, const std::vector<std::string>& weights,
                            int opset, const std::string& name) {
  const std::vector<std::string> outputs = output_names(graph);
  if (outputs.empty()) {
    throw Error(name, "the model has no outputs", "the file is truncated or damaged");
  }
  Scope scope;
  scope.opset = opset;
  const Order order = order_nodes(graph.node(), outputs);
  report_unsupported(graph.node(), order.nodes);
  add_inputs(graph, weights, scope);
  add_initializers(graph, order.external, scope);
  state_shapes(graph, scope);
  run_nodes(graph.node(), order.nodes, scope);
  std::vector<std::pair<std::string, Value>> results;
  build_.set_origin("outputs");
  for (const std::string& output : outputs) {
    results.emplace_back(output, lookup(output, scope));
  }
  return finish(name, results);
}

graph::Graph Importer::finish(const std::string& name,
                              const std::vector<std::pair<std::string, Value>>& outputs) {
  graph::Graph& graph = build_.graph();
  graph.name = name;
  std::set<std::string> taken;
  for (const TensorId id : graph.inputs) {
    taken.insert(graph.tensors[id].name);
  }
  // A recipe may carry a value from the input of that name to the output of that name: programs name each tensor once.
  const auto free_name = [&taken](std::string wanted) {
    return taken.contains(wanted) ? wanted + "_out" : wanted;
  };
  for (const auto& [output, value] : outputs) {
    if (value.sequence != nullptr) {  // one output per item
      for (std::size_t i = 0; i < value.sequence->size(); ++i) {
        graph.outputs.push_back((*value.sequence)[i]);
        graph.output_names.push_back(fmt::format("{}[{}]", output, i));
      }
    } else if (value.tensor.valid()) {
      graph.outputs.push_back(value.tensor);
      graph.output_names.push_back(free_name(output));
    } else {
      throw Error(fmt::format("output '{}'", output), "is an empty optional, not a tensor");
    }
  }
  return compact(graph, names_);
}

}  // namespace systole::frontend
