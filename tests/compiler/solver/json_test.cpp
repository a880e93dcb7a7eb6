// Problems and results as JSON.
#include "compiler/solver/formats/json.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "compiler/solver/strategy.hpp"
#include "compiler/solver/text.hpp"
#include "isa/base/error.hpp"
#include "support.hpp"

using namespace systole;
using namespace systole::solver;
using namespace systole::solver::test;

namespace {

constexpr const char* example = R"({
  "layout-selection": 1,
  "tensors": [
    {"name": "A", "layouts": ["RM", "CM"], "convert": 30},
    {"name": "B", "layouts": ["RM", "CM"], "convert": [[0, 30], ["inf", 0]], "groups": [4, -1]},
    {"name": "C", "layouts": 1}
  ],
  "operators": [
    {"name": "a", "output": "A", "rows": [{"output": "RM", "cost": 0}, {"output": "CM", "cost": 7}]},
    {"name": "twist", "inputs": ["A"], "output": "B", "family": "movement", "group": 2, "rows": [
      {"inputs": ["RM"], "output": "CM", "cost": 12},
      {"inputs": ["CM"], "output": 0, "cost": "inf"}]},
    {"name": "end", "inputs": [0, "B"], "output": "C", "rows": [
      {"inputs": ["CM", "CM"], "output": 0, "cost": 5}]}
  ]
})";

