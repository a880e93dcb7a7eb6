#include "compiler/passes/passes.hpp"
#include "compiler/passes/rewrite.hpp"

namespace systole::passes {

std::int64_t remove_dead(graph::Graph& graph, const Options&) {
  const auto before = static_cast<std::int64_t>(graph.nodes.size() + graph.tensors.size());
  rewrite(graph, [](Rewriter&, graph::Node&, const graph::Tensor&) { return keep(); });
  return before - static_cast<std::int64_t>(graph.nodes.size() + graph.tensors.size());
}

}  // namespace systole::passes
