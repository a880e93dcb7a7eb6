// Random small problems: everything that must hold for every problem.
#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>

#include "compiler/solver/exact/attempt.hpp"
#include "compiler/solver/exact/eliminate.hpp"
#include "compiler/solver/exact/search.hpp"
#include "compiler/solver/strategy.hpp"
#include "support.hpp"

using namespace systole;
using namespace systole::solver;
using namespace systole::solver::test;

namespace {

Shape varied(Random& random) {
  Shape shape;
  shape.operators = static_cast<int>(random.integer(1, 8));
  shape.most_inputs = static_cast<int>(random.integer(1, 4));
  shape.most_layouts = static_cast<int>(random.integer(1, 4));
  shape.most_rows = static_cast<int>(random.integer(1, 5));
  shape.most_cost = random.integer(0, 1) == 0 ? 2 : 30;
  shape.impossible_percent = random.integer(0, 3) == 0 ? 25 : 0;
  return shape;
}

Result run(const char* strategy, const Problem& problem, Budget budget = {}) {
  return solve(*find_strategy(strategy), problem, budget);
}

// The optimum, or infinity; other statuses fail the test.
Cost optimum(const Problem& problem, const char* strategy = "exact") {
  const Result result = run(strategy, problem);
  REQUIRE((result.status == Status::proven || result.status == Status::infeasible));
  return result.cost;
}

}  // namespace

TEST_CASE("exact agrees with brute force on thousands of random problems") {
  Random random(1);
  for (int i = 0; i < 4000; ++i) {
    const Problem problem = random_problem(random, varied(random));
    CAPTURE(i);
    REQUIRE(optimum(problem) == optimum(problem, "brute_force"));
  }
}

TEST_CASE("elimination without any bound or pruning before it agrees with brute force") {
  Random random(2);
  for (int i = 0; i < 2000; ++i) {
    Shape shape = varied(random);
    shape.impossible_percent = 0;
    const Problem problem = random_problem(random, shape);
    const Budget budget;
    exact::State state(problem, budget);
    LocalSearch search(state.flat);
    start_topologically(state.flat, search);
    state.offer(search, Proof::none);
    const exact::Dual dual(state.live, 1);
    const exact::Plan plan = exact::plan_elimination(state, dual, 0, 1e12);
    exact::eliminate_all(state, plan);
    CAPTURE(i);
    REQUIRE(state.upper == optimum(problem, "brute_force"));
  }
}

