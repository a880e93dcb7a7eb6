// The page that `systole bench` ends with: one row per configuration, measured cycles of each strategy over the best
// (predicted cost where nothing was measured).
#pragma once

#include <string>
#include <vector>

#include "compiler/driver/bench/results.hpp"
#include "compiler/driver/bench/suite.hpp"

namespace systole::driver {

std::string summary_text(const std::string& run, const std::vector<Configuration>& configurations,
                         const Results& results);

}  // namespace systole::driver
