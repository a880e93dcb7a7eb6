// The parts of the exact strategy on their own, and its behaviour where elimination is refused.
#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <set>

#include "compiler/solver/exact/attempt.hpp"
#include "compiler/solver/exact/choices.hpp"
#include "compiler/solver/exact/eliminate.hpp"
#include "compiler/solver/exact/mini_buckets.hpp"
#include "compiler/solver/exact/neighbourhood.hpp"
#include "compiler/solver/exact/repeats.hpp"
#include "compiler/solver/exact/search.hpp"
#include "compiler/solver/exact/sparse.hpp"
#include "compiler/solver/exact/totalizer.hpp"
#include "compiler/solver/strategy.hpp"
#include "support.hpp"

using namespace systole;
using namespace systole::solver;
using namespace systole::solver::exact;
using namespace systole::solver::test;

namespace {

Network random_network(Random& random, int variables, int factors, int most_values, Cost most) {
  Network network;
  for (int v = 0; v < variables; ++v) {
    network.add_variable(static_cast<int>(random.integer(1, most_values)));
  }
  for (int f = 0; f < factors; ++f) {
    Factor factor;
    std::size_t cells = 1;
    for (std::int64_t i = random.integer(1, 3); i > 0; --i) {
      const auto v = static_cast<int>(random.integer(0, variables - 1));
      if (std::find(factor.scope.begin(), factor.scope.end(), v) == factor.scope.end()) {
        factor.scope.push_back(v);
        cells *= static_cast<std::size_t>(network.domain[static_cast<std::size_t>(v)]);
      }
    }
    for (std::size_t i = 0; i < cells; ++i) {
      factor.table.push_back(random.integer(0, most));
    }
    network.factors.push_back(std::move(factor));
  }
  return network;
}

Cost total(const Network& network, const std::vector<int>& values) {
  Cost sum = 0;
  for (const Factor& factor : network.factors) {
    sum += value_at(network, factor, values);
  }
  return sum;
}

Cost least_total(const Network& network) {
  std::vector<int> values(network.domain.size(), 0);
  Cost best = infinity;
  for (bool more = true; more;) {
    best = std::min(best, total(network, values));
    more = false;
    for (std::size_t v = 0; v < values.size() && !more; ++v) {
      more = ++values[v] < network.domain[v];
      values[v] = more ? values[v] : 0;
    }
  }
  return best;
}

std::vector<int> shuffled(Random& random, std::size_t size) {
  std::vector<int> order;
  for (std::size_t i = 0; i < size; ++i) {
    order.insert(order.begin() + random.integer(0, static_cast<std::int64_t>(i)),
                 static_cast<int>(i));
  }
  return order;
}

std::int64_t counter(const Result& result, std::string_view name) {
  for (const Counter& entry : result.stats) {
    if (entry.name == name) {
      return entry.value;
    }
  }
  return 0;
}

}  // namespace

TEST_CASE("elimination finds the least total in any order, and an assignment that has it") {
  Random random(1);
  for (int i = 0; i < 300; ++i) {
    const Network network = random_network(random, 7, 12, 4, 50);
    const Cost best = least_total(network);
    const std::vector<int> order = shuffled(random, network.domain.size());
    for (const Cost cap : {Cost{1000}, Cost{1} << 40}) {  // 32-bit and 64-bit tables
      const Elimination found = eliminate(network, order, cap);
      REQUIRE(found.found);
      REQUIRE(found.value == best);
      REQUIRE(total(network, found.values) == best);
    }
    CHECK_FALSE(eliminate(network, order, best).found);  // nothing is strictly below the optimum
    CHECK(eliminate(network, order, best + 1).found);
  }
}

