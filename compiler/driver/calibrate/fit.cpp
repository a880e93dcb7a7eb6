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

// The unknowns are logarithms of the coefficients, so that none becomes negative, and the log-odds of `unhidden`.
constexpr auto unknowns = static_cast<Eigen::Index>(feature_count) + 1;
using Matrix = Eigen::Matrix<double, unknowns, unknowns>;
using Vector = Eigen::Matrix<double, unknowns, 1>;

constexpr double least_cycles =
    200;  // added to both sides: errors below a hand-over are nobody's concern
constexpr double huber = 0.25;        // logarithmic error from which a sample counts linearly
constexpr double huber_pairs = 0.05;  // the same for the ratio of two programs of one model
constexpr double nearness =
    0.05;  // pairs of programs that differ by so much count half as much as equal ones
constexpr double total_weight = 1000;  // of each kind of sample together, against one for the prior
constexpr double prior = 0.1;          // pulls what the samples leave open to the first guess
constexpr double first_guess = 100;    // cycles, of coefficients that start at 0
constexpr int steps = 60;
constexpr int resamples = 20;

struct Row {
  std::vector<Part> parts;
  double measured = 0;
  double weight = 0;
  std::size_t group = 0;  // its configuration: resampled as a whole
};

struct Pair {
  std::size_t a = 0, b = 0;  // rows
  double weight = 0;
};

struct Data {
  std::vector<Row> rows;
  std::vector<Pair> pairs;
  std::size_t groups = 0;
};

layout::CostModel model_of(const Vector& z, const layout::CostModel& start) {
  layout::CostModel model = start;
  for (std::size_t i = 0; i < feature_count; ++i) {
    const auto feature = static_cast<Feature>(i);
    const double from = layout::coefficient(start, feature);
    layout::set_coefficient(
        model, feature,
        (from > 0 ? from : first_guess) * std::exp(z(static_cast<Eigen::Index>(i))));
  }
  const double odds =
      start.unhidden / (1 - std::min(start.unhidden, 0.999)) * std::exp(z(unknowns - 1));
  model.unhidden = odds / (1 + odds);
  return model;
}

// The logarithm of a row's price, and its gradient.
struct LogPrice {
  double value = 0;
  Vector gradient = Vector::Zero();
};

LogPrice log_price(const Row& row, const layout::CostModel& model) {
  LogPrice out;
  double total = 0;
  double hidden = 0;
  for (const Part& part : row.parts) {
    const layout::Features shares = layout::shares(part.features, model);
    for (std::size_t i = 0; i < feature_count; ++i) {
      const double work =
          part.times * part.features[i] * layout::coefficient(model, static_cast<Feature>(i));
      out.gradient(static_cast<Eigen::Index>(i)) += work * shares[i];
      total += work * shares[i];
      hidden += shares[i] < 1 ? work : 0;
    }
  }
  out.gradient(unknowns - 1) = hidden * model.unhidden * (1 - model.unhidden);
  out.gradient /= total + least_cycles;
  out.value = std::log(total + least_cycles);
  return out;
}

// A least-squares problem around one point: loss, and its quadratic form.
struct Quadratic {
  double loss = 0;
  Matrix a = Matrix::Zero();
  Vector b = Vector::Zero();

  void add(double residual, const Vector& gradient, double weight, double limit) {
    const double size = std::abs(residual);
    loss += weight * (size < limit ? residual * residual : limit * (2 * size - limit));
    const double effective = weight * (size < limit ? 1 : limit / size);
    a.noalias() += effective * gradient * gradient.transpose();
    b -= effective * residual * gradient;
  }
};

Quadratic around(const Vector& z, const Data& data, const std::vector<double>& times,
                 const layout::CostModel& start) {
  const layout::CostModel model = model_of(z, start);
  Quadratic out;
  std::vector<LogPrice> prices;
  prices.reserve(data.rows.size());
  for (const Row& row : data.rows) {
    prices.push_back(log_price(row, model));
    out.add(prices.back().value - std::log(row.measured + least_cycles), prices.back().gradient,
            row.weight * times[row.group], huber);
  }
  for (const Pair& pair : data.pairs) {
    const Row& a = data.rows[pair.a];
    const Row& b = data.rows[pair.b];
    const double measured = std::log((a.measured + least_cycles) / (b.measured + least_cycles));
    out.add(prices[pair.a].value - prices[pair.b].value - measured,
            prices[pair.a].gradient - prices[pair.b].gradient, pair.weight * times[a.group],
            huber_pairs);
  }
  out.loss += prior * z.squaredNorm();
  out.a += prior * Matrix::Identity();
  out.b -= prior * z;
  return out;
}

// Levenberg and Marquardt's method.
Vector solve(const Data& data, const std::vector<double>& times, const layout::CostModel& start,
             Vector z) {
  double damping = 1e-2;
  Quadratic here = around(z, data, times, start);
  for (int step = 0; step < steps && damping < 1e8; ++step) {
    Matrix damped = here.a;
    damped.diagonal() *= 1 + damping;
    const Vector next = z + damped.ldlt().solve(here.b);
    const Quadratic there = around(next, data, times, start);
    if (std::isfinite(there.loss) && there.loss < here.loss) {
      const bool done = here.loss - there.loss < 1e-9 * here.loss;
      z = next;
      here = there;
      damping /= 4;
      if (done) {
        break;
      }
    } else {
      damping *= 4;
    }
  }
  return z;
}

