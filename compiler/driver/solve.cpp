// systole solve: a problem file by one strategy; prints cost, bound, status, seconds.
#include <fmt/format.h>

#include <cstdio>

#include "compiler/driver/commands.hpp"
#include "compiler/driver/output_file.hpp"
#include "compiler/driver/pipeline.hpp"
#include "compiler/solver/formats/export.hpp"
#include "compiler/solver/formats/import.hpp"
#include "compiler/solver/formats/json.hpp"
#include "compiler/solver/text.hpp"
#include "compiler/solver/treewidth/pace.hpp"
#include "isa/base/error.hpp"

namespace systole::driver {
namespace {

std::vector<int> order_from(const std::string& path, const solver::Problem& problem) {
  const solver::treewidth::Decomposition decomposition =
      solver::treewidth::parse_td(solver::read_file(path), path);
  const auto mistakes = check(solver::treewidth::graph_of(problem), decomposition);
  if (!mistakes.empty()) {
    throw Error(path,
                fmt::format("is no decomposition of this problem: {} {}", mistakes.front().where,
                            mistakes.front().what),
                "vertices are operators; see systole solve --export gr FILE");
  }
  return order_of(decomposition);
}

}  // namespace

int solve_file(const SolveFileOptions& options) {
  const solver::Strategy& strategy = strategy_named(options.strategy);
  std::vector<std::string> read{options.problem};
  if (!options.decomposition.empty()) {
    read.push_back(options.decomposition);
  }
  expect_outputs(
      {options.result, options.json, options.export_to.empty() ? "" : options.export_to[1]}, read);
  const solver::Problem problem = solver::formats::imported(options.problem);
  if (!options.export_to.empty()) {
    write_file(options.export_to[1], solver::formats::exported(problem, options.export_to[0]));
    return 0;
  }
  solver::Budget budget = budget_of(options.solve, options.threads);
  if (!options.decomposition.empty()) {
    budget.elimination_order = order_from(options.decomposition, problem);
  }
  const solver::Result result = solver::solve(strategy, problem, budget);
  const auto cost = [](solver::Cost c) {
    return c >= solver::infinity ? std::string("inf") : fmt::format("{}", c);
  };
  std::string text =
      fmt::format("cost {}\nbound {}\nstatus {}\nseconds {:.3f}\n", cost(result.cost),
                  cost(result.bound), solver::name(result.status), result.seconds);
  if (!result.note.empty()) {
    text += "note " + result.note + "\n";
  }
  std::fputs(text.c_str(), stdout);
  if (!options.result.empty()) {
    write_file(options.result, solver::print_result(problem, result, options.strategy));
  }
  if (!options.json.empty()) {
    write_file(options.json, solver::formats::print_json(problem, result, options.strategy));
  }
  return result.status == solver::Status::exhausted ? 3 : 0;
}

}  // namespace systole::driver
