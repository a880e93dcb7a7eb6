// systole explain: one strategy's layouts, operator by operator, with what each was predicted and measured to take.
#include <fmt/format.h>

#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>

#include "compiler/driver/commands.hpp"
#include "compiler/driver/measure.hpp"
#include "compiler/driver/output_file.hpp"
#include "compiler/driver/table.hpp"
#include "compiler/lower/builder.hpp"

namespace systole::driver {
namespace {

struct Line {
  std::string name;       // as sources are named
  std::string operation;  // kind of operator, or "Convert"
  std::string inputs, output, mechanism;
  layout::Price price;
  std::int64_t measured = 0;
  bool emitted = false;  // has instructions of its own
};

std::vector<Line> lines_of(const Compiled& compiled, const sim::Report& report) {
  std::map<std::string, std::int64_t> measured;
  for (const isa::SourceId id : compiled.program.sources.ids()) {
    if (report.sources[id.index()].instructions == 0) {
      continue;
    }
    measured[compiled.program.sources[id].name] += report.sources[id.index()].cycles;
  }
  std::vector<Line> out;
  const layout::LaidGraph& laid = compiled.laid;
  for (const graph::NodeId id : laid.graph.nodes.ids()) {
    const graph::Node& node = laid.graph.nodes[id];
    Line line;
    line.name = lower::source_name(laid, id);
    line.operation = graph::name_of(node.op);
    for (const graph::TensorId input : node.inputs) {
      line.inputs += (line.inputs.empty() ? "" : " ") + layout::to_string(laid.layouts[input]);
    }
    line.output = layout::to_string(laid.layouts[node.output]);
    line.mechanism = layout::name_of(laid.mechanisms[id]);
    line.price = laid.predicted[id];
    const auto found = measured.find(line.name);
    line.emitted = found != measured.end();
    line.measured = line.emitted ? found->second : 0;
    out.push_back(std::move(line));
  }
  return out;
}

std::string text_of(const std::vector<Line>& lines) {
  using A = Table::Align;
  Table table({{"operator or conversion", A::left},
               {"inputs", A::left},
               {"output", A::left},
               {"mechanism", A::left},
               {"predicted"},
               {"measured"}});
  for (const Line& line : lines) {
    table.row({line.name, line.inputs, line.output, line.mechanism, grouped(line.price.total),
               line.emitted ? grouped(line.measured) : "in others"});
  }
  return table.text();
}

std::string json_of(const std::string& title, const std::vector<Line>& lines) {
  std::string out;
  for (const Line& line : lines) {
    nlohmann::ordered_json record;
    record["schema"] = "systole-explain-1";
    record["title"] = title;
    record["operator"] = line.name;
    record["operation"] = line.operation;
    record["inputs"] = line.inputs;
    record["output"] = line.output;
    record["mechanism"] = line.mechanism;
    record["predicted"] = line.price.total;
    record["measured"] = line.measured;
    nlohmann::ordered_json& terms = record["terms"];
    for (std::size_t i = 0; i < layout::feature_count; ++i) {
      if (line.price.terms[i] != 0) {
        terms[std::string(layout::name_of(static_cast<layout::Feature>(i)))] = line.price.terms[i];
      }
    }
    out += record.dump() + "\n";
  }
  return out;
}

}  // namespace

int explain(const ExplainOptions& options) {
  expect_outputs({options.json}, files_read(options.model, options.target));
  const solver::Strategy& strategy = strategy_named(options.strategy);
  const Setting setting = make_setting(options.model, options.target, true);
  const solver::Result solved = solver::solve(strategy, setting.statement.problem,
                                              budget_of(options.solve, options.target.threads));
  if (solved.assignment.row.empty()) {
    std::fprintf(stderr, "systole: %s found no layouts: %s\n", options.strategy.c_str(),
                 solved.note.c_str());
    return 3;
  }
  const Compiled compiled =
      compile_assignment(setting.model, setting.target, setting.statement, solved.assignment);
  sim::Options how;
  how.values = false;
  const sim::Outcome outcome =
      sim::simulate(compiled.program, setting.target.machine, setting.timing, sim::Inputs{}, how);
  expect_done(outcome, options.strategy);
  const std::vector<Line> lines = lines_of(compiled, outcome.report);
  const std::string title =
      fmt::format("model {}  machine {}  costs {}  strategy {}  dtype {}  systole {}",
                  setting.model.name, setting.target.machine.name, setting.target.cost_file,
                  options.strategy, options.target.dtype, SYSTOLE_VERSION);
  std::printf("%s\n\n%s\npredicted %s cycles, measured %s\n", title.c_str(), text_of(lines).c_str(),
              grouped(solved.cost).c_str(), grouped(outcome.report.cycles).c_str());
  if (!options.json.empty()) {
    write_file(options.json, json_of(title, lines));
  }
  return 0;
}

}  // namespace systole::driver
