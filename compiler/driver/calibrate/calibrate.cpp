// systole calibrate: measure the profile set, fit the cost model's coefficients, write the cost file.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <limits>

#include "compiler/driver/bench/pool.hpp"
#include "compiler/driver/bench/results.hpp"
#include "compiler/driver/bench/suite.hpp"
#include "compiler/driver/calibrate/fit.hpp"
#include "compiler/driver/calibrate/profile.hpp"
#include "compiler/driver/calibrate/profile_file.hpp"
#include "compiler/driver/calibrate/rounds.hpp"
#include "compiler/driver/commands.hpp"
#include "compiler/driver/output_file.hpp"
#include "compiler/driver/pipeline.hpp"
#include "compiler/driver/table.hpp"
#include "isa/base/error.hpp"
#include "isa/base/file.hpp"
#include "isa/binary.hpp"

namespace systole::driver {
namespace {

constexpr double most_median_error = 0.15;  // of whole programs, for a file that fits

std::string checksum_of(const std::string& path) {
  const std::string text = read_file(path);
  return fmt::format("{:016x}", isa::checksum(std::as_bytes(std::span(text))));
}

// The machine's file, timing included.
std::string fingerprint_of(const std::string& machine) {
  return checksum_of(isa::find_machine_file(machine));
}

// Whole configurations, but single conversions, which many of these share.
bool held_out(const Sample& sample) {
  const std::string& what =
      sample.kind == SampleKind::conversion ? sample.source : sample.configuration;
  return isa::checksum(std::as_bytes(std::span(what))) % 5 == 0;
}

std::string output_of(const CalibrateOptions& options, const Target& target) {
  return options.output.empty() ? target.machine.name + ".calibrated.yaml" : options.output;
}

std::string profile_of(const CalibrateOptions& options, const Target& target) {
  return options.profile.empty() ? target.machine.name + ".profile.jsonl" : options.profile;
}

std::vector<Configuration> configurations_of(const CalibrateOptions& options) {
  std::vector<Configuration> out;
  for (const std::string& name : options.suites) {
    for (Configuration& configuration : read_suite(name).configurations) {
      if (configuration.half == "calibration") {
        out.push_back(std::move(configuration));
      }
    }
  }
  if (out.empty()) {
    throw Error("--suite", "no configuration is for calibration", "name a suite that has some");
  }
  return out;
}

// Measures of configurations, kept in a file: a name there, and what to do if it is not.
class Measuring {
 public:
  Measuring(const CalibrateOptions& options, const Target& target)
      : configurations_(configurations_of(options)),
        path_(profile_of(options, target)),
        jobs_(static_cast<std::size_t>(options.jobs)),
        file_(path_, key_of(options, target)) {}

  using Work = std::function<std::vector<Sample>(const Configuration&)>;

  std::vector<Sample> run(const std::string& prefix, const Work& work) {
    std::vector<Configuration> left;
    std::copy_if(configurations_.begin(), configurations_.end(), std::back_inserter(left),
                 [&](const Configuration& c) { return !file_.has(prefix + c.name); });
    std::size_t done = 0;
    run_jobs(
        left.size(), jobs_, [&](std::size_t job) { return print_samples(work(left[job])); },
        [&](const Finished& finished) {
          const std::string name = prefix + left[finished.job].name;
          if (!finished.failure.empty()) {
            throw Error(name, finished.failure, "mend the profile set");
          }
          file_.add(name, finished.output);
          if (isatty(STDERR_FILENO) != 0) {
            std::fprintf(stderr, "[%zu/%zu] %s\n", ++done, left.size(), name.c_str());
          }
        });
    std::vector<Sample> samples;
    for (const Configuration& configuration : configurations_) {
      for (Sample& sample : parse_samples(file_.lines(prefix + configuration.name), path_)) {
        samples.push_back(std::move(sample));
      }
    }
    return samples;
  }

 private:
  static std::string key_of(const CalibrateOptions& options, const Target& target) {
    return fmt::format("suites {} machine {} {} costs {} dtype {} probes {} seed {} systole {} {}",
                       fmt::join(options.suites, ","), target.machine.name,
                       fingerprint_of(options.target.machine),
                       checksum_of(layout::find_cost_file(target.cost_file)), options.target.dtype,
                       options.probes, options.seed, SYSTOLE_VERSION,
                       checksum_of("/proc/self/exe"));  // another compiler makes other programs
  }

