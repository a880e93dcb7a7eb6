#include "compiler/driver/bench/configuration.hpp"

#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <filesystem>
#include <new>
#include <nlohmann/json.hpp>
#include <vector>

#include "compiler/driver/bench/results.hpp"
#include "compiler/driver/measure.hpp"
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
constexpr std::size_t most_instructions_traced = 100'000;  // some 20 MB of JSON

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
  nlohmann::ordered_json head = line_of(configuration, run);
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

MeasureOptions measure_options(const BenchOptions& options) {
  MeasureOptions how;
  how.solve = options.solve;
  how.threads = 1;
  how.checks = options.checks;
  how.measure = !options.predict_only;
  how.timeline_up_to = options.traces.empty() ? 0 : most_instructions_traced;
  return how;
}

// FOLDER/CONFIGURATION.STRATEGY.json
std::string trace_path(const std::string& folder, std::string configuration,
                       std::string_view strategy) {
  std::replace(configuration.begin(), configuration.end(), '/', '_');
  return fmt::format("{}/{}.{}.json", folder, configuration, strategy);
}

// The timeline of the fastest strategy so far.
struct Timeline {
  std::string strategy, text;
  std::int64_t cycles = 0;

  void offer(Measured& row) {
    if (!row.timeline.empty() && (strategy.empty() || row.outcome.report.cycles < cycles)) {
      strategy = row.strategy;
      cycles = row.outcome.report.cycles;
      text = std::move(row.timeline);
    }
    row.timeline = {};
  }
};

// One per configuration: what an earlier run left there goes.
void write_timeline(const Timeline& timeline, const std::string& folder,
                    const std::string& configuration) {
  for (const solver::Strategy& strategy : solver::strategies()) {
    std::filesystem::remove(trace_path(folder, configuration, strategy.name));
  }
  if (!timeline.text.empty()) {
    write_file(trace_path(folder, configuration, timeline.strategy), timeline.text);
  }
}

std::string time_line(const Configuration& configuration, const Measured& row) {
  nlohmann::ordered_json time;
  time["configuration"] = configuration.name;
  time["strategy"] = row.strategy;
  time["solve"] = row.solved.seconds;
  time["compile"] = row.compile_seconds;
  time["simulate"] = row.simulate_seconds;
  return time.dump() + "\n";
}

}  // namespace

nlohmann::ordered_json line_of(const Configuration& configuration, const std::string& run) {
  nlohmann::ordered_json line;
  line["schema"] = bench_schema;
  line["run"] = run;
  line["configuration"] = configuration.name;
  line["family"] = configuration.family;
  line["half"] = configuration.half;
  return line;
}

double size_of(const Configuration& configuration) {
  try {
    const Model model = load_model(model_options(configuration));
    return static_cast<double>(graph::multiply_accumulates(model.graph)) +
           1e6 * static_cast<double>(model.graph.nodes.size());
  } catch (const Error&) {
    return 0;  // running it will say why
  }
}

std::string run_configuration(const Configuration& configuration, const BenchOptions& options,
                              const std::string& run) {
  const Setting setting = setting_of(configuration, options);
  const nlohmann::ordered_json head = head_of(configuration, setting, run);
  const MeasureOptions how = measure_options(options);
  const auto strategies = strategies_named(options.strategies);
  std::vector<Measured> rows;
  Timeline timeline;
  std::string lines, times;
  std::size_t left = strategies.size();
  for (const solver::Strategy* strategy : strategies) {
    nlohmann::ordered_json line = head;
    line["lines_left"] = --left;
    std::string failure;
    try {
      measure(*strategy, setting, how, rows);
    } catch (const Error& error) {
      failure = error.what();
    } catch (const std::bad_alloc&) {  // the others may need less
      failure = "out of memory: give more --memory-limit";
    }
    if (!failure.empty()) {
      line["strategy"] = strategy->name;
      line["failure"] = failure;
      lines += line.dump() + "\n";
      continue;
    }
    Measured& row = rows.back();
    line["values"] = options.predict_only       ? "predicted only"
                     : setting.expected.empty() ? "timing only"
                                                : "checked";
    add_record(line, row, setting.timing);
    lines += line.dump() + "\n";
    times += time_line(configuration, row);
    timeline.offer(row);
    row.prices.clear();  // by the name of every operator; only comparisons print them
    malloc_trim(0);      // what the pool sees is what is in use
  }
  if (!options.traces.empty()) {
    write_timeline(timeline, options.traces, configuration.name);
  }
  return lines + '\0' + times;
}

}  // namespace systole::driver
