// The table of published points; internal to sim/validate.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "isa/machine.hpp"
#include "sim/report/report.hpp"
#include "sim/report/trace.hpp"
#include "sim/timing/timing.hpp"

namespace systole::sim {

struct Measured {
  double value = 0;
  Report report;
};

struct Point {
  std::string id;
  std::string machine;
  std::string what;
  std::string unit;
  int tier = 1;
  double published = 0;
  double tolerance = 0;
  double reading_error = 0;  // absolute, of a value read off a chart
  std::function<Measured(const isa::Machine&, const Timing&)> measure;
};

[[nodiscard]] std::vector<Point> instruction_points();
[[nodiscard]] std::vector<Point> transfer_points();
[[nodiscard]] std::vector<Point> kernel_points();

// Runs for timing only; the program must complete.
struct Run {
  Report report;
  Trace trace;
};
[[nodiscard]] Run run_for_time(const isa::Program& program, const isa::Machine& machine,
                               const Timing& timing, bool trace = false);

}  // namespace systole::sim