std::string complaint(const std::string& text) {
  try {
    formats::parse_json(text, "p");
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

// What is said when `from` stands as `to` in the example.
std::string complaint(const std::string& from, const std::string& to) {
  std::string text = example;
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return complaint(text.replace(at, from.size(), to));
}

}  // namespace

TEST_CASE("a JSON problem says what it says") {
  const Problem problem = formats::parse_json(example, "example");
  REQUIRE(problem.tensors.size() == 3);
  REQUIRE(problem.operators.size() == 3);
  CHECK(problem.tensors[TensorId(0)].conversion == std::vector<Cost>{0, 30, 30, 0});
  const Tensor& b = problem.tensors[TensorId(1)];
  CHECK(b.layout_names == std::vector<std::string>{"RM", "CM"});
  CHECK(b.conversion == std::vector<Cost>{0, 30, infinity, 0});
  CHECK(b.groups == std::vector<int>{4, -1});
  const Operator& twist = problem.operators[OperatorId(1)];
  CHECK(twist.family == "movement");
  CHECK(twist.group == 2);
  CHECK(twist.rows[0] == Row{{0, 1}, 12});
  CHECK(twist.rows[1] == Row{{1, 0}, infinity});
  // a in RM, converted for end: 0 + 12 + 5 + 30; in CM, converted for twist: 7 + 12 + 5 + 30.
  CHECK(solve(*find_strategy("exact"), problem).cost == 47);
}

TEST_CASE("a problem written as JSON reads back as it was") {
  const Problem problem = formats::parse_json(example, "e");
  CHECK(formats::parse_json(formats::print_json(problem), "again") == problem);
  Problem odd = figure1(9, 20);  // names that the text form cannot hold
  odd.tensors[TensorId(0)].name = "has \"quotes\" and spaces";
  odd.operators[OperatorId(0)].name = "#1 \xC3\xA4 -> all";
  CHECK(formats::parse_json(formats::print_json(odd), "again") == odd);
  Random random(3);
  for (int i = 0; i < 200; ++i) {
    Shape shape;
    shape.impossible_percent = 10;
    const Problem plain = random_problem(random, shape);
    const Problem named = formats::parse_json(formats::print_json(plain), "named");
    REQUIRE(print_ls(named) == print_ls(plain));
    REQUIRE(formats::parse_json(formats::print_json(named), "named") == named);
  }
}

TEST_CASE("names that are taken or no text are replaced, and the problem stays the same") {
  Problem problem = figure1(9, 20);
  problem.tensors[TensorId(1)].name = problem.tensors[TensorId(0)].name;
  problem.tensors[TensorId(2)].name = "broken \xFF";
  problem.tensors[TensorId(3)].layout_names = {"same", "same"};
  problem.operators[OperatorId(1)].name = problem.operators[OperatorId(0)].name;
  const Problem back = formats::parse_json(formats::print_json(problem), "p");
  CHECK(print_ls(back) == print_ls(problem));
}

TEST_CASE("mistakes in a JSON problem are named with their path, in one line") {
  CHECK(complaint("{") == "p: is not JSON: byte 2 is unexpected");
  CHECK(complaint("") == "p: is not JSON: byte 1 is unexpected");
  CHECK(complaint("[]") == "p: [] is not an object");
  CHECK(complaint("{}") == "p: 'layout-selection' is missing");
  CHECK(complaint("\"layout-selection\": 1", "\"layout-selection\": 2") ==
        "p: layout-selection: format version 2 is not a whole number from 1 to 1");
  CHECK(complaint("\"convert\": 30", "\"cnvert\": 30") ==
        "p: tensors[0]: 'cnvert' is unknown; members are convert, groups, layouts, name");
  CHECK(complaint(", \"convert\": 30", "").starts_with("p: tensors[0]: 'convert' is missing"));
  CHECK(complaint("30], [\"inf\", 0]", "30], [\"inf\", 1]") ==
        "p: tensors[1].convert[1][1]: converting a layout to itself costs 0");
  CHECK(complaint("[0, 30], [\"inf\", 0]", "[0, 30]") ==
        "p: tensors[1].convert: 1 entries for 2 layouts");
  CHECK(complaint("[0, 30]", "[0, 3.5]")
            .starts_with("p: tensors[1].convert[0][1]: cost 3.5 is not a whole number from 0"));
  CHECK(complaint("\"cost\": 12", "\"cost\": -1")
            .starts_with("p: operators[1].rows[0].cost: cost -1 is not"));
  CHECK(complaint("\"cost\": 12", "\"cost\": 18446744073709551615")
            .starts_with("p: operators[1].rows[0].cost: "));
  CHECK(complaint("\"cost\": 12", "\"cost\": \"Inf\"") ==
        "p: operators[1].rows[0].cost: cost \"Inf\" is neither a number nor \"inf\"");
  CHECK(complaint("\"cost\": 12", "\"cost\": 12, \"cost\": 13") ==
        "p: member 'cost' is given twice in one object");
  CHECK(complaint("\"inputs\": [\"RM\"]", "\"inputs\": [\"RX\"]") ==
        "p: operators[1].rows[0].inputs[0]: tensor A has no layout \"RX\"");
  CHECK(complaint("\"inputs\": [\"RM\"]", "\"inputs\": [2]") ==
        "p: operators[1].rows[0].inputs[0]: layout 2 is not a whole number from 0 to 1");
  CHECK(complaint("\"inputs\": [\"RM\"]", "\"inputs\": [\"RM\", \"RM\"]") ==
        "p: operators[1].rows[0].inputs: 2 layouts for 1 inputs");
  CHECK(complaint("\"inputs\": [\"RM\"], ", "") ==
        "p: operators[1].rows[0]: 0 layouts for 1 inputs");
  CHECK(complaint("\"inputs\": [0, \"B\"]", "\"inputs\": [3, \"B\"]") ==
        "p: operators[2].inputs[0]: tensor 3 is not a whole number from 0 to 2");
  CHECK(complaint("\"inputs\": [0, \"B\"]", "\"inputs\": [0, \"X\"]") ==
        "p: operators[2].inputs[1]: tensor \"X\" is not declared");
  CHECK(complaint("\"name\": \"twist\"", "\"name\": \"a\"") ==
        "p: operators[1].name: operator \"a\" is declared twice");
  CHECK(complaint("\"layouts\": 1", "\"layouts\": 1000000000")
            .starts_with("p: tensors[2].layouts: "));
  CHECK(complaint("\"output\": \"B\"", "\"output\": \"A\"")
            .starts_with("p: A: tensor has 2 producers"));
  const std::string deep = std::string(100'000, '[');
  CHECK(complaint(deep).starts_with("p: is not JSON"));
  const std::string whole = example;
  for (std::size_t cut = 0; cut < whole.size(); ++cut) {
    const std::string line = complaint(whole.substr(0, cut));
    REQUIRE(line.starts_with("p: is not JSON"));
    REQUIRE(line.find('\n') == std::string::npos);
  }
}

TEST_CASE("a result as JSON is one line with the whole result") {
  const Problem problem = formats::parse_json(example, "e");
  const Result result = solve(*find_strategy("exact"), problem);
  const std::string line = formats::print_json(problem, result, "exact");
  CHECK(line.find('\n') == line.size() - 1);
  const auto json = nlohmann::json::parse(line);
  CHECK(json.at("cost") == 47);
  CHECK(json.at("bound") == 47);
  CHECK(json.at("status") == "proven");
  CHECK(json.at("strategy") == "exact");
  CHECK(json.at("rows").size() == 3);
  CHECK(json.at("rows")[2].at("inputs") == nlohmann::json::array({"CM", "CM"}));
  Result none;
  none.status = Status::infeasible;
  none.bound = infinity;
  CHECK(nlohmann::json::parse(formats::print_json(problem, none, "exact")).at("cost").is_null());
}
