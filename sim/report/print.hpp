// Text forms of a report. No time of day, path or host appears in them: same run, same bytes.
#pragma once

#include <string>

#include "isa/program.hpp"
#include "sim/report/report.hpp"
#include "sim/timing/timing.hpp"

namespace systole::sim {

// A YAML document with everything the report holds; cycles are those of the reference clock.
[[nodiscard]] std::string print_yaml(const Report& report, const isa::Program& program,
                                     const Timing& timing);

// The same for a person: totals, engines, transfers, and the sources that cost most.
[[nodiscard]] std::string print_table(const Report& report, const isa::Program& program,
                                      const Timing& timing, std::size_t sources = 10);

}  // namespace systole::sim
