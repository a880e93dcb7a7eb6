// The configurations of a suite and what their graphs are like, for the tests and for suite_table.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace systole::test {

struct Configuration {
  std::string name, model, family, half;
  std::map<std::string, std::int64_t> dims;
};

// models/suites/NAME.yaml, entries multiplied out.
[[nodiscard]] std::vector<Configuration> suite(const std::string& name);

// The canonical graph of a configuration. Width: bounds on the treewidth of the undirected graph that has the operators as
// vertices (neither inputs nor weights) and an edge from each producer to its consumers.
struct Shape {
  std::size_t operators = 0;
  std::int64_t parameters = 0, flops = 0;
  int lower = 0, upper = 0;
};
[[nodiscard]] Shape shape_of(const Configuration& configuration);

}  // namespace systole::test
