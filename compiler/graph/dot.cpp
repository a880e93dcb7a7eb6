#include <fmt/format.h>

#include "compiler/graph/text.hpp"

namespace systole::graph {
namespace {

std::string escape(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
    }
    out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return out;
}

std::string label_of(const Graph& graph, TensorId id, std::string_view title,
                     const PrintOptions& options) {
  const Tensor& tensor = graph.tensors[id];
  std::string label =
      fmt::format("{}\\n{}{}", escape(title), name_of(tensor.type), to_string(tensor.shape));
  const std::string note = options.note ? options.note(id) : std::string();
  return note.empty() ? label : label + "\\n" + escape(note);
}

}  // namespace

std::string print_dot(const Graph& graph, const PrintOptions& options) {
  std::string text = fmt::format("digraph \"{}\" {{\n  node [shape=box, fontname=\"monospace\"];\n",
                                 escape(graph.name));
  IdVector<TensorId, char> shown(graph.tensors.size(), 0);
  const auto box = [&](TensorId id, std::string_view title, std::string_view style) {
    if (shown[id] == 0) {
      shown[id] = 1;
      text += fmt::format("  t{} [label=\"{}\"{}];\n", id.index(),
                          label_of(graph, id, title, options), style);
    }
  };
  for (const TensorId id : graph.inputs) {
    box(id, "input " + graph.tensors[id].name, ", style=rounded");
  }
  for (const Node& node : graph.nodes) {
    box(node.output, fmt::format("{} {}", name_of(node.op), node.origin), "");
    for (const TensorId input : node.inputs) {
      if (graph.tensors[input].kind != TensorKind::constant) {
        text += fmt::format("  t{} -> t{};\n", input.index(), node.output.index());
      }
    }
  }
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
    const TensorId id = graph.outputs[i];
    box(id, "constant " + graph.tensors[id].name, ", style=dashed");
    text += fmt::format("  o{} [label=\"output {}\", style=rounded];\n  t{} -> o{};\n", i,
                        escape(graph.output_names[i]), id.index(), i);
  }
  return text + "}\n";
}

}  // namespace systole::graph
