// Fitting the coefficients of a cost model to measurements: robust, non-negative least squares on relative errors.
#pragma once

#include <string>
#include <vector>

#include "compiler/driver/calibrate/profile.hpp"
#include "compiler/layout/cost_model.hpp"

namespace systole::driver {

struct Interval {
  double low = 0, high = 0;  // 95 %, by resampling configurations
};

struct Fit {
  layout::CostModel model;
  std::vector<Interval> intervals;  // by feature
};

// `start` gives what is not fitted (thresholds, shares) and the first guess. Deterministic. Needs at least one sample.
[[nodiscard]] Fit fit(const std::vector<Sample>& samples, const layout::CostModel& start);

// Relative errors |predicted - measured| / measured of samples that took at least `floor` cycles.
struct Errors {
  std::size_t count = 0;
  double median = 0, ninetieth = 0;
};
[[nodiscard]] Errors errors(const std::vector<Sample>& samples, const layout::CostModel& model);

}  // namespace systole::driver
