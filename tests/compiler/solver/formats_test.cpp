// Exports: read back, and given to the outside solvers that Debian has; every optimum must be ours.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "compiler/solver/formats/linear.hpp"
#include "compiler/solver/formats/wcnf.hpp"
#include "compiler/solver/formats/wcsp.hpp"
#include "compiler/solver/strategy.hpp"
#include "compiler/solver/text.hpp"
#include "isa/base/error.hpp"
#include "support.hpp"

using namespace systole;
using namespace systole::solver;
using namespace systole::solver::test;

namespace {

Cost optimum(const Problem& problem) {
  const Result result = solve(*find_strategy("exact"), problem);
  REQUIRE((result.status == Status::proven || result.status == Status::infeasible));
  return result.cost;
}

bool installed(const std::string& program) {
  if (std::system(("command -v " + program + " >/dev/null 2>&1").c_str()) == 0) {
    return true;
  }
  std::fprintf(stderr, "SKIPPED: %s is not installed\n", program.c_str());
  return false;
}

// Runs `command`, whose {} is replaced by a file holding `text`, and returns what it prints.
std::string run(const std::string& command, const std::string& text, const std::string& ending) {
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() /
      fmt::format("systole_formats_{}.{}", static_cast<long>(::getpid()), ending);
  std::ofstream(path) << text;
  const std::string line = fmt::format(fmt::runtime(command), path.string()) + " 2>/dev/null";
  std::string out;
  FILE* pipe = ::popen(line.c_str(), "r");
  REQUIRE(pipe != nullptr);
  std::array<char, 4096> buffer{};
  while (std::fgets(buffer.data(), buffer.size(), pipe) != nullptr) {
    out += buffer.data();
  }
  ::pclose(pipe);
  std::filesystem::remove(path);
  return out;
}

// The number behind the last occurrence of a word.
Cost number_after(const std::string& text, const std::string& word) {
  const std::size_t at = text.rfind(word);
  CAPTURE(text);
  REQUIRE(at != std::string::npos);
  return static_cast<Cost>(std::strtod(text.c_str() + at + word.size(), nullptr) + 0.5);
}

// Formulas with soft clauses as SMT-LIB, which is how z3 4.8 reports the optimum of weighted MaxSAT.
std::string smt_of(const formats::Wcnf& formula) {
  std::string out;
  for (int v = 1; v <= formula.variables; ++v) {
    out += fmt::format("(declare-const v{} Bool)\n", v);
  }
  const auto clause = [](const std::vector<int>& literals) {
    std::string text = "(or false";
    for (const int literal : literals) {
      text += literal > 0 ? fmt::format(" v{}", literal) : fmt::format(" (not v{})", -literal);
    }
    return text + ")";
  };
  for (const auto& hard : formula.hard) {
    out += fmt::format("(assert {})\n", clause(hard));
  }
  for (const auto& [weight, soft] : formula.soft) {
    out += fmt::format("(assert-soft {} :weight {} :id goal)\n", clause(soft), weight);
  }
  return out + "(check-sat)\n(get-objectives)\n";
}

std::vector<Problem> samples(int count, bool feasible) {
  Random random(21);
  std::vector<Problem> out{figure1(40, 20), figure2(3)};
  while (static_cast<int>(out.size()) < count) {
    Shape shape;
    shape.operators = static_cast<int>(random.integer(4, 14));
    shape.impossible_percent = random.integer(0, 2) == 0 ? 8 : 0;
    Problem problem = random_problem(random, shape);
    if (!feasible || optimum(problem) < infinity) {
      out.push_back(std::move(problem));
    }
  }
  return out;
}

constexpr int outside_samples = 12;

}  // namespace

TEST_CASE("WCNF reads back in both dialects") {
  for (const Problem& problem : samples(20, false)) {
    const formats::Wcnf formula = formats::wcnf_of(problem).formula;
    const formats::Wcnf old =
        formats::parse_wcnf(print_wcnf(formula, formats::WcnfDialect::old_header), "old");
    const formats::Wcnf marked =
        formats::parse_wcnf(print_wcnf(formula, formats::WcnfDialect::new_marks), "new");
    CHECK(old == formula);
    CHECK(marked.hard == formula.hard);
    CHECK(marked.soft == formula.soft);
  }
}