// Whole programs are what is to be ranked; single operators and conversions keep their sum from being right by accident.
// A conversion by itself takes what it takes where everything waits for it, and less in most programs: it says least.
double share_of(SampleKind kind) {
  switch (kind) {
    case SampleKind::program:
      return 4 * total_weight;
    case SampleKind::conversion:
      return total_weight / 10;
    case SampleKind::operation:
      return total_weight;
  }
  return 0;
}

Data data_of(const std::vector<Sample>& samples) {
  Data data;
  std::map<std::string, std::size_t> groups;
  std::map<SampleKind, double> weights;
  std::map<std::pair<std::size_t, std::vector<Part>>, std::size_t> operations;  // to rows
  std::map<std::string, std::vector<std::size_t>> programs;
  for (const Sample& sample : samples) {
    weights[sample.kind] += sample.weight;
  }
  for (const Sample& sample : samples) {
    if (sample.kind == SampleKind::program) {
      programs[sample.configuration].push_back(data.rows.size());
    }
    const std::size_t group = groups.try_emplace(sample.configuration, groups.size()).first->second;
    const double weight = share_of(sample.kind) * sample.weight / weights[sample.kind];
    if (sample.kind == SampleKind::operation) {
      const auto [at, fresh] = operations.try_emplace({group, sample.parts}, data.rows.size());
      if (!fresh) {  // its neighbours differ: the mean of the logarithms
        Row& row = data.rows[at->second];
        const double all = row.weight + weight;
        row.measured = std::exp((row.weight * std::log(row.measured + least_cycles) +
                                 weight * std::log(sample.measured + least_cycles)) /
                                all) -
                       least_cycles;
        row.weight = all;
        continue;
      }
    }
    data.rows.push_back({sample.parts, sample.measured, weight, group});
  }
  data.groups = groups.size();
  double sum = 0;
  for (const auto& [configuration, rows] : programs) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        const double ratio = std::log((data.rows[rows[i]].measured + least_cycles) /
                                      (data.rows[rows[j]].measured + least_cycles));
        data.pairs.push_back({rows[i], rows[j],
                              std::sqrt(data.rows[rows[i]].weight * data.rows[rows[j]].weight) /
                                  (nearness + std::abs(ratio))});
        sum += data.pairs.back().weight;
      }
    }
  }
  for (Pair& pair : data.pairs) {
    // In units of their own limit, as the others are of theirs.
    pair.weight *= 4 * total_weight / sum * (huber / huber_pairs) * (huber / huber_pairs);
  }
  return data;
}

bool counted(const Data& data, std::size_t feature) {
  return std::ranges::any_of(data.rows, [feature](const Row& row) {
    return std::ranges::any_of(row.parts,
                               [feature](const Part& part) { return part.features[feature] > 0; });
  });
}

double quantile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1) + 0.5)];
}

}  // namespace

Fit fit(const std::vector<Sample>& samples, const layout::CostModel& start) {
  check(!samples.empty(), "a fit needs samples");
  const Data data = data_of(samples);
  const Vector z = solve(data, std::vector<double>(data.groups, 1), start, Vector::Zero());
  Fit out;
  out.model = model_of(z, start);
  Random random(1);
  std::vector<std::vector<double>> seen(feature_count);
  for (int k = 0; k < resamples; ++k) {
    std::vector<double> times(data.groups, 0);
    for (std::size_t i = 0; i < data.groups; ++i) {
      times[static_cast<std::size_t>(
          random.integer(0, static_cast<std::int64_t>(data.groups) - 1))] += 1;
    }
    const layout::CostModel again = model_of(solve(data, times, start, z), start);
    for (std::size_t i = 0; i < feature_count; ++i) {
      seen[i].push_back(layout::coefficient(again, static_cast<Feature>(i)));
    }
  }
  for (const std::vector<double>& values : seen) {
    out.intervals.push_back({quantile(values, 0.025), quantile(values, 0.975)});
  }
  for (std::size_t i = 0; i < feature_count; ++i) {  // what neither file nor machine has
    const auto feature = static_cast<Feature>(i);
    if (layout::coefficient(start, feature) == 0 && !counted(data, i)) {
      layout::set_coefficient(out.model, feature, 0);
      out.intervals[i] = {};
    }
  }
  return out;
}

Errors errors(const std::vector<Sample>& samples, const layout::CostModel& model) {
  std::vector<double> relative;
  for (const Sample& sample : samples) {
    const double price = predicted(sample, model);
    relative.push_back(std::abs(price - sample.measured) / std::max(sample.measured, least_cycles));
  }
  if (relative.empty()) {
    return {};
  }
  return {relative.size(), quantile(relative, 0.5), quantile(relative, 0.9)};
}

}  // namespace systole::driver
