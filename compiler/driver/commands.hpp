// The subcommands: each takes its options and returns the exit code (0 done, 1 a check failed, 3 budget exhausted
// without an answer). A user's mistake is thrown as Error and caught in main (exit code 2).
#pragma once

#include "compiler/driver/options.hpp"

namespace systole::driver {

int compare(const CompareOptions& options);
int compile(const CompileOptions& options);
int run(const RunOptions& options);
int inspect(const InspectOptions& options);
int solve_file(const SolveFileOptions& options);
int calibrate(const CalibrateOptions& options);
int bench(const BenchOptions& options);
int explain(const ExplainOptions& options);
int diff(const DiffOptions& options);
int validate(const std::string& only, const std::string& json);
int list_models();
int list_machines();
int list_strategies();

}  // namespace systole::driver
