#include "compiler/driver/calibrate/fit.hpp"

#include <Eigen/Dense>

#include <algorithm>
#include <cmath>
#include <map>

#include "isa/base/error.hpp"
#include "isa/base/random.hpp"

namespace systole::driver {
namespace {

using layout::Feature;
using layout::feature_count;

constexpr auto n = static_cast<Eigen::Index>(feature_count);
using Matrix = Eigen::Matrix<double, n, n>;
using Vector = Eigen::Matrix<double, n, 1>;

constexpr double least_cycles =
    200;  // relative to at least this: errors below a hand-over are nobody's concern
constexpr double huber = 0.25;  // relative error from which a sample counts linearly
constexpr int rounds =
    40;  // of reweighting; the busiest engines and the weights settle within a few
constexpr int resamples = 40;

struct Row {
  layout::Features features{};
  double measured = 0;
  std::size_t group = 0;  // its configuration: resampled as a whole
};

// Minimises x'Ax / 2 - b'x over x >= 0 by cyclic coordinate descent.
Vector non_negative(const Matrix& a, const Vector& b, Vector x) {
  for (int sweep = 0; sweep < 2000; ++sweep) {
    double moved = 0;
    for (Eigen::Index i = 0; i < n; ++i) {
      if (a(i, i) <= 0) {
        continue;
      }
      const double next = std::max(0.0, x(i) + (b(i) - a.row(i).dot(x)) / a(i, i));
      moved = std::max(moved, std::abs(next - x(i)) * std::sqrt(a(i, i)));
      x(i) = next;
    }
    if (moved < 1e-10) {
      break;
    }
  }
  return x;
}

Vector solve(const std::vector<Row>& rows, const std::vector<double>& times,
             const layout::CostModel& start) {
  layout::CostModel model = start;
  Vector x;
  for (Eigen::Index i = 0; i < n; ++i) {
    x(i) = layout::coefficient(start, static_cast<Feature>(i));
  }
  const Vector first = x;
  for (int round = 0; round < rounds; ++round) {
    Matrix a = Matrix::Zero();
    Vector b = Vector::Zero();
    for (std::size_t r = 0; r < rows.size(); ++r) {
      const Row& row = rows[r];
      const layout::Features shares = layout::shares(row.features, model);
      const double scale = 1 / std::max(row.measured, least_cycles);
      Vector f;
      for (Eigen::Index i = 0; i < n; ++i) {
        f(i) =
            row.features[static_cast<std::size_t>(i)] * shares[static_cast<std::size_t>(i)] * scale;
      }
      const double target = row.measured * scale;
      const double residual = std::abs(f.dot(x) - target);
      const double weight = times[row.group] * (residual > huber ? huber / residual : 1);
      a.noalias() += weight * f * f.transpose();
      b += weight * target * f;
    }
    // A coefficient that no sample asks for keeps its first guess.
    for (Eigen::Index i = 0; i < n; ++i) {
      const double pull = 1e-9 * a.trace() / static_cast<double>(n);
      a(i, i) += pull;
      b(i) += pull * first(i);
    }
    const Vector next = non_negative(a, b, x);
    x = (x + next) / 2;  // the busiest engine may change: half steps keep it from flapping
    for (Eigen::Index i = 0; i < n; ++i) {
      layout::set_coefficient(model, static_cast<Feature>(i), x(i));
    }
  }
  return x;
}

double quantile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  const auto at = static_cast<std::size_t>(share * static_cast<double>(values.size() - 1) + 0.5);
  return values[at];
}

}  // namespace

Fit fit(const std::vector<Sample>& samples, const layout::CostModel& start) {
  check(!samples.empty(), "a fit needs samples");
  std::map<std::string, std::size_t> groups;
  std::vector<Row> rows;
  for (const Sample& sample : samples) {
    const std::size_t group = groups.try_emplace(sample.configuration, groups.size()).first->second;
    rows.push_back({sample.features, sample.measured, group});
  }
  Fit out;
  out.model = start;
  const Vector x = solve(rows, std::vector<double>(groups.size(), 1), start);
  for (Eigen::Index i = 0; i < n; ++i) {
    layout::set_coefficient(out.model, static_cast<Feature>(i), x(i));
  }
  Random random(1);
  std::vector<std::vector<double>> seen(feature_count);
  for (int k = 0; k < resamples; ++k) {
    std::vector<double> times(groups.size(), 0);
    for (std::size_t i = 0; i < groups.size(); ++i) {
      times[static_cast<std::size_t>(
          random.integer(0, static_cast<std::int64_t>(groups.size()) - 1))] += 1;
    }
    const Vector again = solve(rows, times, out.model);
    for (Eigen::Index i = 0; i < n; ++i) {
      seen[static_cast<std::size_t>(i)].push_back(again(i));
    }
  }
  for (const std::vector<double>& values : seen) {
    out.intervals.push_back({quantile(values, 0.025), quantile(values, 0.975)});
  }
  return out;
}

Errors errors(const std::vector<Sample>& samples, const layout::CostModel& model) {
  std::vector<double> relative;
  for (const Sample& sample : samples) {
    const auto predicted = static_cast<double>(layout::price_of(sample.features, model).total);
    relative.push_back(std::abs(predicted - sample.measured) /
                       std::max(sample.measured, least_cycles));
  }
  if (relative.empty()) {
    return {};
  }
  return {relative.size(), quantile(relative, 0.5), quantile(relative, 0.9)};
}

}  // namespace systole::driver