TEST_CASE("the core-guided search alone agrees with brute force") {
  Random random(3);
  for (int i = 0; i < 400; ++i) {
    const Problem problem = random_problem(random, varied(random));
    const Result expected = run("brute_force", problem);
    if (expected.status == Status::infeasible) {
      continue;
    }
    const Budget budget;
    exact::State state(problem, budget);
    CAPTURE(i);
    REQUIRE(exact::search(state, {1'000'000, 1'000'000'000}));
    REQUIRE(state.upper == expected.cost);
    REQUIRE(state.lower == expected.cost);
  }
}

TEST_CASE("the dual bound never exceeds the optimum, and pruning keeps an optimal solution") {
  Random random(4);
  for (int i = 0; i < 1000; ++i) {
    Shape shape = varied(random);
    shape.impossible_percent = 0;
    const Problem problem = random_problem(random, shape);
    const Cost best = optimum(problem, "brute_force");
    const Budget budget;
    exact::State state(problem, budget);
    exact::remove_dominated(state.live);
    exact::Dual dual(state.live, 256);
    for (int sweep = 0; sweep < 5; ++sweep) {
      dual.sweep();
      REQUIRE(dual.bound() <= best);
    }
    dual.prune(state.live, best);
    // Only the live rows, as a problem of their own.
    Problem rest = problem;
    for (int op = 0; op < state.flat.operators; ++op) {
      std::vector<Row> rows;
      for (const int row : state.live.rows(op)) {
        const int index = state.flat.row_index[static_cast<std::size_t>(row)];
        rows.push_back(problem.operators[OperatorId(static_cast<std::size_t>(op))]
                           .rows[static_cast<std::size_t>(index)]);
      }
      rest.operators[OperatorId(static_cast<std::size_t>(op))].rows = std::move(rows);
    }
    CAPTURE(i);
    REQUIRE(optimum(rest, "brute_force") == best);
  }
}

TEST_CASE("tensors of many layouts get a valid bound, exact for two uses") {
  Random random(53);
  const Budget budget;
  for (int i = 0; i < 400; ++i) {
    const Problem problem = random_problem(random, {5, 3, 14, 9, 30, 0});
    const Cost best = optimum(problem, "brute_force");
    exact::State state(problem, budget);
    exact::Dual dual(state.live, 256);
    CAPTURE(i);
    for (int sweep = 0; sweep < 10; ++sweep) {
      dual.sweep();
      REQUIRE(dual.bound() <= best);
    }
    dual.prune(state.live, best);
    CHECK(optimum(problem) == best);
  }
  for (int i = 0; i < 100;
       ++i) {  // one tensor of 10 layouts, read twice: no cycle, so sweeps reach the optimum
    Problem problem;
    const TensorId read = problem.tensors.add(tensor_with(10, 0));
    for (Cost& cost : problem.tensors[read].conversion) {
      cost = random.integer(1, 20);
    }
    for (std::size_t l = 0; l < 10; ++l) {
      problem.tensors[read].conversion[11 * l] = 0;
    }
    Operator producer{"", {}, read, {}, {}, -1};
    for (int l = 0; l < 10; ++l) {
      producer.rows.push_back({{l}, random.integer(0, 9)});
    }
    problem.operators.add(producer);
    for (int use = 0; use < 2; ++use) {
      const TensorId out = problem.tensors.add(tensor_with(1, 0));
      Operator reader{"", {read}, out, {}, {}, -1};
      for (int l = 0; l < 10; ++l) {
        reader.rows.push_back({{l, 0}, random.integer(0, 30)});
      }
      problem.operators.add(reader);
    }
    exact::State state(problem, budget);
    exact::Dual dual(state.live, 256);
    for (int sweep = 0; sweep < 5; ++sweep) {
      dual.sweep();
    }
    CAPTURE(i);
    CHECK(dual.bound() == optimum(problem, "brute_force"));
  }
}

TEST_CASE("all exact strategies agree") {
  Random random(5);
  for (int i = 0; i < 60; ++i) {
    const Problem problem = random_problem(random, varied(random));
    const Cost expected = optimum(problem, "brute_force");
    for (const Strategy& strategy : strategies()) {
      if (strategy.exact) {
        CAPTURE(i);
        CAPTURE(strategy.name);
        Budget budget;
        budget.seconds = 60;
        const Result result = solve(strategy, problem, budget);
        REQUIRE((result.status == Status::proven || result.status == Status::infeasible));
        REQUIRE(result.cost == expected);
      }
    }
  }
}

TEST_CASE("every strategy's assignment is valid and between bound and its own cost") {
  Random random(6);
  for (int i = 0; i < 500; ++i) {
    const Problem problem = random_problem(random, varied(random));
    const Cost best = optimum(problem);
    for (const Strategy& strategy : strategies()) {
      if (strategy.name == "maxsat") {
        continue;  // in the case above
      }
      CAPTURE(i);
      CAPTURE(strategy.name);
      const Result result = solve(strategy, problem);
      REQUIRE(verify(problem, result).empty());
      REQUIRE(result.cost >= best);
      REQUIRE(result.bound <= best);
      const bool proves = result.status == Status::proven;
      REQUIRE((!proves || result.cost == best));
    }
  }
}

TEST_CASE("greedy never ends above its topological start and stops where no single change helps") {
  Random random(7);
  for (int i = 0; i < 300; ++i) {
    Shape shape = varied(random);
    shape.impossible_percent = 0;
    const Problem problem = random_problem(random, shape);
    const Result result = run("greedy", problem);
    for (const OperatorId id : problem.operators.ids()) {
      for (std::size_t r = 0; r < problem.operators[id].rows.size(); ++r) {
        Assignment changed = result.assignment;
        changed.row[id] = static_cast<int>(r);
        REQUIRE(evaluate(problem, changed) >= result.cost);
      }
    }
  }
}

TEST_CASE("renaming layouts, permuting operators and scaling costs change nothing but the scale") {
  Random random(8);
  for (int i = 0; i < 300; ++i) {
    const Problem problem = random_problem(random, varied(random));
    const Cost best = optimum(problem);
    Problem other = problem;
    // Reverse the layouts of every tensor.
    for (Tensor& tensor : other.tensors) {
      std::reverse(tensor.conversion.begin(), tensor.conversion.end());
    }
    for (Operator& op : other.operators) {
      for (Row& row : op.rows) {
        for (std::size_t s = 0; s < row.layouts.size(); ++s) {
          const TensorId tensor = s < op.inputs.size() ? op.inputs[s] : op.output;
          row.layouts[s] = other.tensors[tensor].layouts - 1 - row.layouts[s];
        }
        row.cost = row.cost < infinity ? row.cost * 7 : infinity;
      }
      std::reverse(op.rows.begin(), op.rows.end());
    }
    for (Tensor& tensor : other.tensors) {
      for (Cost& cost : tensor.conversion) {
        cost = cost < infinity ? cost * 7 : infinity;
      }
    }
    // Operators in another order: consumers may stand before producers.
    std::vector<Operator> operators(other.operators.begin(), other.operators.end());
    for (std::size_t k = operators.size(); k > 1; --k) {
      std::swap(
          operators[k - 1],
          operators[static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(k) - 1))]);
    }
    other.operators = {};
    for (Operator& op : operators) {
      other.operators.add(std::move(op));
    }
    CAPTURE(i);
    REQUIRE(optimum(other) == (best < infinity ? best * 7 : infinity));
  }
}

TEST_CASE("adding a layout or a row never raises the optimum") {
  Random random(9);
  for (int i = 0; i < 300; ++i) {
    const Problem problem = random_problem(random, varied(random));
    const Cost best = optimum(problem);
    Problem more = problem;
    const TensorId grown(static_cast<std::size_t>(
        random.integer(0, static_cast<std::int64_t>(problem.tensors.size()) - 1)));
    Tensor& tensor = more.tensors[grown];
    const int k = tensor.layouts++;
    tensor.conversion.clear();
    for (int from = 0; from <= k; ++from) {
      for (int to = 0; to <= k; ++to) {
        const bool old = from < k && to < k;
        tensor.conversion.push_back(from == to ? 0
                                    : old      ? problem.tensors[grown].convert(from, to)
                                               : random.integer(0, 10));
      }
    }
    for (Operator& op : more.operators) {
      Row row = op.rows.front();
      for (std::size_t s = 0; s < row.layouts.size(); ++s) {
        const TensorId touched = s < op.inputs.size() ? op.inputs[s] : op.output;
        row.layouts[s] = touched == grown ? k : row.layouts[s];
      }
      row.cost = random.integer(0, 10);
      op.rows.push_back(std::move(row));
    }
    CAPTURE(i);
    REQUIRE(check(more).empty());
    REQUIRE(optimum(more) <= best);
  }
}

TEST_CASE("one and two threads give the same result, bound and statistics") {
  Random random(10);
  Shape shape;
  shape.operators = 60;
  shape.most_layouts = 3;
  shape.most_rows = 12;
  for (int i = 0; i < 5; ++i) {
    const Problem problem = random_problem(random, shape);
    Budget one;
    one.threads = 1;
    Budget two;
    two.threads = 2;
    const Result a = run("exact", problem, one);
    const Result b = run("exact", problem, two);
    CHECK(a.assignment == b.assignment);
    CHECK(a.cost == b.cost);
    CHECK(a.bound == b.bound);
    CHECK(a.stats == b.stats);
    CHECK(a.status == b.status);
  }
}

TEST_CASE("large costs take the wide arithmetic and stay exact") {
  Random random(12);
  for (int i = 0; i < 200; ++i) {
    Shape shape = varied(random);
    shape.most_cost = 1'000'000'000'000;
    const Problem problem = random_problem(random, shape);
    REQUIRE(optimum(problem) == optimum(problem, "brute_force"));
  }
}

TEST_CASE(
    "problems at the edges: free, one layout, one operator, six operands, many layouts, no edges, "
    "prices far apart") {
  Random random(13);
  const auto edge = [&](int kind) {
    Shape shape;
    shape.operators = 5;
    switch (kind) {
      case 0:
        shape.most_cost = 0;
        break;
      case 1:
        shape.most_layouts = 1;
        break;
      case 2:
        shape.operators = 1;
        break;
      case 3:
        shape.most_inputs = 6;
        break;
      case 4:
        shape.most_layouts = 30;
        shape.most_rows = 8;
        break;
      case 5:
        shape.most_inputs = 0;
        break;
      default:
        shape.impossible_percent = 50;
    }
    return shape;
  };
  for (int i = 0; i < 140; ++i) {
    Problem problem = random_problem(random, edge(i % 7));
    if (i % 2 == 1) {  // prices from 1 to 10^12 in one problem
      for (Operator& op : problem.operators) {
        for (Row& row : op.rows) {
          const bool dear = row.cost < infinity && random.integer(0, 2) == 0;
          row.cost = dear ? row.cost * 50'000'000'000 : row.cost;
        }
      }
    }
    CAPTURE(i);
    const Cost best = optimum(problem, "brute_force");
    REQUIRE(optimum(problem) == best);
    for (const Strategy& strategy : strategies()) {
      CAPTURE(strategy.name);
      const Result result = solve(strategy, problem);  // verifies what it returns
      REQUIRE(result.cost >= best);
      REQUIRE(result.bound <= best);
    }
  }
}

TEST_CASE(
    "maxsat stops at its budget of work at the same place on every run, holding an answer and a "
    "bound") {
  Random random(14);
  Shape shape;
  shape.operators = 60;
  shape.most_rows = 8;
  const Problem problem = random_problem(random, shape);
  Budget budget;
  budget.work = 20'000;
  const Result result = run("maxsat", problem, budget);
  CHECK(result.status == Status::feasible);
  CHECK(result.note == "the budget ended before the proof");
  const Result again = run("maxsat", problem, budget);
  CHECK(again.cost == result.cost);
  CHECK(again.bound == result.bound);
  CHECK(again.assignment == result.assignment);
}

TEST_CASE("impossible problems are recognised as such") {
  Problem problem;
  Tensor tensor = tensor_with(2, infinity);
  const TensorId t = problem.tensors.add(tensor);
  problem.operators.add(source(t, {0, infinity}));
  const TensorId out = problem.tensors.add(tensor_with(1, 0));
  problem.operators.add({"", {t}, out, {{{1, 0}, 1}}, "", -1});
  for (const char* strategy : {"exact", "brute_force", "treewidth", "maxsat"}) {
    CAPTURE(strategy);
    CHECK(run(strategy, problem).status == Status::infeasible);
  }
}

TEST_CASE("every strategy solves a problem without operators") {
  for (const Strategy& strategy : strategies()) {
    CAPTURE(strategy.name);
    const Result result = solve(strategy, Problem{});
    CHECK(result.status == Status::proven);
    CHECK(result.cost == 0);
  }
}

TEST_CASE("brute force ends with its seconds and says so") {
  Random random(14);
  Budget hasty;
  hasty.seconds = 1e-9;
  const Problem problem = grid_problem(random, 4, 40, 3, 16);
  const Result result = solve(*find_strategy("brute_force"), problem, hasty);
  CHECK(result.status == Status::feasible);
  CHECK(result.note == "the budget ended before every combination was tried");
  REQUIRE(result.stats.size() == 1);
  CHECK(result.stats[0].value < 70'000);
}
