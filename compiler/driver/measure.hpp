// One strategy's way through solver, compiler and machine.
//
// A Setting is what all strategies are measured against: one model, one machine, one statement of the problem. Equal
// programs are simulated once; assignments that are equal are not even compiled twice.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "compiler/driver/pipeline.hpp"
#include "compiler/driver/values.hpp"
#include "compiler/layout/apply.hpp"
#include "compiler/solver/result.hpp"
#include "sim/simulate.hpp"

namespace systole::driver {

struct Setting {
  Model model;
  Target target;
  layout::Statement statement;
  sim::Timing timing;
  HostArrays inputs;
  std::vector<graph::Array> expected;  // empty when values are not computed
};
// With values, the reference is evaluated here.
Setting make_setting(const ModelOptions& model, const TargetOptions& target, bool timing_only);

struct Measured {
  std::string strategy;
  solver::Result solved;
  layout::Price predicted;                      // sum over operators and conversions
  std::map<std::string, layout::Price> prices;  // by source name (operator or conversion)
  std::vector<layout::ConversionRow> conversions;
  IdVector<isa::SourceId, isa::Source> sources;  // what the report's sources are
  std::size_t instructions = 0;
  std::uint64_t program = 0;   // checksum: equal programs have equal ones
  std::int64_t sbuf_peak = 0;  // bytes per partition
  Ticks scheduled;             // when the list schedule expected the end
  std::int64_t hbm_bytes = 0;  // held at once; without values it may be more than there is
  sim::Outcome outcome;
  std::optional<double>
      error;             // largest, relative to the largest magnitude; none: values not computed
  std::string same_as;   // an earlier strategy with the very same program
  std::string timeline;  // for Perfetto; empty: not asked for, too long, or that of `same_as`
  double compile_seconds = 0;
  double simulate_seconds = 0;

  [[nodiscard]] bool compiled() const { return !solved.assignment.row.empty(); }
};

struct MeasureOptions {
  SolveOptions solve;
  int threads = 2;
  bool checks = true;              // the machine's run-time checks
  bool measure = true;             // false: solve and predict only
  std::size_t timeline_up_to = 0;  // instructions of a program that leaves its timeline; 0: none
};

// Appends the strategy's row to `rows`. Throws Error if the machine refuses the program.
void measure(const solver::Strategy& strategy, const Setting& setting,
             const MeasureOptions& options, std::vector<Measured>& rows);

// Throws Error if the machine refused the program: a fault of ours.
void expect_done(const sim::Outcome& outcome, const std::string& where);

// Cycles that the machine attributes to conversions.
std::int64_t conversion_cycles(const Measured& measured);
std::int64_t conversion_bytes(const Measured& measured);

}  // namespace systole::driver