TEST_CASE("impossible entries never spoil the choices of their neighbours, whatever the domains") {
  Random random(47);
  for (int trial = 0; trial < 1500; ++trial) {
    Network network;
    const int variables = 7;
    for (int v = 0; v < variables; ++v) {
      network.add_variable(static_cast<int>(v == 0 ? random.integer(5, 20) : random.integer(1, 3)));
    }
    for (int f = 0; f < 12; ++f) {
      Factor factor;
      std::size_t cells = 1;
      for (int v = 0; v < variables; ++v) {
        if (random.integer(0, 2) == 0 && factor.scope.size() < 4) {
          factor.scope.push_back(v);
          cells *= static_cast<std::size_t>(network.domain[static_cast<std::size_t>(v)]);
        }
      }
      for (std::size_t i = 0; i < cells; ++i) {
        factor.table.push_back(random.integer(0, 3) == 0 ? Cost{1} << 58 : random.integer(0, 20));
      }
      network.factors.push_back(std::move(factor));
    }
    const Cost best = least_total(network);
    if (best >= Cost{1} << 58) {
      continue;
    }
    const std::vector<int> order = shuffled(random, network.domain.size());
    CAPTURE(trial);
    for (const Cost cap : {best + 1, best + 30, Cost{1} << 40}) {
      const Elimination found = eliminate(network, order, cap);
      REQUIRE(found.found);
      CHECK(found.value == best);
      CHECK(total(network, found.values) == best);
    }
  }
}

TEST_CASE("elimination handles domains of one value, of many values, and wide operators") {
  Random random(2);
  for (const int values : {1, 5, 9, 17, 300}) {
    Network network;
    const int a = network.add_variable(values);
    const int b = network.add_variable(3);
    Factor factor{{a, b}, {}};
    for (int i = 0; i < values * 3; ++i) {
      factor.table.push_back(random.integer(0, 99));
    }
    const Cost best = *std::min_element(factor.table.begin(), factor.table.end());
    network.factors.push_back(factor);
    for (const std::vector<int>& order : {std::vector<int>{a, b}, std::vector<int>{b, a}}) {
      const Elimination found = eliminate(network, order, 1000);
      CHECK(found.value == best);
      CHECK(total(network, found.values) == best);
    }
  }
}

// A chain of `layers` equal blocks: variables of a layer see each other and the next layer through the same tables.
Network layered_network(Random& random, int layers, int width, Cost most) {
  std::vector<int> sizes;
  for (int v = 0; v < width; ++v) {
    sizes.push_back(static_cast<int>(random.integer(2, 3)));
  }
  std::vector<Factor>
      pattern;  // scope over this layer (0 to width - 1) and the next (width to 2 * width - 1)
  for (int f = 0; f < 2 * width; ++f) {
    const auto a = static_cast<int>(random.integer(0, width - 1));
    const auto b = static_cast<int>(f < width ? random.integer(0, width - 1) + width : f % width);
    Factor factor{{a, b}, {}};
    if (a == b) {
      factor.scope.pop_back();
    }
    std::size_t cells = 1;
    for (const int v : factor.scope) {
      cells *= static_cast<std::size_t>(sizes[static_cast<std::size_t>(v % width)]);
    }
    for (std::size_t i = 0; i < cells; ++i) {
      factor.table.push_back(random.integer(0, 9) == 0 ? most : random.integer(0, 9));
    }
    pattern.push_back(std::move(factor));
  }
  Network network;
  for (int layer = 0; layer < layers; ++layer) {
    for (const int size : sizes) {
      network.add_variable(size);
    }
    for (Factor factor : pattern) {
      bool inside = true;
      for (int& v : factor.scope) {
        v += layer * width;
        inside = inside && v < layers * width;
      }
      if (inside) {
        network.factors.push_back(std::move(factor));
      }
    }
  }
  return network;
}

