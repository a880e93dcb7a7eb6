#include "compiler/driver/calibrate/profile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "compiler/driver/calibrate/conversions.hpp"
#include "compiler/driver/calibrate/probes.hpp"
#include "compiler/driver/measure.hpp"
#include "compiler/layout/features.hpp"
#include "compiler/lower/builder.hpp"
#include "isa/base/error.hpp"

namespace systole::driver {
namespace {

// The best by the prices comes first; of the others, those that may well be better where prices are wrong.
constexpr const char* choosing_strategies[] = {"exact",    "local",  "greedy", "rule",
                                               "smartmem", "neocpu", "vtensor"};

const char* name_of(SampleKind kind) {
  switch (kind) {
    case SampleKind::operation:
      return "operation";
    case SampleKind::conversion:
      return "conversion";
    case SampleKind::program:
      return "program";
  }
  return "";
}

// Operators that run in another one's kernel, by name: their work shows there.
std::map<std::string, std::string> hosts_of(const Compiled& compiled) {
  std::map<std::string, std::string> out;
  const lower::Fusion& fusion = compiled.residency.fusion;
  for (const graph::NodeId node : compiled.stripped.graph.nodes.ids()) {
    if (fusion.host[node] != node) {
      out[lower::source_name(compiled.stripped, node)] =
          lower::source_name(compiled.stripped, fusion.host[node]);
    }
  }
  return out;
}

// Every distinct conversion of the program that `seen` does not have, by itself.
void add_conversions(const Setting& setting, const Compiled& compiled, const std::string& name,
                     std::size_t probe, std::set<std::string>& seen, std::vector<Sample>& out,
                     std::vector<std::string>& texts) {
  for (const graph::NodeId node : compiled.laid.graph.nodes.ids()) {
    const graph::Node& n = compiled.laid.graph.nodes[node];
    if (!std::holds_alternative<graph::Convert>(n.op) ||
        graph::elements(compiled.laid.graph.tensors[n.output].shape) == 0) {
      continue;
    }
    const LoneConversion own = lone_conversion(compiled.laid, setting.statement, node);
    texts.push_back(own.text());
    for (const LoneConversion& conversion : with_rivals(own, setting.target.machine)) {
      const std::string text = conversion.text();
      if (!seen.insert(text).second) {
        continue;
      }
      if (const auto cycles = measure_alone(conversion, setting.target, setting.timing)) {
        out.push_back({name,
                       probe,
                       SampleKind::conversion,
                       text,
                       {{1, layout::conversion_features(
                                conversion.mechanism, conversion.type.shape, conversion.dtype,
                                conversion.from, conversion.to, conversion.boundary,
                                setting.statement.costs, setting.target.machine)}},
                       {},
                       1,
                       *cycles});
      }
    }
  }
}

// What is relabelled has no source: it counts for the program alone.
std::vector<Sample> samples_of(const Setting& setting, const solver::Assignment& assignment,
                               const std::string& name, std::size_t probe,
                               std::set<std::string>& seen) {
  const Compiled compiled =
      compile_assignment(setting.model, setting.target, setting.statement, assignment);
  sim::Options options;
  options.values = false;
  options.checks = false;
  const sim::Outcome outcome = sim::simulate(compiled.program, setting.target.machine,
                                             setting.timing, sim::Inputs{}, options);
  expect_done(outcome, name);
  Sample whole;
  whole.configuration = name;
  whole.probe = probe;
  whole.kind = SampleKind::program;
  whole.measured = static_cast<double>(outcome.report.cycles);
  const std::map<std::string, std::string> hosts = hosts_of(compiled);
  std::map<std::string, std::vector<Part>> by_source;
  std::map<layout::Features, double> parts;
  const auto features = layout::features(setting.model.graph, setting.statement, compiled.laid);
  for (const graph::NodeId node : features.ids()) {
    parts[features[node]] += 1;
    const std::string own = lower::source_name(compiled.laid, node);
    const auto host = hosts.find(own);
    by_source[host == hosts.end() ? own : host->second].push_back({1, features[node]});
  }
  std::vector<Sample> out;
  for (const isa::SourceId id : compiled.program.sources.ids()) {
    const isa::Source& source = compiled.program.sources[id];
    const auto found = by_source.find(source.name);
    if (source.kind != isa::SourceKind::conversion && found != by_source.end() &&
        outcome.report.sources[id.index()].instructions > 0) {
      const auto cycles =
          sim::reference_cycles(setting.timing, outcome.report.sources[id.index()].attributed);
      out.push_back({name,
                     probe,
                     SampleKind::operation,
                     source.name,
                     found->second,
                     {},
                     1,
                     static_cast<double>(cycles.count())});
    }
  }
  add_conversions(setting, compiled, name, probe, seen, out, whole.conversions);
  for (const auto& [part, times] : parts) {
    whole.parts.push_back({times, part});
  }
  out.push_back(std::move(whole));
  return out;
}

}  // namespace

std::vector<Sample> profile(const Configuration& configuration, const TargetOptions& target,
                            std::size_t count, std::uint64_t seed) {
  const Setting setting = make_setting(model_options(configuration), target, true);
  std::vector<Sample> out;
  std::size_t probe = 0;
  std::set<std::string> seen;
  for (const solver::Assignment& assignment : probes(setting.statement.problem, count, seed)) {
    for (Sample& sample : samples_of(setting, assignment, configuration.name, probe++, seen)) {
      out.push_back(std::move(sample));
    }
  }
  return out;
}

std::vector<Sample> profile_choices(const Configuration& configuration,
                                    const TargetOptions& target) {
  const Setting setting = make_setting(model_options(configuration), target, true);
  std::vector<Sample> out;
  std::vector<solver::Assignment> known;
  std::set<std::string> seen;
  for (const char* name : choosing_strategies) {
    solver::Budget budget;
    budget.threads = 1;
    solver::Assignment assignment =
        solver::solve(strategy_named(name), setting.statement.problem, budget).assignment;
    if (assignment.row.empty() ||
        std::find(known.begin(), known.end(), assignment) != known.end()) {
      continue;
    }
    for (Sample& sample : samples_of(setting, assignment, configuration.name, known.size(), seen)) {
      out.push_back(std::move(sample));
    }
    known.push_back(std::move(assignment));
  }
  return out;
}

double predicted(const Sample& sample, const layout::CostModel& model) {
  double sum = 0;
  for (const Part& part : sample.parts) {
    sum += part.times * static_cast<double>(layout::price_of(part.features, model).total);
  }
  return sum;
}

std::string print_samples(const std::vector<Sample>& samples) {
  std::string out;
  for (const Sample& sample : samples) {
    nlohmann::ordered_json line;
    line["configuration"] = sample.configuration;
    line["probe"] = sample.probe;
    line["kind"] = name_of(sample.kind);
    line["source"] = sample.source;
    for (const Part& part : sample.parts) {
      line["parts"].push_back({part.times, part.features});
    }
    line["measured"] = sample.measured;
    if (!sample.conversions.empty()) {
      line["conversions"] = sample.conversions;
    }
    out += line.dump() + "\n";
  }
  return out;
}

std::vector<Sample> parse_samples(const std::string& text, const std::string& where) {
  std::vector<Sample> out;
  std::istringstream in(text);
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    try {
      const auto record = nlohmann::json::parse(line);
      Sample sample;
      sample.configuration = record.at("configuration");
      sample.probe = record.at("probe");
      sample.source = record.at("source");
      for (const auto& part : record.at("parts")) {
        sample.parts.push_back({part.at(0), part.at(1)});
      }
      sample.measured = record.at("measured");
      sample.conversions = record.value("conversions", std::vector<std::string>());
      const std::string kind = record.at("kind");
      sample.kind = kind == "program"      ? SampleKind::program
                    : kind == "conversion" ? SampleKind::conversion
                                           : SampleKind::operation;
      out.push_back(std::move(sample));
    } catch (const nlohmann::json::exception&) {
      throw Error(fmt::format("{}:{}", where, number), "is no line of a profile",
                  "remove the file: it will be measured again");
    }
  }
  return out;
}

}  // namespace systole::driver
