// Prints a suite: operators, parameters, FLOPs and treewidth of each configuration, then the histogram of treewidths (upper
// bounds). suite_table NAME. A tool for figures, not a test.

#include <algorithm>
#include <map>
#include <string>

#include <fmt/format.h>

#include "isa/base/error.hpp"
#include "tests/models/suite.hpp"

int main(int argc, char** argv) {
  std::map<int, int> widths;
  std::map<std::string, int> halves;
  std::size_t least = SIZE_MAX;
  std::size_t most = 0;
  int all = 0;
  try {
    const auto suite = systole::driver::read_suite(argc > 1 ? argv[1] : "suite");
    for (const auto& configuration : suite.configurations) {
      const auto shape = systole::test::shape_of(configuration);
      const std::string width = shape.lower == shape.upper
                                    ? std::to_string(shape.upper)
                                    : fmt::format("{}-{}", shape.lower, shape.upper);
      fmt::print("{:34} {:12} {:6} {:10.2f} M {:11.3f} G  {}\n", configuration.name,
                 configuration.half, shape.operators, static_cast<double>(shape.parameters) / 1e6,
                 static_cast<double>(shape.flops) / 1e9, width);
      ++widths[shape.upper];
      ++halves[configuration.half];
      least = std::min(least, shape.operators);
      most = std::max(most, shape.operators);
      ++all;
    }
  } catch (const systole::Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
  fmt::print("\n{} configurations, {} to {} operators\n", all, least, most);
  for (const auto& [half, count] : halves) {
    fmt::print("{} {}\n", half, count);
  }
  for (const auto& [width, count] : widths) {
    fmt::print("treewidth {}: {:3}  {:4.1f} %\n", width, count, 100.0 * count / all);
  }
}