TEST_CASE("a problem exported to WCNF or WCSP and imported again keeps its optimum") {
  for (const Problem& problem : samples(25, false)) {
    const Cost best = optimum(problem);
    const Problem by_formula = formats::problem_of(formats::wcnf_of(problem).formula);
    REQUIRE(check(by_formula).empty());
    CHECK(optimum(by_formula) == best);
    const formats::Wcsp network = formats::wcsp_of(problem);
    const Problem by_network =
        formats::problem_of(formats::parse_wcsp(print_wcsp(network, "p"), "w"));
    REQUIRE(check(by_network).empty());
    CHECK(optimum(by_network) == best);
  }
}

TEST_CASE("a problem exported to CFN, CPLEX LP or OPB and imported again keeps its optimum") {
  // Small ones: as a 0/1 program every row and conversion is a variable of its own, and nothing tells the solver that
  // they belong together.
  Random random(22);
  std::vector<Problem> problems{figure1(40, 20)};
  for (int i = 0; i < 12; ++i) {
    Shape shape;
    shape.operators = 4;
    shape.most_inputs = 2;
    shape.most_layouts = 2;
    shape.most_rows = 3;
    shape.impossible_percent = i % 3 == 0 ? 15 : 0;
    problems.push_back(random_problem(random, shape));
  }
  for (const Problem& problem : problems) {
    const Cost best = optimum(problem);
    const formats::LinearProgram program = formats::linear_program_of(problem);
    for (const Problem& again :
         {formats::problem_of(formats::parse_lp(print_lp(program), "l")),
          formats::problem_of(formats::parse_opb(print_opb(program), "o"))}) {
      REQUIRE(check(again).empty());
      CHECK(optimum(again) == best);
    }
    const formats::Wcsp network = formats::wcsp_of(problem);
    const Problem again = formats::problem_of(formats::parse_cfn(print_cfn(network, "p"), "c"));
    REQUIRE(check(again).empty());
    CHECK(optimum(again) == best);
  }
}

TEST_CASE("0/1 programs written by hand have the optimum worked out by hand") {
  // Knapsack cover: 3a + 5b + 4c + 2d >= 8 at prices 4, 6, 5, 2: b and d miss it by one, a and b cost 10, b, c 11,
  // c, d, a 11. Sums are handed on and never need more than 8.
  const Problem cover = formats::problem_of(formats::parse_opb(
      "* a comment\nmin: +4 x1 +6 x2 +5 x3 +2 x4 ;\n+3 x1 +5 x2 +4 x3 +2 x4 >= 8 ;\n", "f"));
  CHECK(optimum(cover) == 10);
  // Exactly two of twelve, cheapest 1 and 2, but the two cheapest exclude each other: 1 + 3. Negated literals count.
  std::string text = "min:";
  std::string all;
  for (int v = 1; v <= 12; ++v) {
    text += fmt::format(" +{} x{}", v, v);
    all += fmt::format(" +1 x{}", v);
  }
  CHECK(optimum(formats::problem_of(
            formats::parse_opb(text + " ;\n" + all + " = 2 ;\n+1 ~x1 +1 ~x2 >= 1 ;\n", "f"))) == 4);
  CHECK(optimum(formats::problem_of(formats::parse_opb(text + " ;\n" + all + " >= 13 ;\n", "f"))) ==
        infinity);
  CHECK(optimum(formats::problem_of(formats::parse_opb("min: +1 x1 ;\n-2 x1 <= -3 ;\n", "f"))) ==
        infinity);
  const Problem program = formats::problem_of(
      formats::parse_lp("\\ a comment\nMinimize\n cost: 4 a + 6 b\n + 5 c + 2 d\nSubject To\n c1: "
                        "3 a + 5 b + 4 c + 2 d >= 8\n - a - b >= -1\n"
                        "Binary\n a b c d\nEnd\n",
                        "f"));
  CHECK(optimum(program) == 4 + 5 + 2);
}

