#include <doctest/doctest.h>

#include <algorithm>

#include "compiler/solver/strategy.hpp"
#include "compiler/solver/treewidth/bounds.hpp"
#include "compiler/solver/treewidth/nice.hpp"
#include "compiler/solver/treewidth/pace.hpp"
#include "isa/base/error.hpp"
#include "support.hpp"

using namespace systole;
using namespace systole::solver;
using namespace systole::solver::test;
using namespace systole::solver::treewidth;

namespace {

Graph grid(int width, int height) {
  std::vector<std::pair<int, int>> edges;
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      if (x + 1 < width) {
        edges.emplace_back(y * width + x, y * width + x + 1);
      }
      if (y + 1 < height) {
        edges.emplace_back(y * width + x, (y + 1) * width + x);
      }
    }
  }
  return graph_of_edges(width * height, edges);
}

Graph complete(int vertices) {
  std::vector<std::pair<int, int>> edges;
  for (int u = 0; u < vertices; ++u) {
    for (int v = u + 1; v < vertices; ++v) {
      edges.emplace_back(u, v);
    }
  }
  return graph_of_edges(vertices, edges);
}

Graph random_graph(Random& random, int vertices, int edges) {
  std::vector<std::pair<int, int>> list;
  for (int i = 0; i < edges; ++i) {
    list.emplace_back(static_cast<int>(random.integer(0, vertices - 1)),
                      static_cast<int>(random.integer(0, vertices - 1)));
  }
  return graph_of_edges(vertices, list);
}

// Width by trying every elimination order.
int width_by_force(const Graph& graph) {
  std::vector<int> order;
  for (int v = 0; v < graph.vertices(); ++v) {
    order.push_back(v);
  }
  int best = graph.vertices();
  do {
    best = std::min(best, width_of(graph, order, best));
  } while (std::next_permutation(order.begin(), order.end()));
  return best;
}

// The four operators of Figure 4 (a): inputs A and B, mm, red, add; B feeds add too.
Graph figure4() {
  return graph_of_edges(5, {{0, 2}, {1, 2}, {2, 3}, {3, 4}, {1, 4}});
}

}  // namespace

TEST_CASE("known widths: trees 1, cycles 2, grids their side, complete graphs n - 1") {
  CHECK(exact_width(graph_of_edges(5, {{0, 1}, {1, 2}, {1, 3}, {3, 4}})).upper == 1);
  CHECK(exact_width(graph_of_edges(6, {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}, {5, 0}})).upper ==
        2);
  CHECK(exact_width(complete(6)).upper == 5);
  CHECK(exact_width(graph_of_edges(3, {})).upper == 0);
  for (int side = 2; side <= 4; ++side) {
    const Width width = exact_width(grid(side, side));
    CHECK(width.exact());
    CHECK(width.upper == side);
  }
}

TEST_CASE("exact width agrees with every elimination order on small random graphs") {
  Random random(1);
  for (int i = 0; i < 60; ++i) {
    const Graph graph = random_graph(random, 7, static_cast<int>(random.integer(5, 18)));
    const Width width = exact_width(graph);
    REQUIRE(width.exact());
    REQUIRE(width.upper == width_by_force(graph));
    REQUIRE(width_of(graph, width.order, 100) == width.upper);
  }
}

TEST_CASE(
    "bounds enclose the width and orders give valid decompositions of the width they promise") {
  Random random(2);
  for (int i = 0; i < 40; ++i) {
    const Graph graph = random_graph(random, 14, 26);
    const Width exact = exact_width(graph);
    const Width bounds = width_bounds(graph);
    REQUIRE(exact.exact());
    CHECK(bounds.lower <= exact.upper);
    CHECK(bounds.upper >= exact.upper);
    const Decomposition decomposition = decomposition_of(graph, bounds.order);
    CHECK(check(graph, decomposition).empty());
    CHECK(decomposition.width() == bounds.upper);
  }
}

TEST_CASE("a decomposition gives back an elimination order of at most its width") {
  Random random(3);
  for (int i = 0; i < 40; ++i) {
    const Graph graph = random_graph(
        random, 14, static_cast<int>(random.integer(4, 26)));  // several components too
    Decomposition decomposition = decomposition_of(graph, min_degree_order(graph));
    std::reverse(decomposition.bags.begin(), decomposition.bags.end());  // bags in any order
    for (auto& [a, b] : decomposition.edges) {
      a = graph.vertices() - 1 - a;
      b = graph.vertices() - 1 - b;
    }
    REQUIRE(check(graph, decomposition).empty());
    std::vector<int> order = order_of(decomposition);
    CHECK(width_of(graph, order, 100) <= decomposition.width());
    std::sort(order.begin(), order.end());
    for (int v = 0; v < graph.vertices(); ++v) {
      REQUIRE(order[static_cast<std::size_t>(v)] == v);
    }
  }
}

