// Fitting the coefficients of a cost model to measurements: robust least squares on the logarithms of prices and, so that
// programs are ranked as measured, of the ratios between programs of one model. Coefficients stay positive.
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

// Relative errors |predicted - measured| / measured (of at least 200 cycles).
struct Errors {
  std::size_t count = 0;
  double median = 0, ninetieth = 0;
};
[[nodiscard]] Errors errors(const std::vector<Sample>& samples, const layout::CostModel& model);

}  // namespace systole::driver
