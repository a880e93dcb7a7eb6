#include "tests/models/suite.hpp"

#include <utility>

#include <yaml-cpp/yaml.h>

#include "compiler/frontend/model.hpp"
#include "compiler/graph/facts.hpp"
#include "compiler/passes/passes.hpp"
#include "compiler/solver/treewidth/bounds.hpp"

namespace systole::test {

namespace {

std::string filled(std::string name, const std::map<std::string, std::int64_t>& dims) {
  for (const auto& [key, value] : dims) {
    const std::string hole = "{" + key + "}";
    for (auto at = name.find(hole); at != std::string::npos; at = name.find(hole)) {
      name.replace(at, hole.size(), std::to_string(value));
    }
  }
  return name;
}

// The last parameter varies fastest.
void multiply(const YAML::Node& entry, const YAML::Node& parameters, YAML::const_iterator at,
              std::map<std::string, std::int64_t>& dims, std::vector<Configuration>& out) {
  if (at == parameters.end()) {
    out.push_back({filled(entry["name"].as<std::string>(), dims), entry["model"].as<std::string>(),
                   entry["family"].as<std::string>(), entry["half"].as<std::string>(), dims});
    return;
  }
  const YAML::Node value = at->second;
  const auto key = at->first.as<std::string>();
  ++at;
  if (!value.IsSequence()) {
    dims[key] = value.as<std::int64_t>();
    multiply(entry, parameters, at, dims, out);
    return;
  }
  for (const auto& one : value) {
    dims[key] = one.as<std::int64_t>();
    multiply(entry, parameters, at, dims, out);
  }
}

}  // namespace

std::vector<Configuration> suite(const std::string& name) {
  std::vector<Configuration> out;
  const std::string file = std::string(SYSTOLE_SOURCE_DIR) + "/models/suites/" + name + ".yaml";
  const YAML::Node root = YAML::LoadFile(file);
  for (const auto& entry : root["configurations"]) {
    const YAML::Node parameters =
        entry["parameters"] ? entry["parameters"] : YAML::Node(YAML::NodeType::Map);
    std::map<std::string, std::int64_t> dims;
    multiply(entry, parameters, parameters.begin(), dims, out);
  }
  return out;
}

Shape shape_of(const Configuration& configuration) {
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
      solver::treewidth::graph_of_edges(number, graph::operator_edges(graph)), number > 3000 ? 0 : 4);
  shape.lower = width.lower;
  shape.upper = width.upper;
  return shape;
}

}  // namespace systole::test
