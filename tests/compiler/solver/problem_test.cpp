#include <doctest/doctest.h>

#include "compiler/solver/problem.hpp"
#include "compiler/solver/result.hpp"
#include "compiler/solver/strategy.hpp"
#include "isa/base/error.hpp"
#include "support.hpp"

using namespace systole;
using namespace systole::solver;
using namespace systole::solver::test;

namespace {

Assignment choose(std::vector<int> rows) {
  Assignment out;
  for (const int row : rows) {
    out.row.add(row);
  }
  return out;
}

// One tensor with three layouts, three consumers that can each read it in any of them for nothing.
Problem fan_out() {
  Problem problem;
  Tensor tensor = tensor_with(3, 0);
  tensor.conversion = {0, 5, 7, 11, 0, 13, 17, 19, 0};
  const TensorId t = problem.tensors.add(tensor);
  problem.operators.add(source(t, {1, 2, 3}));
  for (int i = 0; i < 3; ++i) {
    const TensorId out = problem.tensors.add(tensor_with(1, 0));
    problem.operators.add({"", {t}, out, {{{0, 0}, 100}, {{1, 0}, 200}, {{2, 0}, 300}}, "", -1});
  }
  return problem;
}

}  // namespace

TEST_CASE("conversion is charged once per distinct consumer layout") {
  const Problem problem = fan_out();
  CHECK(evaluate(problem, choose({0, 0, 0, 0})) == 1 + 300);
  CHECK(evaluate(problem, choose({0, 1, 1, 1})) == 1 + 600 + 5);
  CHECK(evaluate(problem, choose({0, 1, 2, 1})) == 1 + 200 + 300 + 200 + 5 + 7);
  CHECK(evaluate(problem, choose({2, 0, 1, 2})) == 3 + 600 + 17 + 19);
  const CostParts parts = cost_parts(problem, choose({2, 0, 1, 2}));
  CHECK(parts.rows == 603);
  CHECK(parts.conversions == 36);
  CHECK(parts.conversion_count == 2);
}

TEST_CASE("one operator reading a tensor twice in one layout pays one conversion") {
  Problem problem;
  const TensorId t = problem.tensors.add(tensor_with(2, 9));
  problem.operators.add(source(t, {0, 50}));
  const TensorId out = problem.tensors.add(tensor_with(1, 0));
  problem.operators.add({"", {t, t}, out, {{{1, 1, 0}, 2}, {{0, 1, 0}, 3}}, "", -1});
  CHECK(evaluate(problem, choose({0, 0})) == 2 + 9);
  CHECK(evaluate(problem, choose({0, 1})) == 3 + 9);
}

TEST_CASE("sums saturate at infinity instead of overflowing") {
  CHECK(add(infinity, infinity) == infinity);
  CHECK(add(infinity - 1, 1) == infinity);
  CHECK(add(3, 4) == 7);
  Problem problem = fan_out();
  problem.tensors[TensorId(0)].conversion[1] = infinity;
  CHECK(evaluate(problem, choose({0, 1, 0, 0})) == infinity);
}

TEST_CASE("a well-formed problem has no diagnostics, and every rule of the format has one") {
  CHECK(check(fan_out()).empty());
  const auto complaint = [](const auto& damage) {
    Problem problem = fan_out();
    damage(problem);
    const std::vector<Diagnostic> found = check(problem);
    return found.empty() ? std::string() : found.front().what;
  };
  const OperatorId consumer(1);
  CHECK(complaint([](Problem& p) { p.tensors[TensorId(0)].layouts = 0; }) ==
        "tensor has no layout");
  CHECK(complaint([](Problem& p) { p.tensors[TensorId(0)].conversion.pop_back(); }) ==
        "conversion table has 8 entries instead of 9");
  CHECK(complaint([](Problem& p) { p.tensors[TensorId(0)].conversion[4] = 1; }) ==
        "conversion of layout 1 to itself costs 1 instead of 0");
  CHECK(complaint([](Problem& p) { p.tensors[TensorId(0)].conversion[1] = -1; }) ==
        "conversion cost -1 is outside [0, infinity]");
  CHECK(complaint([&](Problem& p) { p.operators[consumer].rows[0].layouts[0] = 3; }) ==
        "row 0 uses layout 3 of tensor t0, which has 3 layouts");
  CHECK(complaint([&](Problem& p) { p.operators[consumer].rows[0].layouts.pop_back(); }) ==
        "row 0 has 1 layouts instead of 2");
  CHECK(complaint([&](Problem& p) { p.operators[consumer].rows.clear(); }) ==
        "operator has no row");
  CHECK(complaint([&](Problem& p) { p.operators[consumer].inputs[0] = TensorId(9); }) ==
        "operator names a tensor that does not exist");
  CHECK(complaint([&](Problem& p) { p.operators[consumer].output = TensorId(2); }) ==
        "tensor has 0 producers instead of one");
  CHECK(complaint([](Problem& p) { p.operators[OperatorId(0)].rows[0].cost = infinity - 1; }) ==
        "the worst finite total exceeds 2^50; scale the costs down");
  CHECK(complaint([](Problem& p) {
          p.operators[OperatorId(0)].inputs = {TensorId(1)};
          for (Row& row : p.operators[OperatorId(0)].rows) {
            row.layouts.insert(row.layouts.begin(), 0);
          }
        }) == "the graph has a cycle");
}

TEST_CASE("verify finds a result that contradicts its problem") {
  const Problem problem = fan_out();
  Result result;
  result.status = Status::feasible;
  result.assignment = choose({0, 1, 1, 1});
  result.cost = 606;
  result.bound = 300;
  CHECK(verify(problem, result).empty());
  Result wrong = result;
  wrong.cost = 605;
  CHECK_FALSE(verify(problem, wrong).empty());
  wrong = result;
  wrong.bound = 607;
  CHECK_FALSE(verify(problem, wrong).empty());
  wrong = result;
  wrong.assignment.row[OperatorId(2)] = 3;
  CHECK_FALSE(verify(problem, wrong).empty());
  wrong = result;
  wrong.status = Status::proven;
  CHECK_FALSE(verify(problem, wrong).empty());
  wrong = result;
  wrong.status = Status::exhausted;
  CHECK_FALSE(verify(problem, wrong).empty());
}

TEST_CASE("solving a malformed problem is the user's mistake") {
  Problem problem = fan_out();
  problem.operators[OperatorId(1)].rows.clear();
  CHECK_THROWS_AS(solve(*find_strategy("greedy"), problem), Error);
}