TEST_CASE("CFN files written by people are read: names, lists of values, full tables") {
  const Problem problem = formats::problem_of(formats::parse_cfn(
      R"({"problem": {"name": "n", "mustbe": "<100"},
          "variables": {"colour": ["red", "green"], "size": 3},
          "functions": {"u": {"scope": ["size"], "costs": [5, 3, 4]},
                        "pair": {"scope": ["colour", 1], "defaultcost": 7, "costs": ["red", 0, 1, "green", 2, 0, "red", 1, 100]},
                        "nothing": {"scope": [], "costs": [2]}}})",
      "f"));
  CHECK(optimum(problem) == 2 + 4);  // green, size 2
}

TEST_CASE("mistakes in CFN, LP and OPB files are named") {
  CHECK_THROWS_WITH(formats::parse_cfn("{", "f"), "f: is not JSON: byte 2 is unexpected");
  CHECK_THROWS_WITH(
      formats::parse_cfn(
          R"({"variables": {"x": 2}, "functions": {"g": {"scope": ["y"], "costs": []}}})", "f"),
      "f: g: variable \"y\" does not exist");
  CHECK_THROWS_WITH(
      formats::parse_cfn(
          R"({"variables": {"x": 2}, "functions": {"g": {"scope": ["x"], "costs": [1]}}})", "f"),
      "f: g: the table of costs is too short");
  CHECK_THROWS_WITH(formats::parse_opb("min: +1 x1 ;\n+1 y >= 1 ;\n", "f"),
                    "f:2: 'y' is no variable; variables are x1, x2, ...");
  CHECK_THROWS_WITH(formats::parse_opb("min: +1 x1 ;\n+1 x1 >= 1\n", "f"),
                    "f:2: ';' is expected, not ''; products of variables are not read");
  CHECK_THROWS_WITH(formats::parse_opb("min: +1 x1 ;\n+1 x1 x2 >= 1 ;\n", "f"),
                    "f:2: 'x2' has no coefficient; products of variables are not read");
  CHECK_THROWS_WITH(formats::parse_opb("min: +1 x1 ;\n+1 x1 > 0 ;\n", "f"),
                    "f:2: '>' is no relation; use >=, <= or =");
  CHECK_THROWS_WITH(
      formats::parse_lp("Maximize\n x\n", "f"),
      "f:1: a problem starts with Minimize; negate an objective that is to be maximised");
  CHECK_THROWS_WITH(
      formats::parse_lp("Minimize\n x\nSubject To\n x >= 1.5\nBinary\n x\nEnd\n", "f"),
      "f:4: '1.5' is not a whole number up to 2^50");
  CHECK_THROWS_WITH(formats::parse_lp("Minimize\n x\nSubject To\n x >= 1\nEnd\n", "f"),
                    "f:5: variable x is not binary; only 0/1 programs are read");
  CHECK_THROWS_WITH(
      formats::problem_of(formats::parse_opb("min: -1 x1 ;\n", "f")),
      "variable 1: has a negative price in the objective; replace it by one minus its opposite");
}

TEST_CASE("mistakes in WCNF and WCSP files are named with their line") {
  CHECK_THROWS_WITH(formats::parse_wcnf("p wcnf 2 1 5\n5 1 3 0\n", "f"),
                    "f:2: literal 3 is outside -2..2");
  CHECK_THROWS_WITH(formats::parse_wcnf("h 1 2\n", "f"),
                    "f:1: a clause is a weight or 'h', literals and a closing 0");
  CHECK_THROWS_WITH(formats::parse_wcsp("n 1 2 1 9\n2\n1 0 0 1\n2 4\n", "f"),
                    "f:4: value 2 is outside 0..1");
}

TEST_CASE("z3 finds our optimum from the WCNF encoding") {
  if (!installed("z3")) {
    return;
  }
  for (const Problem& problem : samples(outside_samples, true)) {
    const std::string out = run("z3 -smt2 {}", smt_of(formats::wcnf_of(problem).formula), "smt2");
    CHECK(number_after(out, "(goal ") == optimum(problem));
  }
}

