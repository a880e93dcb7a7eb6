// Measuring for calibration: programs of one configuration in many layouts, and what each operator and conversion of
// them took.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "compiler/driver/bench/suite.hpp"
#include "compiler/driver/options.hpp"
#include "compiler/layout/cost_model.hpp"

namespace systole::driver {

enum class SampleKind : std::uint8_t { operation, conversion, program };

// Work that is priced as one: of an operator or a conversion.
struct Part {
  double times = 1;  // equal ones
  layout::Features features{};
  auto operator<=>(const Part&) const = default;
};

struct Sample {
  std::string configuration;
  std::size_t probe = 0;  // which assignment
  SampleKind kind = SampleKind::operation;
  std::string source;       // operator or conversion; empty for a whole program
  std::vector<Part> parts;  // its price is the sum of theirs
  std::vector<std::string>
      conversions;      // of a whole program: its conversions, as samples name them
  double weight = 1;    // in the fit, against others of its kind
  double measured = 0;  // cycles attributed by the machine; of a whole program: all
};

// One sample per operator of each program, one per program, and one per distinct conversion among them, measured by itself. Values are not computed.
[[nodiscard]] std::vector<Sample> profile(const Configuration& configuration,
                                          const TargetOptions& target, std::size_t probes,
                                          std::uint64_t seed);

// The same for what strategies choose by the target's prices.
[[nodiscard]] std::vector<Sample> profile_choices(const Configuration& configuration,
                                                  const TargetOptions& target);

[[nodiscard]] double predicted(const Sample& sample, const layout::CostModel& model);

// As JSON lines, and back. Throws Error for what is no such line.
[[nodiscard]] std::string print_samples(const std::vector<Sample>& samples);
[[nodiscard]] std::vector<Sample> parse_samples(const std::string& text, const std::string& where);

}  // namespace systole::driver
