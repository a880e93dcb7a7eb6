// Measuring for calibration: programs of one configuration in many layouts, and what each operator and conversion of
// them took.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/driver/bench/suite.hpp"
#include "compiler/driver/options.hpp"
#include "compiler/layout/price.hpp"

namespace systole::driver {

enum class SampleKind : std::uint8_t { operation, conversion, program };

struct Sample {
  std::string configuration;
  std::size_t probe = 0;  // which assignment
  SampleKind kind = SampleKind::operation;
  std::string source;  // operator or conversion; empty for a whole program
  layout::Features features{};
  double measured = 0;  // cycles attributed by the machine; of a whole program: all
};

// One sample per operator and conversion of each program, and one per program. Values are not computed.
[[nodiscard]] std::vector<Sample> profile(const Configuration& configuration,
                                          const TargetOptions& target, std::size_t probes,
                                          std::uint64_t seed);

// As JSON lines, and back. Throws Error for what is no such line.
[[nodiscard]] std::string print_samples(const std::vector<Sample>& samples);
[[nodiscard]] std::vector<Sample> parse_samples(const std::string& text, const std::string& where);

}  // namespace systole::driver
