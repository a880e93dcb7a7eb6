// Compiles Debian's ONNX conformance data, runs it on the simulated machine in fp32 and prints what passed, what failed and what
// was refused, by reason. Exit 1 when a value is wrong, a case crashes or hangs, or fewer cases pass than --least asks for.

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "compiler/graph/evaluate.hpp"
#include "tests/compiler/driver/isolated.hpp"
#include "tests/compiler/driver/simulated.hpp"
#include "tests/compiler/frontend/onnx_cases.hpp"

namespace {

using systole::test::CaseResult;
using systole::test::OnnxCase;
using systole::test::Verdict;

constexpr const char* usage = R"(onnx_conformance [OPTIONS] [TEXT]   cases whose name holds TEXT (default: all)
  --root=FOLDER        default /usr/share/libonnx-testdata/data
  --least=FOLDER:N     fail when fewer cases of the folder pass
  --strategy=NAME      layout strategy, default exact
  --evaluate           the reference evaluator instead of compiler and simulator
  --every=N            only every Nth case of a folder
  --jobs=N --seconds=N processes at a time (2), limit for one case (60)
  --verbose            full reasons and every refused case
)";

struct Arguments {
  std::string root = "/usr/share/libonnx-testdata/data";
  std::string filter;
  std::string strategy = "exact";
  bool evaluate = false;
  bool verbose = false;
  std::size_t every = 1;
  systole::tests::Isolation isolation;
  std::map<std::string, int> least;  // by folder
};

// Stored outputs that contradict the specification: with align_corners they divide by the unrounded length, where the
// specification (and ONNX Runtime) take the length of the result. Reported apart, neither passed nor failed.
constexpr std::array disputed = {"test_resize_downsample_scales_cubic_align_corners",
                                 "test_resize_downsample_scales_linear_align_corners"};

struct Tally {
  int passed = 0;
  int disputed = 0;
  std::vector<std::string> failed;
  std::map<std::string, std::vector<std::string>> refused;  // by reason
};

CaseResult run_one(const OnnxCase& item, const Arguments& arguments) {
  return systole::test::run_case(item, {}, [&](const auto& graph, const auto& inputs) {
    return arguments.evaluate ? systole::graph::evaluate(graph, inputs)
                              : systole::tests::run_simulated(graph, inputs, "fp32", arguments.strategy);
  });
}

Tally run_folder(const Arguments& arguments, const std::string& folder) {
  std::vector<OnnxCase> cases;
  std::size_t position = 0;
  for (OnnxCase& item : systole::test::conformance_cases(arguments.root + "/" + folder)) {
    if (item.name.find(arguments.filter) != std::string::npos && position++ % arguments.every == 0) {
      cases.push_back(std::move(item));
    }
  }
  const std::vector<CaseResult> results = systole::tests::run_isolated(
      cases.size(), arguments.isolation, [&](std::size_t i) { return run_one(cases[i], arguments); });
  Tally tally;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const CaseResult& result = results[i];
    if (result.verdict == Verdict::passed) {
      ++tally.passed;
    } else if (result.verdict == Verdict::refused) {
      tally.refused[arguments.verbose ? result.reason : systole::test::reason_class(result.reason)].push_back(
          cases[i].name);
    } else if (std::find(disputed.begin(), disputed.end(), cases[i].name) != disputed.end()) {
      ++tally.disputed;
    } else {
      tally.failed.push_back(cases[i].name + ": " + result.reason);
    }
  }
  return tally;
}

bool report(const Arguments& arguments, const std::string& folder) {
  const Tally tally = run_folder(arguments, folder);
  std::size_t refused = 0;
  for (const auto& [reason, names] : tally.refused) {
    refused += names.size();
    fmt::print("  refused {:4}  {}  ({}{})\n", names.size(), reason, arguments.verbose ? "" : "e.g. ",
               arguments.verbose ? fmt::format("{}", fmt::join(names, ", ")) : names[0]);
  }
  for (const std::string& text : tally.failed) {
    fmt::print("  FAILED  {}\n", text);
  }
  fmt::print("{}: {} passed, {} failed, {} refused, {} disputed\n", folder, tally.passed, tally.failed.size(), refused,
             tally.disputed);
  const auto least = arguments.least.find(folder);
  const bool enough = least == arguments.least.end() || tally.passed >= least->second;
  if (!enough) {
    fmt::print("{}: fewer than {} passed\n", folder, least->second);
  }
  std::fflush(stdout);
  return tally.failed.empty() && enough;
}

template <typename T>
bool number(const std::string& text, T& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size() && out > 0;
}

bool parse(const std::string& word, Arguments& arguments) {
  const auto equals = word.find('=');
  const std::string key = word.substr(0, equals);
  const std::string value = equals == std::string::npos ? "" : word.substr(equals + 1);
  if (key == "--verbose" || key == "--evaluate") {
    (key == "--verbose" ? arguments.verbose : arguments.evaluate) = true;
  } else if (key == "--root" || key == "--strategy") {
    (key == "--root" ? arguments.root : arguments.strategy) = value;
  } else if (key == "--every") {
    return number(value, arguments.every);
  } else if (key == "--jobs") {
    return number(value, arguments.isolation.jobs);
  } else if (key == "--seconds") {
    return number(value, arguments.isolation.seconds);
  } else if (key == "--least") {
    const auto colon = value.find(':');
    return colon != std::string::npos && number(value.substr(colon + 1), arguments.least[value.substr(0, colon)]);
  } else if (word.rfind("--", 0) == 0) {
    return false;
  } else {
    arguments.filter = word;
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  for (const std::string& word : std::vector<std::string>(argv + 1, argv + argc)) {
    if (!parse(word, arguments)) {
      fmt::print(stderr, "onnx_conformance: {} is not understood\n{}", word, usage);
      return 2;
    }
  }
  if (systole::test::conformance_cases(arguments.root + "/node").empty()) {
    fmt::print("SKIPPED: no conformance data in {} (Debian package libonnx-testdata)\n", arguments.root);
    return 77;
  }
  bool good = true;
  for (const std::string folder : {"node", "pytorch-converted", "pytorch-operator", "simple"}) {
    good = report(arguments, folder) && good;
  }
  return good ? 0 : 1;
}