TEST_CASE("the treewidth program runs on a decomposition it is given") {
  Random random(4);
  for (int i = 0; i < 20; ++i) {
    const Problem problem = random_problem(random, Shape{});
    const Graph graph = graph_of(problem);
    Budget budget;
    for (int v = 0; v < graph.vertices(); ++v) {
      budget.elimination_order.push_back(v);
    }
    const Result given = solve(*find_strategy("treewidth"), problem, budget);
    CHECK(given.cost == solve(*find_strategy("treewidth"), problem).cost);
    REQUIRE(!given.stats.empty());
    CHECK(given.stats.front().value == width_of(graph, budget.elimination_order, 100));
  }
}

TEST_CASE("check finds a missing vertex, a missing edge, a broken vertex and a cycle of bags") {
  const Graph path = graph_of_edges(3, {{0, 1}, {1, 2}});
  CHECK(check(path, {{{0, 1}, {1, 2}}, {{0, 1}}}).empty());
  CHECK_FALSE(check(path, {{{0, 1}}, {}}).empty());
  CHECK_FALSE(check(path, {{{0, 1}, {2}}, {{0, 1}}}).empty());
  CHECK_FALSE(check(path, {{{0, 1}, {0}, {1, 2}}, {{0, 1}, {1, 2}}}).empty());
  CHECK_FALSE(check(path, {{{0, 1}, {1, 2}, {1}}, {{0, 1}, {1, 2}, {2, 0}}}).empty());
}

TEST_CASE("a nice decomposition changes one vertex at a time and forgets every vertex once") {
  const Graph graph = figure4();
  CHECK(exact_width(graph).upper == 2);  // as in Figure 4 (b)
  const std::vector<NiceNode> nodes = nice_decomposition(graph, min_fill_order(graph));
  std::vector<int> forgotten(5, 0);
  std::size_t widest = 0;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const NiceNode& node = nodes[i];
    widest = std::max(widest, node.bag.size());
    REQUIRE(node.left < static_cast<int>(i));
    const std::size_t child =
        node.left < 0 ? 0 : nodes[static_cast<std::size_t>(node.left)].bag.size();
    if (node.kind == NiceKind::introduce) {
      CHECK(node.bag.size() == child + 1);
    } else if (node.kind == NiceKind::forget) {
      CHECK(node.bag.size() + 1 == child);
      ++forgotten[static_cast<std::size_t>(node.vertex)];
    } else if (node.kind == NiceKind::join) {
      CHECK(node.bag == nodes[static_cast<std::size_t>(node.left)].bag);
      CHECK(node.bag == nodes[static_cast<std::size_t>(node.right)].bag);
    } else {
      CHECK(node.bag.empty());
    }
  }
  CHECK(widest == 3);
  CHECK(nodes.back().bag.empty());
  CHECK(forgotten == std::vector<int>(5, 1));
}

TEST_CASE("the program of Theorem 4 solves Figure 4's graph") {
  // The figure's graph carries Figure 1's costs (with the caller's row-major R).
  const Result result = solve(*find_strategy("treewidth"), figure1(40, 20));
  CHECK(result.status == Status::proven);
  CHECK(result.cost == 40);
  CHECK(result.proof == Proof::dynamic);
}

TEST_CASE("the program refuses when its memory budget is too small, and says how much it needs") {
  Random random(3);
  Shape shape;
  shape.operators = 25;
  shape.most_rows = 8;
  const Problem problem = random_problem(random, shape);
  Budget tiny;
  tiny.memory_bytes = 1000;
  const Result refused = solve(*find_strategy("treewidth"), problem, tiny);
  CHECK(refused.status == Status::exhausted);
  CHECK(refused.assignment.row.empty());
  CHECK(refused.note.find("memory budget is 1000 bytes") != std::string::npos);
  std::int64_t needed = 0;
  for (const Counter& counter : refused.stats) {
    needed = counter.name == "bytes_needed" ? counter.value : needed;
  }
  REQUIRE(needed > 1000);
  Budget enough;
  enough.memory_bytes = needed;
  CHECK(solve(*find_strategy("treewidth"), problem, enough).status == Status::proven);
}

TEST_CASE("PACE graphs and decompositions round trip, and mistakes are named with their line") {
  Random random(4);
  const Graph graph = random_graph(random, 12, 20);
  CHECK(parse_gr(print_gr(graph), "g") == graph);
  const Decomposition decomposition = decomposition_of(graph, min_fill_order(graph));
  CHECK(parse_td(print_td(graph, decomposition), "t") == decomposition);
  CHECK(parse_gr("c hello\np tw 3 1\n1 3\n", "g") == graph_of_edges(3, {{0, 2}}));
  const auto complaint = [](const std::string& text) {
    try {
      parse_gr(text, "g");
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(complaint("p tw 3 1\n1 4\n") == "g:2: vertex 4 is outside 1..3");
  CHECK(complaint("p tw 3 2\n1 2\n") == "g:2: 2 edges announced, 1 found");
}
