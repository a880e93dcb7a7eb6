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
    if (std::find(network.domains.begin(), network.domains.end(), 0) != network.domains.end()) {
      continue;  // an operator without possible rows has no variable
    }
    const Problem by_network =
        formats::problem_of(formats::parse_wcsp(print_wcsp(network, "p"), "w"));
    REQUIRE(check(by_network).empty());
    CHECK(optimum(by_network) == best);
  }
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
