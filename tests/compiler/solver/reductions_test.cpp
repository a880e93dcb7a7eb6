// The paper's figures as worked examples, and its hardness constructions with answers known otherwise.
#include <doctest/doctest.h>

#include <algorithm>

#include "compiler/solver/strategy.hpp"
#include "support.hpp"

using namespace systole;
using namespace systole::solver;
using namespace systole::solver::test;

namespace {

Cost optimum(const Problem& problem, const char* strategy = "exact") {
  const Result result = solve(*find_strategy(strategy), problem);
  REQUIRE(result.status == Status::proven);
  return result.cost;
}

bool satisfiable(int variables, const std::vector<Clause>& clauses) {
  for (unsigned bits = 0; bits < 1U << variables; ++bits) {
    const bool all = std::all_of(clauses.begin(), clauses.end(), [&](const Clause& clause) {
      return std::any_of(clause.begin(), clause.end(), [&](const auto& literal) {
        return ((bits >> literal.first & 1U) != 0) == literal.second;
      });
    });
    if (all) {
      return true;
    }
  }
  return false;
}

// Fewest vertices whose removal leaves a bipartite graph, by trying every set and every colouring.
int transversal(int vertices, const std::vector<std::pair<int, int>>& edges) {
  int best = vertices;
  std::vector<int> colour(static_cast<std::size_t>(vertices), 0);  // 0, 1, or 2 for removed
  for (;;) {
    const bool good = std::all_of(edges.begin(), edges.end(), [&](const auto& edge) {
      const int a = colour[static_cast<std::size_t>(edge.first)];
      const int b = colour[static_cast<std::size_t>(edge.second)];
      return a == 2 || b == 2 || a != b;
    });
    if (good) {
      best = std::min(best, static_cast<int>(std::count(colour.begin(), colour.end(), 2)));
    }
    std::size_t i = 0;
    while (i < colour.size() && colour[i] == 2) {
      colour[i++] = 0;
    }
    if (i == colour.size()) {
      return best;
    }
    ++colour[i];
  }
}

std::vector<Clause> random_clauses(Random& random, int variables, int count) {
  std::vector<Clause> out;
  for (int i = 0; i < count; ++i) {
    Clause clause;
    while (clause.size() < 3) {
      const auto v = static_cast<int>(random.integer(0, variables - 1));
      const bool fresh = std::none_of(clause.begin(), clause.end(),
                                      [&](const auto& literal) { return literal.first == v; });
      if (fresh) {
        clause.emplace_back(v, random.integer(0, 1) == 1);
      }
    }
    out.push_back(std::move(clause));
  }
  return out;
}

}  // namespace

TEST_CASE("Figure 1: the transposed plan wins exactly when the strided reduce costs more than it") {
  // Row-major throughout: 10 + strided + 6. Column-major: 10 + 4 + 6, and R is converted back.
  CHECK(optimum(figure1(9, 20)) == 10 + 9 + 6);
  CHECK(optimum(figure1(40, 20)) == 10 + 4 + 6 + 20);
  CHECK(optimum(figure1(24, 20)) == 10 + 24 + 6);  // a tie at 40
}

TEST_CASE("Figure 2: local choices pay a transpose per branch, the global optimum pays none") {
  const Problem problem = figure2(4);
  const Result local = solve(*find_strategy("local"), problem);
  // Conv NHWC 10, BatchNorm NCHW 2 behind a conversion of 5, Add NHWC 1 behind another conversion per branch.
  CHECK(local.cost == 4 * (10 + 5 + 2 + 5) + 1);
  CHECK(optimum(problem) == 4 * (10 + 3) + 1);
}

