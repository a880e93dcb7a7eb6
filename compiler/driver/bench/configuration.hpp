// One configuration of a suite by every strategy: the work of a bench's child process.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "compiler/driver/bench/suite.hpp"

namespace systole::driver {

// The lines of the result file, a zero byte, the lines of the times. A strategy whose program cannot be made or run
// leaves a line that says why. With options.traces, writes the timeline of the fastest program there.
std::string run_configuration(const Configuration& configuration, const BenchOptions& options,
                              const std::string& run);

// What all lines of a configuration begin with: schema, run, and the entry of the suite.
nlohmann::ordered_json line_of(const Configuration& configuration, const std::string& run);

// How much work a configuration is, for the order in which they run: multiply-accumulates and operators; 0 if its model
// cannot be read.
double size_of(const Configuration& configuration);

}  // namespace systole::driver
