#include <doctest/doctest.h>

#include "compiler/solver/strategy.hpp"
#include "compiler/solver/text.hpp"
#include "isa/base/error.hpp"
#include "support.hpp"

using namespace systole;
using namespace systole::solver;
using namespace systole::solver::test;

namespace {

constexpr const char* example = R"(# Figure 1, first half
layout-selection 1
tensor A RM CM
  convert all 30
tensor B RM CM
  convert RM CM 30
  convert CM RM inf
  groups 4 -1
operator a -> A
  row -> RM 0
  row -> CM 0
operator twist A -> B
  family movement
  group 2
  row RM -> CM 12
  row CM -> RM inf
)";

std::string complaint(const std::string& text) {
  try {
    parse_problem(text, "p");
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

}  // namespace

TEST_CASE("the problem file says what it says") {
  const Problem problem = parse_problem(example, "example");
  REQUIRE(problem.tensors.size() == 2);
  REQUIRE(problem.operators.size() == 2);
  const Tensor& b = problem.tensors[TensorId(1)];
  CHECK(b.layouts == 2);
  CHECK(b.conversion == std::vector<Cost>{0, 30, infinity, 0});
  CHECK(b.groups == std::vector<int>{4, -1});
  const Operator& twist = problem.operators[OperatorId(1)];
  CHECK(twist.family == "movement");
  CHECK(twist.group == 2);
  CHECK(twist.inputs == std::vector<TensorId>{TensorId(0)});
  CHECK(twist.rows[0] == Row{{0, 1}, 12});
  CHECK(twist.rows[1].cost == infinity);
}

TEST_CASE("printing and parsing again gives the same problem") {
  CHECK(parse_problem(print_problem(parse_problem(example, "e")), "again") ==
        parse_problem(example, "e"));
  Random random(3);
  for (int i = 0; i < 200; ++i) {
    Shape shape;
    shape.impossible_percent = 10;
    const Problem problem = random_problem(random, shape);
    CHECK(parse_problem(print_ls(problem), "ls") == problem);
    const Problem named = parse_problem(print_problem(problem), "named");
    CHECK(parse_problem(print_problem(named), "named") == named);
    CHECK(parse_problem(print_ls(named), "ls") == problem);  // .ls carries no names
  }
}

TEST_CASE("names that cannot stand in the file are changed, not written wrongly") {
  Problem problem = figure1(9, 20);
  problem.tensors[TensorId(0)].name = "has space";
  problem.tensors[TensorId(1)].name = "has_space";
  problem.operators[OperatorId(0)].name = "#1";
  const Problem back = parse_problem(print_problem(problem), "p");
  CHECK(back.tensors[TensorId(0)].name == "has_space");
  CHECK(back.tensors[TensorId(1)].name == "has_space~2");
  CHECK(print_ls(back) == print_ls(problem));
}

TEST_CASE("mistakes in a problem file are named with their line") {
  CHECK(complaint("nonsense").starts_with("p:1: "));
  CHECK(complaint(replaced(example, "row RM -> CM 12", "row RX -> CM 12")) ==
        "p:15: tensor A has no layout RX; it has RM CM");
  CHECK(complaint(replaced(example, "row RM -> CM 12", "row RM -> CM twelve")) ==
        "p:15: cost 'twelve' is not a whole number");
  CHECK(complaint(replaced(example, "row RM -> CM 12", "row RM CM 12")).starts_with("p:15: "));
  CHECK(complaint(replaced(example, "convert RM CM 30", "groups 1 1"))
            .starts_with("p:9: tensor B ends without the cost of converting RM to CM"));
  CHECK(complaint(replaced(example, "twist A -> B", "twist X -> B")) ==
        "p:12: operator twist names tensor X, which is not declared");
  CHECK(complaint(replaced(example, "family movement", "famly movement"))
            .starts_with("p:13: unknown statement 'famly'"));
  CHECK(complaint(replaced(example, "tensor B RM CM", "tensor A RM CM")) ==
        "p:5: tensor A is declared twice");
}

TEST_CASE("mistakes in an .ls file are named with their line") {
  const std::string good = "ls 1\n1 1\nt 2 0 3 4 0\no 0 0 2\n0 5\n1 6\n";
  CHECK(complaint(good) == "");
  CHECK(complaint(replaced(good, "1 6", "2 6")) == "p:6: layout 2 is outside 0..1");
  CHECK(complaint(replaced(good, "o 0 0 2", "o 0 1 2")) == "p:4: output tensor 1 is outside 0..0");
  CHECK(complaint(replaced(good, "0 5\n", "0 5x\n")) == "p:5: cost '5x' is not a whole number");
  CHECK(complaint(good + "7") == "p:7: text after the last operator");
  CHECK(parse_problem("ls 1\n1 1\nt 2 0 inf 4 0\no 0 0 2\n0 5\n1 inf\n", "p")
            .tensors[TensorId(0)]
            .convert(0, 1) == infinity);
  CHECK(complaint("ls 1\n1 1\nt 2 0 3") == "p:3: the text ends too early");
  CHECK(complaint("ls 1\n999999999 1\n").starts_with("p:2: number of tensors"));
}

TEST_CASE("a result file carries the whole result and reads back") {
  const Problem problem = figure1(9, 20);
  Result result = solve(*find_strategy("exact"), problem);
  const std::string text = print_result(problem, result, "exact");
  Result back = parse_result(problem, text, "r");
  CHECK(verify(problem, back).empty());
  CHECK(back.assignment == result.assignment);
  CHECK(back.cost == result.cost);
  CHECK(back.status == result.status);
  CHECK(back.stats == result.stats);
  CHECK(print_result(problem, back, "exact") == text);
  CHECK_THROWS_AS(parse_result(figure2(3), text, "r"), Error);
}

TEST_CASE("what is no readable file is refused with one line") {
  CHECK_THROWS_AS(read_problem("/no/such/file"), Error);
  CHECK_THROWS_WITH(read_problem("/"), "/: is a folder, not a file");
}
