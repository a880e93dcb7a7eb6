// systole bench: every configuration of a suite by every strategy, in child processes, into one result file.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "compiler/driver/bench/pool.hpp"
#include "compiler/driver/bench/results.hpp"
#include "compiler/driver/bench/suite.hpp"
#include "compiler/driver/bench/summary.hpp"
#include "compiler/driver/commands.hpp"
#include "compiler/driver/output_file.hpp"
#include "compiler/driver/record.hpp"
#include "compiler/graph/facts.hpp"
#include "compiler/solver/treewidth/bounds.hpp"
#include "compiler/solver/treewidth/graph.hpp"
#include "isa/base/error.hpp"

namespace systole::driver {
namespace {

// Values are computed where the reference takes seconds at most; larger models are only timed.
constexpr std::int64_t most_parameters_with_values = 30'000'000;
constexpr std::int64_t most_macs_with_values = 500'000'000;

bool values_fit(const graph::Graph& graph) {
  return graph::parameters(graph) <= most_parameters_with_values &&
         graph::multiply_accumulates(graph) <= most_macs_with_values;
}

Setting setting_of(const Configuration& configuration, const BenchOptions& options) {
  ModelOptions model = model_options(configuration);
  model.seed = options.seed;
  Setting setting = make_setting(model, options.target, true);
  if (!options.timing_only && !options.predict_only && values_fit(setting.model.graph)) {
    if (setting.model.weights_absent) {
      model.weights = fmt::format("random:{}", options.seed);
    }
    setting = make_setting(model, options.target, false);
  }
  return setting;
}

nlohmann::ordered_json head_of(const Configuration& configuration, const Setting& setting,
                               const std::string& run) {
  nlohmann::ordered_json head;
  head["schema"] = bench_schema;
  head["run"] = run;
  head["configuration"] = configuration.name;
  head["family"] = configuration.family;
  head["half"] = configuration.half;
  head["model"] = configuration.model;
  head["parameters_set"] = configuration.dims;
  head["operators"] = setting.model.graph.nodes.size();
  head["parameters"] = graph::parameters(setting.model.graph);
  head["multiply_accumulates"] = graph::multiply_accumulates(setting.model.graph);
  const auto vertices = static_cast<int>(setting.model.graph.nodes.size());
  const solver::treewidth::Width width = solver::treewidth::width_bounds(
      solver::treewidth::graph_of_edges(vertices, graph::operator_edges(setting.model.graph)),
      vertices > 3000 ? 0 : 4);
  head["treewidth"] = {width.lower, width.upper};
  return head;
}

// The answer of a child: the lines of the result file, a zero byte, the lines of the times.
std::string run_configuration(const Configuration& configuration, const BenchOptions& options,
                              const std::string& run) {
  const Setting setting = setting_of(configuration, options);
  const nlohmann::ordered_json head = head_of(configuration, setting, run);
  MeasureOptions how;
  how.solve = options.solve;
  how.threads = 1;
  how.checks = options.checks;
  how.measure = !options.predict_only;
  std::vector<Measured> rows;
  std::string lines, times;
  const auto strategies = strategies_named(options.strategies);
  for (const solver::Strategy* strategy : strategies) {
    measure(*strategy, setting, how, rows);
    const Measured& row = rows.back();
    nlohmann::ordered_json line = head;
    line["lines_left"] = strategies.size() - rows.size();
    line["values"] = options.predict_only       ? "predicted only"
                     : setting.expected.empty() ? "timing only"
                                                : "checked";
    add_record(line, row, setting.timing);
    lines += line.dump() + "\n";
    nlohmann::ordered_json time;
    time["configuration"] = configuration.name;
    time["strategy"] = row.strategy;
    time["solve"] = row.solved.seconds;
    time["compile"] = row.compile_seconds;
    time["simulate"] = row.simulate_seconds;
    times += time.dump() + "\n";
  }
  return lines + '\0' + times;
}

// A configuration that failed leaves a line as well: the bench goes on, and nobody takes it for a result.
std::string failure_line(const Configuration& configuration, const std::string& run,
                         const std::string& reason) {
  nlohmann::ordered_json line;
  line["schema"] = bench_schema;
  line["run"] = run;
  line["configuration"] = configuration.name;
  line["family"] = configuration.family;
  line["half"] = configuration.half;
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
  explicit Progress(std::size_t jobs) : jobs_(jobs), shown_(isatty(STDERR_FILENO) != 0) {}
  void step(const std::string& name, double seconds) {
    ++done_;
    if (!shown_) {
      return;
    }
    const double elapsed =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    const double left = elapsed / static_cast<double>(done_) * static_cast<double>(jobs_ - done_);
    std::fprintf(stderr, "[%zu/%zu] %s %.1f s, about %.0f s left\n", done_, jobs_, name.c_str(),
                 seconds, left);
  }

 private:
  std::size_t jobs_, done_ = 0;
  bool shown_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

std::string run_key(const Suite& suite, const BenchOptions& options, const Target& target) {
  return fmt::format(
      "suite {} machine {} costs {} dtype {} seed {} {}strategies {} budget {} systole {}",
      suite.name, target.machine.name, target.cost_file, options.target.dtype, options.seed,
      options.predict_only  ? "predict-only "
      : options.timing_only ? "timing-only "
                            : "",
      options.strategies.empty() ? "all" : options.strategies, options.solve.budget_seconds,
      SYSTOLE_VERSION);
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
  expect_writable(output);
  Results results(output, run);
  for (const std::string& file : options.merge) {
    results.merge(file);
  }
  std::vector<Configuration> left;
  std::copy_if(
      configurations.begin(), configurations.end(), std::back_inserter(left),
      [&](const Configuration& c) { return options.merge.empty() && !results.has(c.name); });
  Progress progress(left.size());
  bool failed = false;
  run_jobs(
      left.size(), static_cast<std::size_t>(options.jobs),
      [&](std::size_t job) { return run_configuration(left[job], options, run); },
      [&](const Finished& finished) {
        const Configuration& configuration = left[finished.job];
        nlohmann::ordered_json whole;
        whole["configuration"] = configuration.name;
        whole["seconds"] = finished.seconds;
        whole["peak_bytes"] = finished.peak_bytes;
        const std::size_t cut = finished.output.find('\0');
        if (finished.failure.empty() && cut != std::string::npos) {
          results.add(configuration.name, finished.output.substr(0, cut),
                      finished.output.substr(cut + 1) + whole.dump() + "\n");
        } else {
          failed = true;
          results.add(configuration.name, failure_line(configuration, run, finished.failure),
                      whole.dump() + "\n");
          std::fprintf(stderr, "%s: %s\n", configuration.name.c_str(), finished.failure.c_str());
        }
        progress.step(configuration.name, finished.seconds);
      });
  std::vector<std::string> names;
  for (const Configuration& configuration : suite.configurations) {
    names.push_back(configuration.name);
  }
  results.sort(names);
  std::fputs(summary_text(run, configurations, results).c_str(), stdout);
  return failed ? 1 : 0;
}

}  // namespace systole::driver
