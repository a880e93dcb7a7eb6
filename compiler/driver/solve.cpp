// systole solve: a problem file by one strategy; prints cost, bound, status, seconds.
#include <fmt/format.h>

#include <cstdio>

#include "compiler/driver/commands.hpp"
#include "compiler/driver/output_file.hpp"
#include "compiler/driver/pipeline.hpp"
#include "compiler/solver/formats/export.hpp"
#include "compiler/solver/text.hpp"

namespace systole::driver {

int solve_file(const SolveFileOptions& options) {
  const solver::Strategy& strategy = strategy_named(options.strategy);
  if (!options.result.empty()) {
    expect_writable(options.result);
  }
  if (!options.export_to.empty()) {
    expect_writable(options.export_to[1]);
  }
  const solver::Problem problem = solver::read_problem(options.problem);
  if (!options.export_to.empty()) {
    write_file(options.export_to[1], solver::formats::exported(problem, options.export_to[0]));
    return 0;
  }
  const solver::Result result = solver::solve(strategy, problem, budget_of(options.solve, options.threads));
  const auto cost = [](solver::Cost c) { return c >= solver::infinity ? std::string("inf") : fmt::format("{}", c); };
  std::string text = fmt::format("cost {}\nbound {}\nstatus {}\nseconds {:.3f}\n", cost(result.cost), cost(result.bound),
                                 solver::name(result.status), result.seconds);
  if (!result.note.empty()) {
    text += "note " + result.note + "\n";
  }
  std::fputs(text.c_str(), stdout);
  if (!options.result.empty()) {
    write_file(options.result, solver::print_result(problem, result, options.strategy));
  }
  return result.status == solver::Status::exhausted ? 3 : 0;
}

}  // namespace systole::driver
