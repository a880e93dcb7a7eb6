#include "compiler/driver/calibrate/profile.hpp"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "compiler/driver/calibrate/probes.hpp"
#include "compiler/driver/measure.hpp"
#include "compiler/layout/features.hpp"
#include "compiler/lower/builder.hpp"
#include "isa/base/error.hpp"

namespace systole::driver {
namespace {

void add(layout::Features& sum, const layout::Features& more) {
  for (std::size_t i = 0; i < layout::feature_count; ++i) {
    sum[i] += more[i];
  }
}

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

// What is relabelled has no source: it counts for the program alone.
std::vector<Sample> samples_of(const Setting& setting, const solver::Assignment& assignment,
                               const std::string& name, std::size_t probe) {
  const Compiled compiled =
      compile_assignment(setting.model, setting.target, setting.statement, assignment);
  sim::Options options;
  options.values = false;
  options.checks = false;
  const sim::Outcome outcome = sim::simulate(compiled.program, setting.target.machine,
                                             setting.timing, sim::Inputs{}, options);
  expect_done(outcome, name);
  Sample whole{name, probe, SampleKind::program,
               "",   {},    static_cast<double>(outcome.report.cycles)};
  const std::map<std::string, std::string> hosts = hosts_of(compiled);
  std::map<std::string, layout::Features> by_source;
  const auto features = layout::features(setting.model.graph, setting.statement, compiled.laid);
  for (const graph::NodeId node : features.ids()) {
    add(whole.features, features[node]);
    const std::string own = lower::source_name(compiled.laid, node);
    const auto host = hosts.find(own);
    add(by_source[host == hosts.end() ? own : host->second], features[node]);
  }
  std::vector<Sample> out;
  for (const isa::SourceId id : compiled.program.sources.ids()) {
    const isa::Source& source = compiled.program.sources[id];
    const auto found = by_source.find(source.name);
    if (found != by_source.end() && outcome.report.sources[id.index()].instructions > 0) {
      const auto cycles =
          sim::reference_cycles(setting.timing, outcome.report.sources[id.index()].attributed);
      out.push_back({name, probe,
                     source.kind == isa::SourceKind::conversion ? SampleKind::conversion
                                                                : SampleKind::operation,
                     source.name, found->second, static_cast<double>(cycles.count())});
    }
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
  for (const solver::Assignment& assignment : probes(setting.statement.problem, count, seed)) {
    for (Sample& sample : samples_of(setting, assignment, configuration.name, probe++)) {
      out.push_back(std::move(sample));
    }
  }
  return out;
}

std::string print_samples(const std::vector<Sample>& samples) {
  std::string out;
  for (const Sample& sample : samples) {
    nlohmann::ordered_json line;
    line["configuration"] = sample.configuration;
    line["probe"] = sample.probe;
    line["kind"] = name_of(sample.kind);
    line["source"] = sample.source;
    line["features"] = sample.features;
    line["measured"] = sample.measured;
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
      sample.features = record.at("features");
      sample.measured = record.at("measured");
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
