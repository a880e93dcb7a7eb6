// systole-solve: one problem file, one strategy, nothing else linked in. For developing and timing the solver; users
// have `systole solve`.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>

#include "compiler/solver/formats/export.hpp"
#include "compiler/solver/formats/import.hpp"
#include "compiler/solver/strategy.hpp"
#include "compiler/solver/text.hpp"
#include "isa/base/error.hpp"
#include "isa/base/heap.hpp"

namespace {

using namespace systole;
using namespace systole::solver;

std::string report(const std::string& path, const Result& result) {
  const auto cost = [](Cost value) {
    return value >= infinity ? std::string("inf") : fmt::format("{}", value);
  };
  std::string out = fmt::format("{} {} cost {} bound {} gap {:.4f} proof {} seconds {:.3f}", path,
                                name(result.status), cost(result.cost), cost(result.bound),
                                result.gap(), name(result.proof), result.seconds);
  for (const Counter& counter : result.stats) {
    out += fmt::format(" {}={}", counter.name, counter.value);
  }
  return out + (result.note.empty() ? "\n" : "\n  " + result.note + "\n");
}

int run(int argc, char** argv) {
  CLI::App app{"Layout Selection, one strategy"};
  std::string path;
  std::string strategy = "exact";
  std::string format;
  std::string result_path;
  Budget budget;
  app.add_option("file", path, "problem (.ls or layout-selection text)")->required();
  app.add_option("--strategy", strategy, "see systole list");
  app.add_option("--seconds", budget.seconds, "wall clock limit, 0 none");
  app.add_option("--work", budget.work, "work limit, 0 the strategy's own");
  app.add_option("--memory", budget.memory_bytes, "bytes for tables");
  app.add_option("--threads", budget.threads, "threads");
  app.add_option("--result", result_path, "write the result file");
  app.add_option("--export", format, "print the problem in another format instead of solving it");
  CLI11_PARSE(app, argc, argv);
  const Problem problem = formats::imported(path);
  if (!format.empty()) {
    const std::string text = formats::exported(problem, format);
    std::fwrite(text.data(), 1, text.size(), stdout);
    return 0;
  }
  const Strategy* chosen = find_strategy(strategy);
  if (chosen == nullptr) {
    throw Error("--strategy", "unknown strategy " + strategy);
  }
  const Result result = solve(*chosen, problem, budget);
  std::fputs(report(path, result).c_str(), stdout);
  if (!result_path.empty()) {
    std::ofstream(result_path) << print_result(problem, result, strategy);
  }
  return result.status == Status::exhausted ? 3 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  systole::prefer_large_pages();
  try {
    return run(argc, argv);
  } catch (const Error& error) {
    std::fprintf(stderr, "systole-solve: %s\n", error.what());
    return 2;
  }
}