TEST_CASE(
    "Figures 1 and 2 under every strategy cost what following its description by hand costs") {
  const auto cost = [](const char* strategy, const Problem& problem) {
    return solve(*find_strategy(strategy), problem).cost;
  };
  const Problem one = figure1(40, 20);
  const Problem two = figure2(4);
  // local: the reduce alone is column-major, with conversions of 30 on both sides.
  CHECK(cost("local", one) == 10 + 30 + 4 + 30 + 6);
  // greedy, vtensor: row-major without conversions; no single change, and no count of conversions, speaks against it.
  CHECK(cost("greedy", one) == 10 + 40 + 6);
  CHECK(cost("vtensor", one) == 10 + 40 + 6);
  // rule, xla, smartmem, neocpu: the reduce, whose price depends on the layout, decides; the others follow it.
  for (const char* strategy : {"rule", "xla", "smartmem", "neocpu", "treewidth", "exact"}) {
    CAPTURE(strategy);
    CHECK(cost(strategy, one) == 10 + 4 + 6 + 20);
  }
  // The convolutions decide for NHWC and everything follows; only local lets BatchNorm have its way.
  CHECK(cost("local", two) == 4 * (10 + 5 + 2 + 5) + 1);
  for (const char* strategy :
       {"greedy", "rule", "xla", "smartmem", "neocpu", "vtensor", "treewidth", "exact"}) {
    CAPTURE(strategy);
    CHECK(cost(strategy, two) == 4 * (10 + 3) + 1);
  }
}

TEST_CASE("Theorem 1: the optimum is 0 exactly when the formula is satisfiable") {
  Random random(11);
  int satisfied = 0;
  for (int i = 0; i < 40; ++i) {
    const std::vector<Clause> clauses = random_clauses(random, 6, 32);
    const bool expected = satisfiable(6, clauses);
    satisfied += expected ? 1 : 0;
    CHECK((optimum(three_sat(6, clauses)) == 0) == expected);
  }
  CHECK(satisfied > 5);
  CHECK(satisfied < 35);
}

TEST_CASE(
    "Theorem 1: all eight clauses over three variables leave one violated or one variable split") {
  std::vector<Clause> clauses;
  for (int bits = 0; bits < 8; ++bits) {
    clauses.push_back({{0, (bits & 1) != 0}, {1, (bits & 2) != 0}, {2, (bits & 4) != 0}});
  }
  CHECK(optimum(three_sat(3, clauses)) == 1);
}

TEST_CASE("Theorem 3: odd cycles need one transversal vertex each, even cycles none") {
  const auto cycle = [](int length) {
    std::vector<std::pair<int, int>> edges;
    for (int v = 0; v < length; ++v) {
      edges.emplace_back(v, (v + 1) % length);
    }
    return edges;
  };
  CHECK(optimum(odd_cycle_transversal(6, cycle(6))) == 0);
  CHECK(optimum(odd_cycle_transversal(7, cycle(7))) == 1);
  // Figure 3: two triangles that share the edge u-w.
  CHECK(optimum(odd_cycle_transversal(4, {{0, 1}, {1, 2}, {0, 2}, {0, 3}, {2, 3}})) == 1);
  // Two disjoint triangles, and the complete graph on five vertices (three must go).
  CHECK(optimum(odd_cycle_transversal(6, {{0, 1}, {1, 2}, {0, 2}, {3, 4}, {4, 5}, {3, 5}})) == 2);
  std::vector<std::pair<int, int>> complete;
  for (int u = 0; u < 5; ++u) {
    for (int v = u + 1; v < 5; ++v) {
      complete.emplace_back(u, v);
    }
  }
  CHECK(optimum(odd_cycle_transversal(5, complete)) == 3);
}

TEST_CASE("Theorem 3: random graphs agree with trying every vertex set") {
  Random random(5);
  for (int i = 0; i < 25; ++i) {
    std::vector<std::pair<int, int>> edges;
    for (int u = 0; u < 8; ++u) {
      for (int v = u + 1; v < 8; ++v) {
        if (random.integer(0, 2) == 0) {
          edges.emplace_back(u, v);
        }
      }
    }
    CHECK(optimum(odd_cycle_transversal(8, edges)) == transversal(8, edges));
  }
}

TEST_CASE("3-SAT and odd cycles of 60 variables are proven") {
  Random random(60);
  const Result sat = solve(*find_strategy("exact"), three_sat(60, random_clauses(random, 60, 250)));
  CHECK(sat.status == Status::proven);
  std::vector<std::pair<int, int>> edges;
  while (edges.size() < 120) {
    const auto u = static_cast<int>(random.integer(0, 59));
    const auto v = static_cast<int>(random.integer(0, 59));
    if (u != v) {
      edges.emplace_back(std::min(u, v), std::max(u, v));
    }
  }
  const Result oct = solve(*find_strategy("exact"), odd_cycle_transversal(60, edges));
  CHECK(oct.status == Status::proven);
}
