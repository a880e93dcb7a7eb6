// systole bench: every configuration of a suite by every strategy, in child processes, into one result file.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <nlohmann/json.hpp>
#include <numeric>

#include "compiler/driver/bench/configuration.hpp"
#include "compiler/driver/bench/pool.hpp"
#include "compiler/driver/bench/results.hpp"
#include "compiler/driver/bench/suite.hpp"
#include "compiler/driver/bench/summary.hpp"
#include "compiler/driver/commands.hpp"
#include "compiler/driver/output_file.hpp"
#include "compiler/driver/pipeline.hpp"
#include "isa/base/error.hpp"

namespace systole::driver {
namespace {

// A configuration that failed leaves a line as well: the bench goes on, and nobody takes it for a result.
std::string failure_line(const Configuration& configuration, const std::string& run,
                         const std::string& reason) {
  nlohmann::ordered_json line = line_of(configuration, run);
  line["lines_left"] = 0;
  line["failure"] = reason;
  return line.dump() + "\n";
}

std::vector<Configuration> chosen(const Suite& suite, const BenchOptions& options) {
  std::size_t shard = 0;
  std::size_t shards = 1;
  if (!options.shard.empty()) {
    int used = 0;
    if (std::sscanf(options.shard.c_str(), "%zu/%zu%n", &shard, &shards, &used) != 2 ||
        static_cast<std::size_t>(used) != options.shard.size() || shard < 1 || shard > shards) {
      throw Error("--shard " + options.shard, "is not understood",
                  "use I/N with I from 1 to N, as in 1/4");
    }
    --shard;
  }
  std::vector<Configuration> out;
  std::size_t number = 0;
  for (const Configuration& configuration : suite.configurations) {
    const bool wanted = configuration.name.find(options.filter) != std::string::npos;
    if (wanted && number++ % shards == shard) {
      out.push_back(configuration);
    }
  }
  if (number == 0) {
    throw Error("--filter " + options.filter, "matches no configuration of " + suite.name,
                "see --list");
  }
  return out;
}

class Progress {
 public:
  explicit Progress(const std::vector<double>& sizes)
      : sizes_(sizes), shown_(isatty(STDERR_FILENO) != 0) {
    left_ = std::accumulate(sizes.begin(), sizes.end(), 0.0);
  }
  [[nodiscard]] double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }
  void step(std::size_t job, const std::string& name, double seconds_of_it) {
    ++done_;
    done_size_ += sizes_[job];
    left_ -= sizes_[job];
    if (shown_) {
      std::fprintf(stderr, "[%zu/%zu] %s %.1f s, about %.0f s left\n", done_, sizes_.size(),
                   name.c_str(), seconds_of_it, seconds() / done_size_ * left_);
    }
  }

