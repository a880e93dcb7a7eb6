#include "compiler/solver/treewidth/pace.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/solver/scanner.hpp"

namespace systole::solver::treewidth {
namespace {

// A size below which a header is believed before the lines that prove it are read.
constexpr std::int64_t most = 1 << 26;

}  // namespace

std::string print_gr(const Graph& graph) {
  fmt::memory_buffer edges;
  int count = 0;
  for (int u = 0; u < graph.vertices(); ++u) {
    for (const int v : graph.adjacency[static_cast<std::size_t>(u)]) {
      if (u < v) {
        ++count;
        fmt::format_to(std::back_inserter(edges), "{} {}\n", u + 1, v + 1);
      }
    }
  }
  return fmt::format("p tw {} {}\n", graph.vertices(), count) + fmt::to_string(edges);
}

Graph parse_gr(std::string_view text, std::string_view name) {
  Scanner scan(text, name);
  int vertices = -1;
  std::int64_t announced = 0;
  std::vector<std::pair<int, int>> edges;
  while (scan.next_line()) {
    const auto& words = scan.words();
    if (words[0] == "c") {
      continue;
    }
    if (words[0] == "p") {
      if (words.size() != 4 || vertices >= 0) {
        scan.fail("one header 'p tw VERTICES EDGES' is expected");
      }
      vertices = static_cast<int>(scan.number(words[2], 0, most, "number of vertices"));
      announced = scan.number(words[3], 0, most, "number of edges");
      continue;
    }
    if (vertices < 0 || words.size() != 2) {
      scan.fail("an edge is two vertices, after the header");
    }
    edges.emplace_back(static_cast<int>(scan.number(words[0], 1, vertices, "vertex")) - 1,
                       static_cast<int>(scan.number(words[1], 1, vertices, "vertex")) - 1);
  }
  if (vertices < 0) {
    scan.fail("the header 'p tw VERTICES EDGES' is missing");
  }
  if (static_cast<std::int64_t>(edges.size()) != announced) {
    scan.fail(fmt::format("{} edges announced, {} found", announced, edges.size()));
  }
  return graph_of_edges(vertices, edges);
}

std::string print_td(const Graph& graph, const Decomposition& decomposition) {
  fmt::memory_buffer out;
  const auto sink = std::back_inserter(out);
  fmt::format_to(sink, "s td {} {} {}\n", decomposition.bags.size(), decomposition.width() + 1,
                 graph.vertices());
  for (std::size_t i = 0; i < decomposition.bags.size(); ++i) {
    fmt::format_to(sink, "b {}", i + 1);
    for (const int v : decomposition.bags[i]) {
      fmt::format_to(sink, " {}", v + 1);
    }
    fmt::format_to(sink, "\n");
  }
  for (const auto& [a, b] : decomposition.edges) {
    fmt::format_to(sink, "{} {}\n", a + 1, b + 1);
  }
  return fmt::to_string(out);
}

Decomposition parse_td(std::string_view text, std::string_view name) {
  Scanner scan(text, name);
  Decomposition out;
  std::int64_t bags = -1;
  std::int64_t vertices = 0;
  while (scan.next_line()) {
    const auto& words = scan.words();
    if (words[0] == "c") {
      continue;
    }
    if (words[0] == "s") {
      if (words.size() != 5 || bags >= 0) {
        scan.fail("one header 's td BAGS LARGEST VERTICES' is expected");
      }
      bags = scan.number(words[2], 0, most, "number of bags");
      vertices = scan.number(words[4], 0, most, "number of vertices");
      out.bags.resize(static_cast<std::size_t>(bags));
      continue;
    }
    if (bags < 0) {
      scan.fail("the header 's td BAGS LARGEST VERTICES' must come first");
    }
    if (words[0] == "b" && words.size() >= 2) {
      std::vector<int>& bag =
          out.bags[static_cast<std::size_t>(scan.number(words[1], 1, bags, "bag") - 1)];
      for (std::size_t i = 2; i < words.size(); ++i) {
        bag.push_back(static_cast<int>(scan.number(words[i], 1, vertices, "vertex")) - 1);
      }
      std::sort(bag.begin(), bag.end());
    } else if (words.size() == 2) {
      out.edges.emplace_back(static_cast<int>(scan.number(words[0], 1, bags, "bag")) - 1,
                             static_cast<int>(scan.number(words[1], 1, bags, "bag")) - 1);
    } else {
      scan.fail("a line is 'b BAG VERTICES...' or two bags");
    }
  }
  if (bags < 0) {
    scan.fail("the header 's td BAGS LARGEST VERTICES' is missing");
  }
  return out;
}

}  // namespace systole::solver::treewidth