TEST_CASE("bags recognised between repeated layers change neither value nor assignment") {
  Random random(29);
  std::int64_t reused = 0;
  for (int trial = 0; trial < 400; ++trial) {
    const bool small = trial % 2 == 0;
    const Network network =
        layered_network(random, small ? 4 : 40, small ? 2 : 3, trial % 3 == 0 ? 100'000 : 30);
    std::vector<int> order;
    for (std::size_t v = 0; v < network.domain.size(); ++v) {
      order.push_back(static_cast<int>(v));
    }
    if (trial % 5 == 0) {
      order = shuffled(random, order.size() > 8 ? 0 : order.size());
    }
    if (order.empty()) {
      continue;
    }
    const Cost unreachable = trial % 7 == 0 ? Cost{1} << 40 : 10'000'000;
    const Elimination plain = eliminate(network, order, unreachable);
    const Elimination shared = eliminate(network, order, unreachable, {1, true, nullptr});
    REQUIRE(plain.found);
    REQUIRE(shared.found);
    CHECK(shared.value == plain.value);
    CHECK(total(network, shared.values) == shared.value);
    CHECK(shared.cells + shared.reused == plain.cells);
    reused += shared.reused;
    if (small) {
      CHECK(shared.value == least_total(network));
    }
    // Nothing is below the optimum, whatever was taken out of the tables on the way; one above, it is found.
    CHECK_FALSE(eliminate(network, order, plain.value, {1, true, nullptr}).found);
    const Elimination tight = eliminate(network, order, plain.value + 1, {2, true, nullptr});
    CHECK(tight.found);
    CHECK(tight.value == plain.value);
  }
  CHECK(reused > 100'000);
}

TEST_CASE("a problem of equal layers is solved with shared bags to the same optimum as without") {
  Random random(37);
  Problem problem = grid_problem(random, 6, 6 * 60, 3, 12);
  for (std::size_t i = 12; i < problem.operators.size();
       ++i) {  // every row of the grid like the second
    problem.operators[OperatorId(i)].rows = problem.operators[OperatorId(6 + i % 6)].rows;
    problem.tensors[TensorId(i)] = problem.tensors[TensorId(6 + i % 6)];
  }
  const Result result = solve(*find_strategy("exact"), problem, {});
  REQUIRE(result.status == Status::proven);
  CHECK(counter(result, "cells_reused") > 2 * counter(result, "cells"));
  const Budget budget;
  State state(problem, budget);
  state.offer(std::vector<int>(state.flat.row_begin.begin(), state.flat.row_begin.end() - 1),
              Proof::none);
  const Plan plan = plan_elimination(state, Dual(state.live, 1), 0, 1e12);
  Cost sum = 0;
  for (std::size_t i = 0; i < plan.parts.size(); ++i) {
    const Part& part = plan.parts[i];
    sum += part.network.constant +
           eliminate(part.network, plan.orders[i].variables, plan.cap(part) + 1).value;
  }
  CHECK(result.cost == sum);
}

TEST_CASE(
    "repeated layers are seen in tables of prices and not in the links that all problems share") {
  Random random(31);
  CHECK(has_repeats(layered_network(random, 10, 3, 50)));
  Network links;
  for (int i = 0; i < 20; ++i) {
    links.add_variable(2);
    links.factors.push_back({{i}, {0, 5}});
  }
  CHECK_FALSE(has_repeats(links));
  CHECK_FALSE(has_repeats(random_network(random, 30, 40, 4, 1'000'000)));
}

TEST_CASE("elimination below a threshold finds the optimum exactly when it is not above it") {
  Random random(41);
  const Clock endless(0);
  const SparseLimits plenty{1'000'000, 100'000'000};
  std::int64_t refused = 0;
  for (int trial = 0; trial < 3000; ++trial) {
    const Network network = random_network(
        random, static_cast<int>(random.integer(1, 7)), static_cast<int>(random.integer(1, 12)),
        trial % 4 == 0 ? 9 : 4, trial % 3 == 0 ? 1'000'000'000 : 12);
    if (std::accumulate(network.domain.begin(), network.domain.end(), 1.0, std::multiplies<>()) >
        50'000) {
      continue;
    }
    const std::vector<int> order = shuffled(random, network.domain.size());
    const Cost best = least_total(network);
    CAPTURE(trial);
    for (const Cost threshold : {best, best + 1, best + random.integer(0, 40), 8 * best + 100}) {
      const Sparse found = eliminate_below(network, order, threshold, plenty, endless);
      REQUIRE(found.complete);
      REQUIRE(found.found);
      CHECK(found.value == best);
      CHECK(total(network, found.values) == best);
    }
    for (const Cost threshold : {best - 1, best / 2 - 1, Cost{0} - 1}) {
      const Sparse none = eliminate_below(network, order, threshold, plenty, endless);
      CHECK(none.complete);
      CHECK_FALSE(none.found);
    }
    const Sparse cut =
        eliminate_below(network, order, best, {random.integer(0, 60), 4000}, endless);
    CHECK((!cut.complete || (cut.found && cut.value == best)));
    refused += cut.complete ? 0 : 1;
  }
  CHECK(refused > 300);
}

TEST_CASE("lists under the gap and whole tables prove the same optimum of wide grids") {
  Random random(43);
  const Budget budget;
  int closed = 0;
  for (int trial = 0; trial < 12; ++trial) {
    const Problem problem = grid_problem(random, 9, 72, 3, 10);
    State state(problem, budget);
    LocalSearch start(state.flat);
    start_topologically(state.flat, start);
    state.offer(start, Proof::none);
    Dual dual(state.live, 256);
    for (int sweep = 0; sweep < 20; ++sweep) {
      dual.sweep();
    }
    State other = state;
    const Plan plan = plan_elimination(state, dual, 1e6, 1e12);
    REQUIRE(plan.cells > 2e6);
    eliminate_all(state, plan);
    CAPTURE(trial);
    closed += eliminate_sparsely(other, plan, 2'000'000) ? 1 : 0;
    CHECK(other.upper >= state.upper);
    CHECK(other.lower <= state.upper);
    if (other.closed()) {
      CHECK(other.upper == state.upper);
    }
  }
  CHECK(closed >= 6);
}

TEST_CASE("packed choices read back for every width") {
  Random random(3);
  for (const int values : {2, 3, 4, 7, 16, 17, 256, 1000}) {
    constexpr std::size_t rows = 3;
    constexpr std::size_t length = 27;
    Choices choices(values, rows, length);
    std::vector<std::uint16_t> all;
    for (std::size_t row = 0; row < rows; ++row) {
      std::vector<std::uint16_t> part;
      for (std::size_t i = 0; i < length; ++i) {
        part.push_back(static_cast<std::uint16_t>(random.integer(0, values - 1)));
      }
      choices.store(row, 0, part.data(), length);
      all.insert(all.end(), part.begin(), part.end());
    }
    for (std::size_t cell = 0; cell < all.size(); ++cell) {
      REQUIRE(choices.load(cell) == all[cell]);
    }
  }
}

TEST_CASE("mini-buckets never exceed the optimum and reach it when groups may be large") {
  Random random(4);
  const Clock clock(0);
  for (int i = 0; i < 200; ++i) {
    const Network network = random_network(random, 8, 16, 3, 50);
    const Cost best = least_total(network);
    const std::vector<int> order = shuffled(random, network.domain.size());
    for (const double limit : {1.0, 9.0, 27.0, 81.0}) {
      const MiniBuckets found = mini_buckets(network, order, limit, 100'000, clock);
      REQUIRE(found.complete);
      REQUIRE(found.bound <= best);
    }
    REQUIRE(mini_buckets(network, order, 1e9, 100'000, clock).bound == best);
  }
}

TEST_CASE("neighbourhood search only goes down, and what it reports is what it gained") {
  Random random(5);
  const Clock clock(0);
  for (int i = 0; i < 30; ++i) {
    const Network network = random_network(random, 60, 120, 3, 50);
    std::vector<int> values(network.domain.size(), 0);
    const Cost before = total(network, values);
    const Improvement step = improve_by_neighbourhoods(network, values, 300'000, 7, clock);
    CHECK(total(network, values) == before - step.gained);
    CHECK(step.gained > 0);
    std::vector<int> again(network.domain.size(), 0);
    improve_by_neighbourhoods(network, again, 300'000, 7, clock);
    CHECK(again == values);
  }
}

TEST_CASE("a totalizer's outputs are forced exactly by the number of true inputs") {
  std::vector<std::vector<int>> clauses;
  int variables = 5;
  Totalizer totalizer({1, 2, 3, 4, 5});
  std::vector<int> outputs;
  for (std::size_t count = 1; count <= 5; ++count) {
    outputs.push_back(totalizer.at_least(
        count, [&] { return ++variables; },
        [&](const std::vector<int>& clause) { clauses.push_back(clause); }));
  }
  for (unsigned bits = 0; bits < 32; ++bits) {
    // Unit propagation from the inputs: a clause whose other literals are false forces its last one.
    std::vector<int> truth(static_cast<std::size_t>(variables) + 1, 0);
    for (std::size_t i = 0; i < 5; ++i) {
      truth[i + 1] = (bits >> i & 1U) != 0 ? 1 : -1;
    }
    for (bool changed = true; changed;) {
      changed = false;
      for (const std::vector<int>& clause : clauses) {
        int open = 0;
        bool satisfied = false;
        for (const int literal : clause) {
          const int value = truth[static_cast<std::size_t>(std::abs(literal))];
          satisfied = satisfied || value * literal > 0;
          open = value == 0 ? (open == 0 ? literal : 1 << 30) : open;
        }
        if (!satisfied && open != 0 && open != 1 << 30) {
          truth[static_cast<std::size_t>(std::abs(open))] = open > 0 ? 1 : -1;
          changed = true;
        }
      }
    }
    for (std::size_t count = 1; count <= 5; ++count) {
      const bool reached = std::popcount(bits) >= static_cast<int>(count);
      CHECK((truth[static_cast<std::size_t>(outputs[count - 1])] == 1) == reached);
    }
  }
}

TEST_CASE("where memory forbids elimination the answer stays honest and repeatable") {
  Random random(6);
  Shape shape;
  shape.operators = 40;
  shape.most_layouts = 3;
  shape.most_rows = 8;
  shape.most_cost = 1000;
  for (int i = 0; i < 6; ++i) {
    const Problem problem = random_problem(random, shape);
    const Result best = solve(*find_strategy("exact"), problem);
    REQUIRE(best.status == Status::proven);
    Budget poor;
    poor.memory_bytes = 1;
    poor.work = 2'000'000;
    const Result result = solve(*find_strategy("exact"), problem, poor);
    CHECK(result.bound <= best.cost);
    CHECK(result.cost >= best.cost);
    CHECK((result.status == Status::proven || !result.note.empty()));
    const Result again = solve(*find_strategy("exact"), problem, poor);
    CHECK(again.assignment == result.assignment);
    CHECK(again.bound == result.bound);
    CHECK(again.stats == result.stats);
  }
}

TEST_CASE(
    "bags large enough for several threads give the same result and statistics with one and two") {
  Random random(7);
  const Problem problem = grid_problem(random, 10, 120, 3, 16);
  Budget one;
  one.threads = 1;
  Budget two;
  two.threads = 2;
  const Result a = solve(*find_strategy("exact"), problem, one);
  const Result b = solve(*find_strategy("exact"), problem, two);
  CHECK(a.status == Status::proven);
  CHECK(counter(a, "cells") > 1 << 20);
  CHECK(a.assignment == b.assignment);
  CHECK(a.cost == b.cost);
  CHECK(a.stats == b.stats);
}

TEST_CASE("a time budget that is over at once still gives an assignment and a bound") {
  Random random(8);
  const Problem problem = grid_problem(random, 8, 120, 3, 16);
  Budget hasty;
  hasty.seconds = 1e-9;
  const Result result = solve(*find_strategy("exact"), problem, hasty);
  CHECK(result.status != Status::exhausted);
  CHECK(result.bound > 0);
}

TEST_CASE(
    "dual ascent never rises above the optimum, whatever the scale and however long it runs") {
  Random random(9);
  int tight = 0;
  for (int i = 0; i < 400; ++i) {
    Shape shape;
    shape.most_layouts =
        i % 8 == 0 ? 10 : 4;  // beyond eight layouts conversions are bounded by shares
    shape.most_rows = i % 8 == 0 ? 12 : 6;
    shape.impossible_percent = i % 3 == 0 ? 15 : 0;
    const Problem problem = random_problem(random, shape);
    const Result best = solve(*find_strategy("brute_force"), problem);
    if (best.status != Status::proven) {
      continue;
    }
    const Flat flat = flatten(problem);
    const Live live = all_alive(flat);
    for (const Cost scale : {1, 16, 256}) {
      Dual dual(live, scale);
      Cost bound = 0;
      for (int sweep = 0; sweep < 30; ++sweep) {
        dual.sweep();
        bound = dual.bound();
        REQUIRE(bound <= best.cost);
      }
      tight += scale == 256 && bound == best.cost ? 1 : 0;
    }
  }
  CHECK(tight > 100);  // and it is good for something
}

TEST_CASE("splitting into parts loses no table and no variable") {
  Random random(11);
  std::size_t most_parts = 0;
  for (int i = 0; i < 200; ++i) {
    Network network = random_network(random, 8, 5, 3, 50);
    network.constant = 7;
    network.factors.push_back({{}, {5}});  // a table without variables
    const Cost best = least_total(network) + network.constant;
    const std::vector<Part> parts = split(network);
    most_parts = std::max(most_parts, parts.size());
    std::vector<int> seen;
    Cost sum = 0;
    for (const Part& part : parts) {
      seen.insert(seen.end(), part.variables.begin(), part.variables.end());
      sum += part.network.constant + least_total(part.network);
    }
    std::sort(seen.begin(), seen.end());
    for (std::size_t v = 0; v < seen.size(); ++v) {
      REQUIRE(seen[v] == static_cast<int>(v));
    }
    REQUIRE(seen.size() == network.domain.size());
    CHECK(sum == best);
  }
  CHECK(most_parts >= 3);
}

TEST_CASE("where costs are units, cores are tried before tables of hundreds of millions of cells") {
  Random random(12);
  for (int i = 0; i < 3; ++i) {
    std::set<std::pair<int, int>> edges;
    while (edges.size() < 150) {
      const auto a = static_cast<int>(random.integer(0, 59));
      const auto b = static_cast<int>(random.integer(0, 59));
      if (a != b) {
        edges.emplace(std::min(a, b), std::max(a, b));
      }
    }
    const Problem problem = odd_cycle_transversal(60, {edges.begin(), edges.end()});
    const Result result = solve(*find_strategy("exact"), problem);
    CHECK(result.proof == Proof::search);
    Budget one_thread;
    one_thread.threads = 1;
    CHECK(solve(*find_strategy("exact"), problem, one_thread).stats == result.stats);
  }
}

TEST_CASE("a search that may not learn leaves true bounds and starts no further call") {
  Random random(13);
  std::vector<Clause> clauses;
  for (int c = 0; c < 120; ++c) {
    Clause clause;
    for (int v = 0; v < 3; ++v) {
      clause.emplace_back(static_cast<int>(random.integer(v * 5, v * 5 + 4)),
                          random.integer(0, 1) == 1);
    }
    clauses.push_back(clause);
  }
  const Problem problem = three_sat(15, clauses);
  const Cost best = solve(*find_strategy("exact"), problem).cost;
  REQUIRE(best > 0);
  for (const std::int64_t in_all : {0, 1, 20, 1'000'000}) {
    CAPTURE(in_all);
    const Budget budget;
    State state(problem, budget);
    const bool closed = search(state, {1'000'000, in_all});
    CHECK(state.lower <= best);
    CHECK(state.upper >= best);
    CHECK(closed == (in_all == 1'000'000));
  }
}
