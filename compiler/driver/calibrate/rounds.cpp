#include "compiler/driver/calibrate/rounds.hpp"

#include <algorithm>
#include <cmath>
#include <set>

namespace systole::driver {
namespace {

constexpr double equal = 0.005;       // programs closer than this may be ranked either way
constexpr double near_enough = 1.01;  // of the cheapest program over the fastest
constexpr double heavier = 2;         // per flipped pair, for its programs
constexpr double blamed_heavier = 4;  // for what is to blame
constexpr double most_weight = 16;

bool same(double a, double b) {
  return std::abs(a - b) <= equal * std::min(a, b);
}

struct Program {
  std::size_t whole = 0;                          // sample
  std::map<std::string, std::size_t> operations;  // samples by source
};

class Judge {
 public:
  Judge(std::vector<Sample>& samples, const layout::CostModel& model) : samples_(samples) {
    for (std::size_t i = 0; i < samples.size(); ++i) {
      prices_.push_back(predicted(samples[i], model));
      const Sample& s = samples[i];
      if (s.kind == SampleKind::conversion) {
        conversions_[s.configuration][s.source] = i;
        continue;
      }
      Program& program = models_[s.configuration][s.probe];
      if (s.kind == SampleKind::program) {
        program.whole = i;
      } else {
        program.operations[s.source] = i;
      }
    }
  }

  Judgement run() {
    for (const auto& [name, programs] : models_) {
      judge_model(name, programs);
    }
    for (const auto& [sample, factor] : factors_) {
      samples_[sample].weight = std::min(most_weight, samples_[sample].weight * factor);
    }
    return std::move(out_);
  }

 private:
  using Programs = std::map<std::size_t, Program>;

  void judge_model(const std::string& name, const Programs& programs) {
    ++out_.models;
    const Program* cheapest = nullptr;
    double fastest = 0;
    for (const auto& [number, a] : programs) {
      const double measured = samples_[a.whole].measured;
      fastest = cheapest == nullptr ? measured : std::min(fastest, measured);
      if (cheapest == nullptr || prices_[a.whole] < prices_[cheapest->whole]) {
        cheapest = &a;
      }
      for (auto other = programs.begin(); other->first != number; ++other) {
        judge_pair(name, a, other->second);
      }
    }
    const double ratio = samples_[cheapest->whole].measured / std::max(1.0, fastest);
    out_.behind += ratio > near_enough ? 1 : 0;
    out_.worst = std::max(out_.worst, ratio);
  }

  void judge_pair(const std::string& name, const Program& a, const Program& b) {
    ++out_.pairs;
    const double measured_a = samples_[a.whole].measured;
    const double measured_b = samples_[b.whole].measured;
    if (same(measured_a, measured_b) || same(prices_[a.whole], prices_[b.whole]) ||
        (measured_a < measured_b) == (prices_[a.whole] < prices_[b.whole])) {
      return;
    }
    ++out_.flipped;
    factors_[a.whole] = heavier;
    factors_[b.whole] = heavier;
    blame(name, a, b);
  }

  [[nodiscard]] double error_of(std::size_t sample) const {
    return prices_[sample] - samples_[sample].measured;
  }

  // The operator, or the conversion that only one of the two has, with most of the error of their difference.
  void blame(const std::string& name, const Program& a, const Program& b) {
    std::map<std::string, double> errors;
    std::map<std::string, std::set<std::size_t>> culprits;
    for (const auto& [program, sign] : {std::pair(&a, 1.0), std::pair(&b, -1.0)}) {
      for (const auto& [source, sample] : program->operations) {
        errors[source] += sign * error_of(sample);
        culprits[source].insert(sample);
      }
      const auto& known = conversions_[name];
      for (const std::string& text : samples_[program->whole].conversions) {
        const auto found = known.find(text);
        if (found != known.end()) {
          errors[text] += sign * error_of(found->second);
          culprits[text].insert(found->second);
        }
      }
    }
    const double wrong = error_of(a.whole) - error_of(b.whole);
    const auto worst = std::max_element(errors.begin(), errors.end(), [&](auto& x, auto& y) {
      return x.second * wrong < y.second * wrong;  // in the direction of the whole
    });
    if (worst == errors.end()) {
      return;
    }
    ++out_.blamed[name + ": " + worst->first];
    for (const std::size_t sample : culprits[worst->first]) {
      factors_[sample] = blamed_heavier;
    }
  }

  std::vector<Sample>& samples_;
  std::vector<double> prices_;
  std::map<std::string, Programs> models_;
  std::map<std::string, std::map<std::string, std::size_t>> conversions_;
  std::map<std::size_t, double> factors_;
  Judgement out_;
};

}  // namespace

double Judgement::score() const {
  const auto share = [](std::size_t part, std::size_t all) {
    return static_cast<double>(part) / static_cast<double>(std::max<std::size_t>(1, all));
  };
  return share(flipped, pairs) + share(behind, models);
}

Judgement judge(std::vector<Sample>& samples, const layout::CostModel& model) {
  return Judge(samples, model).run();
}

}  // namespace systole::driver
