#include "tests/models/suite.hpp"

#include "compiler/frontend/model.hpp"
#include "compiler/graph/facts.hpp"
#include "compiler/passes/passes.hpp"
#include "compiler/solver/treewidth/bounds.hpp"

namespace systole::test {

Shape shape_of(const driver::Configuration& configuration) {
  frontend::Options options;
  options.dims = configuration.dims;
  const graph::Graph graph =
      passes::canonicalize(frontend::read_model(configuration.model, options));
  Shape shape;
  shape.operators = graph.nodes.size();
  shape.parameters = graph::parameters(graph);
  for (const graph::Node& node : graph.nodes) {
    shape.flops += graph::flops(graph, node);
  }
  const auto number = static_cast<int>(graph.nodes.size());
  const auto width = solver::treewidth::width_bounds(
      solver::treewidth::graph_of_edges(number, graph::operator_edges(graph)),
      number > 3000 ? 0 : 4);
  shape.lower = width.lower;
  shape.upper = width.upper;
  return shape;
}

}  // namespace systole::test