 private:
  const std::vector<double>& sizes_;
  std::size_t done_ = 0;
  double done_size_ = 0, left_ = 0;
  bool shown_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// The largest first, so that none is left over at the end. Returns their sizes, in the new order.
std::vector<double> sort_by_size(std::vector<Configuration>& configurations, std::size_t parallel) {
  if (parallel == 1) {
    return std::vector<double>(configurations.size(), 1);
  }
  std::vector<double> sizes(configurations.size(), 0);
  run_jobs(
      sizes.size(), parallel,
      [&](std::size_t job) { return fmt::format("{}", size_of(configurations[job])); },
      [&](const Finished& finished) {
        sizes[finished.job] = std::strtod(finished.output.c_str(), nullptr) + 1;
      });
  std::vector<std::size_t> order(sizes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return sizes[a] > sizes[b]; });
  std::vector<Configuration> sorted;
  for (const std::size_t i : order) {
    sorted.push_back(std::move(configurations[i]));
  }
  configurations = std::move(sorted);
  std::sort(sizes.begin(), sizes.end(), std::greater<>());
  return sizes;
}

std::int64_t memory_limit(const BenchOptions& options) {
  const auto machine =
      static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  return static_cast<std::int64_t>(options.memory_limit_gb > 0 ? options.memory_limit_gb * 1e9
                                                               : std::min(0.75 * machine, 8e9));
}

std::string run_key(const Suite& suite, const BenchOptions& options, const Target& target) {
  return fmt::format(
      "suite {} machine {} costs {} dtype {} seed {} {}{}strategies {} budget {} memory {} systole "
      "{}",
      suite.name, target.machine.name, target.cost_file, options.target.dtype, options.seed,
      options.predict_only  ? "predict-only "
      : options.timing_only ? "timing-only "
                            : "",
      options.checks ? "" : "no-checks ", options.strategies.empty() ? "all" : options.strategies,
      options.solve.budget_seconds, options.solve.memory_bytes, SYSTOLE_VERSION);
}

// Those that have no lines yet, and again those that failed.
void run_left(const std::vector<Configuration>& configurations, const BenchOptions& options,
              const std::string& run, Results& results) {
  std::vector<Configuration> left;
  std::copy_if(
      configurations.begin(), configurations.end(), std::back_inserter(left),
      [&](const Configuration& c) { return !results.has(c.name) || results.failed(c.name); });
  const auto parallel = static_cast<std::size_t>(options.jobs);
  // Where nothing is compiled they differ little, and reading them all first would take as long as solving them.
  const std::vector<double> sizes = sort_by_size(left, options.predict_only ? 1 : parallel);
  Progress progress(sizes);
  const std::int64_t most_bytes = run_jobs(
      left.size(), parallel,
      [&](std::size_t job) { return run_configuration(left[job], options, run); },
      [&](const Finished& finished) {
        const Configuration& configuration = left[finished.job];
        nlohmann::ordered_json whole;
        whole["configuration"] = configuration.name;
        whole["seconds"] = finished.seconds;
        whole["peak_bytes"] = finished.peak_bytes;
        const std::string time = whole.dump() + "\n";
        const std::size_t cut = finished.output.find('\0');
        if (finished.failure.empty() && cut != std::string::npos) {
          const std::string lines = finished.output.substr(0, cut);
          results.add(configuration.name, lines, finished.output.substr(cut + 1) + time,
                      lines.find("\"failure\":") != std::string::npos);
        } else {
          results.add(configuration.name, failure_line(configuration, run, finished.failure), time,
                      true);
          std::fprintf(stderr, "%s: %s\n", configuration.name.c_str(), finished.failure.c_str());
        }
        progress.step(finished.job, configuration.name, finished.seconds);
      },
      memory_limit(options));
  std::fprintf(stderr, "%zu configurations in %.1f s, at most %.2f GB at once\n", left.size(),
               progress.seconds(), static_cast<double>(most_bytes) / 1e9);
}

}  // namespace

int bench(const BenchOptions& options) {
  const Suite suite = read_suite(options.suite);
  const std::vector<Configuration> configurations = chosen(suite, options);
  if (options.list) {
    for (const Configuration& configuration : configurations) {
      std::printf("%s\n", configuration.name.c_str());
    }
    return 0;
  }
  const Target target =
      load_target(options.target);  // a wrong machine or cost file is told now, not by every child
  strategies_named(options.strategies);
  const std::string run = run_key(suite, options, target);
  const std::string output = options.output.empty() ? suite.name + ".jsonl" : options.output;
  expect_outputs({output}, {options.suite});
  Results results(output, run);
  for (const std::string& file : options.merge) {
    results.merge(file);
  }
  if (!options.traces.empty()) {
    make_folder(options.traces);
  }
  if (options.merge.empty()) {
    run_left(configurations, options, run, results);
  }
  std::vector<std::string> names;
  for (const Configuration& configuration : suite.configurations) {
    names.push_back(configuration.name);
  }
  results.sort(names);
  std::fputs(summary_text(run, configurations, results).c_str(), stdout);
  return std::any_of(configurations.begin(), configurations.end(),
                     [&](const Configuration& c) { return results.failed(c.name); })
             ? 1
             : 0;
}

}  // namespace systole::driver
