// The page that sets the strategies side by side.
#pragma once

#include <string>
#include <vector>

#include "compiler/driver/measure.hpp"
#include "compiler/driver/options.hpp"

namespace systole::driver {

// The tensors that cost `worst` most against `best`: their conversions, and what their producers take longer.
struct TensorCost {
  std::string tensor;
  std::int64_t conversion_cycles = 0;
  std::int64_t producer_cycles = 0;  // beyond what it takes in `best`
};
std::vector<TensorCost> costly_tensors(const Measured& worst, const Measured& best);

struct Comparison {
  std::string title;  // model, machine, cost file, precision, version, seed
  std::vector<Measured> rows;
  double tolerance = 0;
  bool timing_only = false;
};
std::string comparison_text(const Comparison& comparison, const sim::Timing& timing,
                            const CompareOptions& options);
std::string comparison_json(const Comparison& comparison, const sim::Timing& timing);
std::string times_text(
    const Comparison& comparison);  // wall-clock seconds: apart, since they differ between runs

}  // namespace systole::driver