TEST_CASE("clasp finds our optimum from old WCNF and from OPB") {
  if (!installed("clasp")) {
    return;
  }
  for (const Problem& problem : samples(outside_samples, true)) {
    const Cost best = optimum(problem);
    const std::string wcnf = run(
        "clasp --quiet=1,1 {}",
        print_wcnf(formats::wcnf_of(problem).formula, formats::WcnfDialect::old_header), "wcnf");
    CHECK(wcnf.find("OPTIMUM FOUND") != std::string::npos);
    CHECK(number_after(wcnf, "\no ") == best);
    const std::string opb =
        run("clasp --quiet=1,1 {}", print_opb(formats::linear_program_of(problem)), "opb");
    CHECK(opb.find("OPTIMUM FOUND") != std::string::npos);
    CHECK(number_after(opb, "\no ") == best);
  }
}

// Problems beyond brute force: grids of many widths, many layouts, equal lines, and costs of every size.
Problem larger(Random& random, int kind) {
  if (kind == 0) {
    return random_problem(random, {40, 3, 4, 8, 30, 20});
  }
  if (kind == 1) {
    return random_problem(random, {25, 2, 12, 16, 50, 0});
  }
  if (kind == 2) {
    return random_problem(random, {50, 4, 3, 10, 1, 0});
  }
  const auto width = static_cast<int>(random.integer(2, 7));
  Problem problem = grid_problem(random, width, width * 9, 3, 8);
  const Cost factor = kind == 3 ? 1'000'000'000 : kind == 4 ? 0 : 1;
  for (std::size_t i = 0; i < problem.operators.size(); ++i) {
    Operator& op = problem.operators[OperatorId(i)];
    if (kind == 5 && i >= 2 * static_cast<std::size_t>(width)) {
      const std::size_t above = i - static_cast<std::size_t>(width);
      op.rows = problem.operators[OperatorId(above)].rows;
      problem.tensors[TensorId(i)] = problem.tensors[TensorId(above)];
    }
    for (Row& row : op.rows) {
      row.cost *= factor;
    }
    for (Cost& cost : problem.tensors[TensorId(i)].conversion) {
      cost *= kind == 3 ? factor : 1;
    }
  }
  return problem;
}

TEST_CASE("problems beyond brute force: toulbar2 agrees, and one and two threads do the same") {
  const bool outside = installed("toulbar2");
  Random random(61);
  for (int i = 0; i < 60; ++i) {
    const Problem problem = larger(random, i % 7);
    CAPTURE(i);
    Budget budget;
    budget.threads = 1;
    const Result one = solve(*find_strategy("exact"), problem, budget);
    budget.threads = 2;
    const Result two = solve(*find_strategy("exact"), problem, budget);
    CHECK(print_result(problem, one, "exact") == print_result(problem, two, "exact"));
    if (!outside) {
      continue;
    }
    const std::string out = run("toulbar2 {}", print_wcsp(formats::wcsp_of(problem), "p"), "wcsp");
    if (one.status == Status::infeasible) {
      CHECK(out.find("Optimum: ") == std::string::npos);
    } else {
      REQUIRE(one.status == Status::proven);
      CHECK(number_after(out, "Optimum: ") == one.cost);
    }
  }
}

TEST_CASE("toulbar2 finds our optimum from WCSP and from CFN") {
  if (!installed("toulbar2")) {
    return;
  }
  for (const Problem& problem : samples(outside_samples, true)) {
    const Cost best = optimum(problem);
    const formats::Wcsp network = formats::wcsp_of(problem);
    CHECK(number_after(run("toulbar2 {}", print_wcsp(network, "p"), "wcsp"), "Optimum: ") == best);
    CHECK(number_after(run("toulbar2 {}", print_cfn(network, "p"), "cfn"), "Optimum: ") == best);
  }
}

TEST_CASE("cbc finds our optimum from CPLEX LP") {
  if (!installed("cbc")) {
    return;
  }
  for (const Problem& problem : samples(outside_samples, true)) {
    const std::string out =
        run("cbc {} solve quit", print_lp(formats::linear_program_of(problem)), "lp");
    CHECK(number_after(out, "Objective value:") == optimum(problem));
  }
}
