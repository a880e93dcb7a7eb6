// One strategy's way through solver, compiler and machine, and the page that sets the strategies side by side.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/driver/pipeline.hpp"
#include "compiler/driver/values.hpp"
#include "compiler/layout/apply.hpp"
#include "compiler/solver/result.hpp"
#include "sim/simulate.hpp"

namespace systole::driver {

struct Measured {
  std::string strategy;
  solver::Result solved;
  std::vector<layout::ConversionRow> conversions;
  std::size_t instructions = 0;
  std::int64_t sbuf_peak = 0;                  // bytes per partition
  isa::Program program;
  sim::Outcome outcome;
  std::optional<double> error;                 // largest, relative to the largest magnitude; none: values not computed
  std::string same_as;                         // an earlier strategy with the very same program
  double compile_seconds = 0;
  double simulate_seconds = 0;

  [[nodiscard]] bool compiled() const { return !solved.assignment.row.empty(); }
};

// Cycles that the machine attributes to conversions.
std::int64_t conversion_cycles(const Measured& measured, const sim::Timing& timing);

// The tensors that cost `worst` most against `best`: their conversions, and what their producers take longer.
struct TensorCost {
  std::string tensor;
  std::int64_t conversion_cycles = 0;
  std::int64_t producer_cycles = 0;  // beyond what it takes in `best`
};
std::vector<TensorCost> costly_tensors(const Measured& worst, const Measured& best, const sim::Timing& timing);

struct Comparison {
  std::string title;   // model, machine, cost file, precision, version, seed
  std::vector<Measured> rows;
  double tolerance = 0;
  bool timing_only = false;
};
std::string comparison_text(const Comparison& comparison, const sim::Timing& timing, const CompareOptions& options);
std::string comparison_json(const Comparison& comparison, const sim::Timing& timing);
std::string times_text(const Comparison& comparison);  // wall-clock seconds: apart, since they differ between runs

}  // namespace systole::driver
