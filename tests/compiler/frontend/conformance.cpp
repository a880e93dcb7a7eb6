// Runs Debian's ONNX conformance data through the importer and the reference evaluator and prints what passed, what failed
// and what was refused, by reason. Exit 1 when a value is wrong or fewer cases pass than --least asks for.

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "compiler/graph/evaluate.hpp"
#include "tests/compiler/frontend/onnx_cases.hpp"

namespace {

using systole::test::CaseResult;
using systole::test::OnnxCase;
using systole::test::Verdict;

struct Arguments {
  std::string root = "/usr/share/libonnx-testdata/data";
  std::string filter;
  bool verbose = false;
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

Tally run_folder(const Arguments& arguments, const std::string& folder) {
  Tally tally;
  for (const OnnxCase& item : systole::test::conformance_cases(arguments.root + "/" + folder)) {
    if (item.name.find(arguments.filter) == std::string::npos) {
      continue;
    }
    const CaseResult result =
        systole::test::run_case(item, {}, [](const auto& graph, const auto& inputs) {
          return systole::graph::evaluate(graph, inputs);
        });
    if (result.verdict == Verdict::passed) {
      ++tally.passed;
    } else if (result.verdict == Verdict::failed &&
               std::find(disputed.begin(), disputed.end(), item.name) != disputed.end()) {
      ++tally.disputed;
    } else if (result.verdict == Verdict::failed) {
      tally.failed.push_back(item.name + ": " + result.reason);
    } else {
      tally.refused[arguments.verbose ? result.reason : systole::test::reason_class(result.reason)]
          .push_back(item.name);
    }
  }
  return tally;
}

int report(const Arguments& arguments, const std::string& folder) {
  const Tally tally = run_folder(arguments, folder);
  std::size_t refused = 0;
  for (const auto& [reason, names] : tally.refused) {
    refused += names.size();
    fmt::print("  refused {:4}  {}  (e.g. {})\n", names.size(), reason, names[0]);
  }
  for (const std::string& text : tally.failed) {
    fmt::print("  FAILED  {}\n", text);
  }
  fmt::print("{}: {} passed, {} failed, {} refused, {} disputed\n", folder, tally.passed,
             tally.failed.size(), refused, tally.disputed);
  const auto least = arguments.least.find(folder);
  const bool enough = least == arguments.least.end() || tally.passed >= least->second;
  if (!enough) {
    fmt::print("{}: fewer than {} passed\n", folder, least->second);
  }
  return tally.failed.empty() && enough ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  Arguments arguments;
  for (const std::string& word : words) {
    if (word == "--verbose") {
      arguments.verbose = true;
    } else if (word.rfind("--root=", 0) == 0) {
      arguments.root = word.substr(7);
    } else if (word.rfind("--least=", 0) == 0) {  // FOLDER:COUNT
      const auto colon = word.find(':');
      arguments.least[word.substr(8, colon - 8)] = std::atoi(word.c_str() + colon + 1);
    } else {
      arguments.filter = word;
    }
  }
  if (systole::test::conformance_cases(arguments.root + "/node").empty()) {
    fmt::print("SKIPPED: no conformance data in {} (Debian package libonnx-testdata)\n",
               arguments.root);
    return 77;
  }
  int exit_code = 0;
  for (const std::string folder : {"node", "pytorch-converted", "pytorch-operator", "simple"}) {
    exit_code |= report(arguments, folder);
  }
  return exit_code;
}
