#include "compiler/driver/inspect_width.hpp"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "compiler/driver/table.hpp"
#include "compiler/solver/treewidth/bounds.hpp"

namespace systole::driver {
namespace {

enum class Vertices { operators, with_inputs, with_shared_constants };

// Edges join the producer of a tensor with each reader; inputs and constants are producers of themselves.
solver::treewidth::Graph width_graph(const graph::Graph& graph, Vertices vertices) {
  IdVector<graph::TensorId, int> readers(graph.tensors.size(), 0);
  for (const graph::Node& node : graph.nodes) {
    for (const graph::TensorId input : node.inputs) {
      ++readers[input];
    }
  }
  auto count = static_cast<int>(graph.nodes.size());
  IdVector<graph::TensorId, int> vertex(graph.tensors.size(), -1);
  for (const graph::TensorId id : graph.tensors.ids()) {
    const graph::Tensor& tensor = graph.tensors[id];
    if (tensor.kind == graph::TensorKind::intermediate) {
      vertex[id] = static_cast<int>(tensor.producer.index());
    } else if (readers[id] > 0 && vertices != Vertices::operators &&
               (tensor.kind == graph::TensorKind::input ||
                (readers[id] > 1 && vertices == Vertices::with_shared_constants))) {
      vertex[id] = count++;
    }
  }
  std::vector<std::pair<int, int>> edges;
  for (const graph::NodeId id : graph.nodes.ids()) {
    for (const graph::TensorId input : graph.nodes[id].inputs) {
      if (vertex[input] >= 0) {
        edges.emplace_back(vertex[input], static_cast<int>(id.index()));
      }
    }
  }
  return solver::treewidth::graph_of_edges(count, edges);
}

}  // namespace

std::string widths_text(const graph::Graph& graph) {
  using A = Table::Align;
  Table table({{"treewidth, vertices are", A::left}, {"vertices"}, {"width"}});
  const std::pair<const char*, Vertices> conventions[] = {
      {"operators", Vertices::operators},
      {"operators and inputs", Vertices::with_inputs},
      {"operators, inputs and shared constants", Vertices::with_shared_constants}};
  for (const auto& [name, vertices] : conventions) {
    const solver::treewidth::Graph built = width_graph(graph, vertices);
    const solver::treewidth::Width width = solver::treewidth::width_bounds(built, 0);
    table.row({name, grouped(built.vertices()),
               width.exact() ? fmt::format("{}", width.upper)
                             : fmt::format("{} to {}", width.lower, width.upper)});
  }
  return "\n" + table.text();
}

}  // namespace systole::driver