  std::vector<Configuration> configurations_;
  std::string path_;
  std::size_t jobs_;
  ProfileFile file_;
};

std::vector<Sample> for_fitting(const std::vector<Sample>& samples) {
  std::vector<Sample> out;
  std::copy_if(samples.begin(), samples.end(), std::back_inserter(out),
               [](const Sample& s) { return !held_out(s); });
  return out;
}

std::string round_text(std::size_t round, const Judgement& judgement) {
  std::string out = fmt::format(
      "round {}: of {} pairs of programs that strategies chose for {} models, {} ranked wrongly "
      "({:.1f} %); the cheapest "
      "more than 1 % behind the fastest on {} models, at worst {:.3f}\n",
      round, judgement.pairs, judgement.models, judgement.flipped,
      100.0 * static_cast<double>(judgement.flipped) /
          static_cast<double>(std::max<std::size_t>(1, judgement.pairs)),
      judgement.behind, judgement.worst);
  std::vector<std::pair<std::size_t, std::string>> blamed;
  for (const auto& [what, times] : judgement.blamed) {
    blamed.emplace_back(times, what);
  }
  std::stable_sort(blamed.begin(), blamed.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  constexpr std::size_t most_lines = 10;
  for (std::size_t i = 0; i < std::min(most_lines, blamed.size()); ++i) {
    out += fmt::format("  {:>3}  {}\n", blamed[i].first, blamed[i].second);
  }
  return out;
}

struct Calibration {
  std::vector<Sample> samples;
  std::vector<Sample> added;  // by rounds
  Fit fit;
  std::string rounds;  // what happened in each
};

// Fits; then solves by the fitted prices, and where these rank what was chosen wrongly, adds it to the samples and fits
// again. Ends when no pair is ranked wrongly or nothing improves, with the best fit that was judged.
Calibration fit_in_rounds(const CalibrateOptions& options, const Target& target,
                          Measuring& measuring, const std::function<void(const Fit&)>& write) {
  Calibration out;
  out.samples = measuring.run("", [&](const Configuration& c) {
    return profile(c, options.target, options.probes, options.seed);
  });
  Fit fitted = fit(for_fitting(out.samples), target.costs);
  out.fit = fitted;
  double best = std::numeric_limits<double>::infinity();
  for (std::size_t round = 1; round <= options.rounds; ++round) {
    write(fitted);
    TargetOptions by_fit = options.target;
    by_fit.costs = output_of(options, target);
    std::vector<Sample> chosen =
        measuring.run(fmt::format("round {} ", round),
                      [&](const Configuration& c) { return profile_choices(c, by_fit); });
    std::vector<Sample> fresh = for_fitting(chosen);
    const Judgement judgement = judge(fresh, fitted.model);
    out.rounds += round_text(round, judgement);
    if (judgement.score() >= best) {
      break;
    }
    best = judgement.score();
    out.fit = fitted;
    if (judgement.flipped == 0 || round == options.rounds) {
      break;
    }
    for (Sample& sample : fresh) {
      sample.configuration += fmt::format(" round {}", round);
      out.added.push_back(std::move(sample));
    }
    std::vector<Sample> all = for_fitting(out.samples);
    all.insert(all.end(), out.added.begin(), out.added.end());
    fitted = fit(all, target.costs);
  }
  return out;
}

std::vector<Sample> of_kind(const std::vector<Sample>& samples, SampleKind kind, bool held) {
  std::vector<Sample> out;
  std::copy_if(samples.begin(), samples.end(), std::back_inserter(out),
               [&](const Sample& s) { return s.kind == kind && held_out(s) == held; });
  return out;
}

std::string error_table(const std::vector<Sample>& samples,
                        const std::vector<std::pair<std::string, layout::CostModel>>& models) {
  Table table({{"relative error (median, 90th percentile)", Table::Align::left},
               {"samples"},
               {models[0].first},
               {models.size() > 1 ? models[1].first : ""}});
  const std::pair<SampleKind, const char*> kinds[] = {{SampleKind::operation, "operators"},
                                                      {SampleKind::conversion, "conversions"},
                                                      {SampleKind::program, "whole programs"}};
  for (const auto& [kind, name] : kinds) {
    for (const bool held : {false, true}) {
      const std::vector<Sample> part = of_kind(samples, kind, held);
      std::vector<std::string> cells{fmt::format("{}, {}", name, held ? "held out" : "fitted"),
                                     grouped(static_cast<std::int64_t>(part.size()))};
      for (const auto& [title, model] : models) {
        const Errors e = errors(part, model);
        cells.push_back(fmt::format("{:.1f} %, {:.1f} %", 100 * e.median, 100 * e.ninetieth));
      }
      cells.resize(4);
      table.row(cells);
    }
  }
  return table.text();
}

std::string coefficient_table(const layout::CostModel& before, const Fit& fit) {
  Table table({{"coefficient", Table::Align::left}, {"before"}, {"fitted"}, {"95 % interval"}});
  for (std::size_t i = 0; i < layout::feature_count; ++i) {
    const auto feature = static_cast<layout::Feature>(i);
    table.row({std::string(layout::name_of(feature)),
               fmt::format("{:.4g}", layout::coefficient(before, feature)),
               fmt::format("{:.4g}", layout::coefficient(fit.model, feature)),
               fmt::format("{:.4g} to {:.4g}", fit.intervals[i].low, fit.intervals[i].high)});
  }
  return table.text();
}

// Whether a cost file still fits: the machine's fingerprint, and the error on programs that no fit has seen.
int check_file(const CalibrateOptions& options) {
  TargetOptions with = options.target;
  with.costs = options.check;
  const Target target = load_target(with);
  const std::string now = fingerprint_of(options.target.machine);
  const bool same = target.costs.fitted_to == now;
  std::vector<Sample> samples;
  const std::vector<Configuration> all = configurations_of(options);
  for (std::size_t i = 0; i < all.size(); i += std::max<std::size_t>(1, all.size() / 10)) {
    for (Sample& sample : profile(all[i], with, 4, options.seed + 1)) {
      if (sample.kind == SampleKind::program) {
        samples.push_back(std::move(sample));
      }
    }
  }
  const Errors e = errors(samples, target.costs);
  const bool fits = same && e.median <= most_median_error;
  std::printf(
      "%s\nmachine %s: %s\nfresh programs %zu: median error %.1f %%, 90th percentile %.1f %% "
      "(allowed median %.0f %%)\n%s\n",
      target.cost_file.c_str(), target.machine.name.c_str(),
      same                             ? "the one that it was fitted to"
      : target.costs.fitted_to.empty() ? "the file was not fitted to measurements"
                                       : "its file has changed since the fit",
      e.count, 100 * e.median, 100 * e.ninetieth, 100 * most_median_error,
      fits ? "it fits" : "it does not fit: run systole calibrate");
  return fits ? 0 : 1;
}

}  // namespace

int calibrate(const CalibrateOptions& options) {
  if (!options.check.empty()) {
    return check_file(options);
  }
  const Target target = load_target(options.target);
  const std::string output = output_of(options, target);
  const std::string log = profile_of(options, target) + ".log";
  expect_outputs({output, profile_of(options, target), log});
  Measuring measuring(options, target);
  const auto write = [&](const Fit& fitted) {
    layout::CostModel model = fitted.model;
    model.fitted_to = fingerprint_of(options.target.machine);
    write_file(output,
               fmt::format("# Fitted by: systole calibrate --machine {} --suite {} --probes {} "
                           "--rounds {} --seed {}  (systole {})\n{}",
                           options.target.machine, fmt::join(options.suites, " --suite "),
                           options.probes, options.rounds, options.seed, SYSTOLE_VERSION,
                           layout::print_cost_model(model)));
  };
  const Calibration done = fit_in_rounds(options, target, measuring, write);
  write(done.fit);
  const std::string report =
      done.rounds + (done.rounds.empty() ? "" : "\n") +
      error_table(done.samples, {{target.cost_file, target.costs}, {"fitted", done.fit.model}}) +
      "\n" + coefficient_table(target.costs, done.fit);
  std::fputs(report.c_str(), stdout);
  write_file(log, report);
  return 0;
}

}  // namespace systole::driver
