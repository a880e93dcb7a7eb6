// systole inspect: what a model is made of.
#include <fmt/format.h>

#include <cstdio>
#include <map>

#include "compiler/driver/commands.hpp"
#include "compiler/driver/inspect_width.hpp"
#include "compiler/driver/output_file.hpp"
#include "compiler/driver/pipeline.hpp"
#include "compiler/driver/table.hpp"
#include "compiler/frontend/model.hpp"
#include "compiler/graph/facts.hpp"
#include "compiler/layout/apply.hpp"
#include "compiler/layout/text.hpp"
#include "isa/base/error.hpp"

namespace systole::driver {
namespace {

std::string boundary_text(const graph::Graph& graph) {
  using A = Table::Align;
  Table table({{"", A::left}, {"name", A::left}, {"type", A::left}, {"shape", A::left}});
  const auto row = [&](const char* what, const std::string& name, graph::TensorId id) {
    const graph::Tensor& tensor = graph.tensors[id];
    table.row(
        {what, name, std::string(graph::name_of(tensor.type)), graph::to_string(tensor.shape)});
  };
  for (const graph::TensorId id : graph.inputs) {
    row("input", graph.tensors[id].name, id);
  }
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
    row("output", graph.output_names[i], graph.outputs[i]);
  }
  return table.text();
}

// The operators of an ONNX file where some cannot be read, all of them at once; empty when all can.
std::string unsupported_text(const std::string& path) {
  Table table({{"operator", Table::Align::left}, {"in the file"}, {"", Table::Align::left}});
  bool all = true;
  for (const frontend::SourceOperator& op : frontend::source_operators(path)) {
    all = all && op.supported;
    table.row({op.name, grouped(op.count), op.supported ? "" : "not supported"});
  }
  return all ? std::string() : table.text();
}

Model load(const ModelOptions& options, graph::Graph& read) {
  try {
    return load_model(options, &read);
  } catch (const Error&) {
    if (frontend::is_onnx(options.model)) {
      std::fputs(unsupported_text(options.model).c_str(), stdout);
    }
    throw;
  }
}

void write_dot(const InspectOptions& options, const Model& model, const Target& target) {
  const layout::Statement statement = state(model, target);
  const solver::Assignment chosen =
      select_layouts(statement, options.strategy, options.solve, options.target.threads);
  write_file(options.dot, layout::to_dot(layout::apply(model.graph, statement, chosen)));
}

struct Kind {
  std::int64_t before = 0;
  std::int64_t after = 0;
  std::int64_t macs = 0;
};

}  // namespace

int inspect(const InspectOptions& options) {
  expect_outputs({options.dot}, files_read(options.model, options.target));
  const Target target = load_target(options.target);
  graph::Graph read;
  const Model model = load(options.model, read);
  std::map<std::string, Kind> kinds;
  std::int64_t macs = 0;
  std::int64_t flops = 0;
  for (const graph::Node& node : read.nodes) {
    ++kinds[std::string(graph::name_of(node.op))].before;
  }
  for (const graph::Node& node : model.graph.nodes) {
    Kind& kind = kinds[std::string(graph::name_of(node.op))];
    ++kind.after;
    kind.macs += graph::multiply_accumulates(model.graph, node);
    macs += graph::multiply_accumulates(model.graph, node);
    flops += graph::flops(model.graph, node);
  }
  std::printf("model %s\n\n%s\n", model.name.c_str(), boundary_text(model.graph).c_str());
  Table table(
      {{"operator", Table::Align::left}, {"read"}, {"canonical"}, {"multiply-accumulates"}});
  for (const auto& [name, kind] : kinds) {
    table.row({name, grouped(kind.before), grouped(kind.after), grouped(kind.macs)});
  }
  table.row({"all", grouped(static_cast<std::int64_t>(model.nodes_read)),
             grouped(static_cast<std::int64_t>(model.graph.nodes.size())), grouped(macs)});
  std::fputs(table.text().c_str(), stdout);
  std::printf("\nparameters %s%s\nFLOPs %s\n", grouped(graph::parameters(model.graph)).c_str(),
              model.weights_absent ? " (without data)" : "", grouped(flops).c_str());
  std::fputs(widths_text(model.graph).c_str(), stdout);
  if (!options.dot.empty()) {
    write_dot(options, model, target);
  }
  return 0;
}

}  // namespace systole::driver
