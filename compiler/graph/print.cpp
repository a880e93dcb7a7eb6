#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <type_traits>

#include "compiler/graph/op_fields.hpp"
#include "compiler/graph/text.hpp"

namespace systole::graph {
namespace {

std::string quote(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string number(double value) {
  return std::isnan(value) ? "nan" : fmt::format("{}", value);
}

// The shortest text that reads back as this float; reading goes through double, so that is tried.
std::string number(float value) {
  const std::string text = std::isnan(value) ? "nan" : fmt::format("{}", value);
  double back = 0.0;
  std::from_chars(text.data(), text.data() + text.size(), back);
  return static_cast<float>(back) == value || std::isnan(value)
             ? text
             : number(static_cast<double>(value));
}

std::string element(const Array& array, std::int64_t i) {
  if (is_float(array.type)) {
    return array.type == ElementType::f64 ? number(get(array, i))
                                          : number(static_cast<float>(get(array, i)));
  }
  return array.type == ElementType::u64
             ? fmt::format("{}", static_cast<std::uint64_t>(get_integer(array, i)))
             : fmt::format("{}", get_integer(array, i));
}

bool is_splat(const Array& array) {
  const auto size = static_cast<std::size_t>(size_of(array.type));
  for (std::size_t i = size; i < array.data.size(); ++i) {
    if (array.data[i] != array.data[i - size]) {
      return false;
    }
  }
  return !array.data.empty();
}

std::string value_text(const Tensor& tensor, const PrintOptions& options) {
  if (tensor.data == nullptr) {
    return "absent";
  }
  const Array& array = *tensor.data;
  const std::int64_t count = elements(array.shape);
  if (count > 1 && is_splat(array)) {
    return "splat " + element(array, 0);
  }
  if (count > options.inline_limit) {
    return fmt::format("omitted {:016x}", hash_of(array));
  }
  std::string text = "[";
  for (std::int64_t i = 0; i < count; ++i) {
    text += i > 0 ? ", " : "";
    text += element(array, i);
  }
  return text + "]";
}

template <class T>
std::string field_text(const T& value) {
  if constexpr (std::is_same_v<T, double>) {
    return number(value);
  } else if constexpr (std::is_same_v<T, bool>) {
    return value ? "true" : "false";
  } else if constexpr (std::is_same_v<T, ReduceFunction> || std::is_same_v<T, ScatterMode>) {
    return std::string(name_of(value));
  } else if constexpr (std::is_integral_v<T>) {
    return fmt::format("{}", value);
  } else {
    return fmt::format("[{}]", fmt::join(value, ","));
  }
}

std::string type_text(const Tensor& tensor) {
  return fmt::format("{}{}", name_of(tensor.type), to_string(tensor.shape));
}

std::string note_of(const PrintOptions& options, TensorId id) {
  const std::string text = options.note ? options.note(id) : std::string();
  return text.empty() ? "" : "  # " + text;
}

std::string node_line(const Graph& graph, const Node& node, const PrintOptions& options) {
  const Tensor& output = graph.tensors[node.output];
  std::string operands;
  for (const TensorId input : node.inputs) {
    operands += fmt::format("{}%{}", operands.empty() ? "" : ", ", input.index());
  }
  std::string op = to_string(node.op);
  const std::size_t space = op.find(' ');
  op.insert(space == std::string::npos ? op.size() : space, "(" + operands + ")");
  std::string line = fmt::format("node %{} {} {} = {}", node.output.index(), type_text(output),
                                 quote(node.name), op);
  if (node.origin != node.name) {
    line += " origin=" + quote(node.origin);
  }
  if (output.name != node.name) {
    line += " tensor=" + quote(output.name);
  }
  return line + note_of(options, node.output) + "\n";
}

}  // namespace

std::uint64_t hash_of(const Array& array) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  const auto add = [&](std::uint64_t byte) { hash = (hash ^ byte) * 0x100000001b3ULL; };
  for (const char c : std::string(name_of(array.type)) + to_string(array.shape)) {
    add(static_cast<unsigned char>(c));
  }
  for (const std::byte byte : array.data) {
    add(std::to_integer<std::uint64_t>(byte));
  }
  return hash;
}

std::string to_string(const Op& op) {
  std::string text(name_of(op));
  std::vector<std::string> defaults;
  Op plain = std::visit([](const auto& each) { return Op(std::decay_t<decltype(each)>{}); }, op);
  each_field(plain, [&](const char*, const auto& value) { defaults.push_back(field_text(value)); });
  Op copy = op;
  std::size_t i = 0;
  each_field(copy, [&](const char* name, const auto& value) {
    const std::string shown = field_text(value);
    if (shown != defaults[i++] || std::is_enum_v<std::decay_t<decltype(value)>>) {
      text += fmt::format(" {}={}", name, shown);
    }
  });
  return text;
}

std::string print(const Graph& graph, const PrintOptions& options) {
  std::string text = "graph 1 " + quote(graph.name) + "\n";
  for (const TensorId id : graph.inputs) {
    text += fmt::format("input %{} {} {}{}\n", id.index(), type_text(graph.tensors[id]),
                        quote(graph.tensors[id].name), note_of(options, id));
  }
  for (const TensorId id : graph.tensors.ids()) {
    const Tensor& tensor = graph.tensors[id];
    if (tensor.kind == TensorKind::constant) {
      text += fmt::format("constant %{} {} {} = {}{}\n", id.index(), type_text(tensor),
                          quote(tensor.name), value_text(tensor, options), note_of(options, id));
    }
  }
  for (const Node& node : graph.nodes) {
    text += node_line(graph, node, options);
  }
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
    text += fmt::format("output %{} {}\n", graph.outputs[i].index(), quote(graph.output_names[i]));
  }
  return text;
}

}  // namespace systole::graph
