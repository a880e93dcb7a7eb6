#include "compiler/driver/compare.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <map>

#include "compiler/driver/commands.hpp"
#include "compiler/driver/output_file.hpp"
#include "compiler/graph/evaluate.hpp"
#include "isa/base/error.hpp"

namespace systole::driver {
namespace {

class Stopwatch {
 public:
  [[nodiscard]] double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

std::int64_t cycles(const sim::Timing& timing, Ticks ticks) {
  return sim::reference_cycles(timing, ticks).count();
}

// What every strategy is measured against.
struct Setting {
  Model model;
  Target target;
  layout::Statement statement;
  sim::Timing timing;
  HostArrays inputs;
  std::vector<graph::Array> expected;  // empty when values are not computed
};

double largest_error(const Setting& setting, const Measured& row) {
  const auto got = model_outputs(setting.model.graph, row.program, row.outcome.outputs);
  double worst = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    worst = std::max(worst, compare(got[i], setting.expected[i], 0, 0).relative());
  }
  return worst;
}

void measure(Measured& row, const Setting& setting, bool values, bool checks) {
  const Stopwatch watch;
  sim::Options options;
  options.values = values;
  options.checks = checks;
  const sim::Inputs inputs = values ? machine_inputs(row.program, setting.inputs) : sim::Inputs{};
  row.outcome = sim::simulate(row.program, setting.target.machine, setting.timing, inputs, options);
  row.simulate_seconds = watch.seconds();
  if (row.outcome.status != sim::Status::done) {
    throw Error(row.strategy, row.outcome.faults.empty() ? "the machine stopped" : row.outcome.faults.front().text,
                "this is a fault of the compiler: please report it");
  }
  if (values) {
    row.error = largest_error(setting, row);
  }
  row.outcome.outputs.clear();
}

Measured go(const solver::Strategy& strategy, const Setting& setting, const CompareOptions& options,
            const std::vector<Measured>& earlier) {
  Measured row;
  row.strategy = strategy.name;
  row.solved = solver::solve(strategy, setting.statement.problem,
                             budget_of(options.solve, options.target.threads));
  if (!row.compiled()) {
    return row;
  }
  const Stopwatch watch;
  Compiled compiled = compile_assignment(setting.model, setting.target, setting.statement, row.solved.assignment);
  row.compile_seconds = watch.seconds();
  row.conversions = layout::conversions(compiled.laid);
  row.sbuf_peak = compiled.allocation.sbuf_peak;
  row.program = std::move(compiled.program);
  for (const auto& stream : row.program.streams) {
    row.instructions += stream.size();
  }
  for (const Measured& other : earlier) {
    if (other.compiled() && other.same_as.empty() && other.program == row.program) {
      row.same_as = other.strategy;  // measured once
      row.outcome = other.outcome;
      row.error = other.error;
      return row;
    }
  }
  measure(row, setting, !setting.expected.empty(), options.checks);
  return row;
}

}  // namespace

std::int64_t conversion_cycles(const Measured& measured, const sim::Timing& timing) {
  Ticks sum;
  for (const isa::SourceId id : measured.program.sources.ids()) {
    if (measured.program.sources[id].kind == isa::SourceKind::conversion) {
      sum += measured.outcome.report.sources[id.index()].attributed;
    }
  }
  return cycles(timing, sum);
}

std::vector<TensorCost> costly_tensors(const Measured& worst, const Measured& best, const sim::Timing& timing) {
  const auto by_name = [&](const Measured& row) {
    std::map<std::string, std::pair<isa::SourceKind, std::int64_t>> out;
    for (const isa::SourceId id : row.program.sources.ids()) {
      auto& entry = out[row.program.sources[id].name];
      entry.first = row.program.sources[id].kind;
      entry.second += cycles(timing, row.outcome.report.sources[id.index()].attributed);
    }
    return out;
  };
  const auto reference = by_name(best);
  std::map<std::string, TensorCost> costs;
  for (const auto& [name, entry] : by_name(worst)) {
    if (entry.first == isa::SourceKind::conversion) {
      // "tensor: (from) -> (to) (mechanism)"
      const std::string tensor = name.substr(0, name.find(": ("));
      costs[tensor].conversion_cycles += entry.second;
    } else {
      const auto found = reference.find(name);
      const std::int64_t longer = entry.second - (found == reference.end() ? 0 : found->second.second);
      if (longer > 0) {
        costs[name].producer_cycles += longer;
      }
    }
  }
  std::vector<TensorCost> out;
  for (auto& [name, cost] : costs) {
    cost.tensor = name;
    out.push_back(cost);
  }
  std::stable_sort(out.begin(), out.end(), [](const TensorCost& a, const TensorCost& b) {
    return a.conversion_cycles + a.producer_cycles > b.conversion_cycles + b.producer_cycles;
  });
  return out;
}

int compare(const CompareOptions& options) {
  if (!options.json.empty()) {
    expect_writable(options.json);
  }
  const auto strategies = strategies_named(options.strategies);
  Setting setting;
  setting.target = load_target(options.target);
  setting.timing = sim::read_timing(options.target.machine);
  setting.model = load_model(options.model);
  setting.statement = state(setting.model, setting.target);
  Comparison comparison;
  comparison.timing_only = options.timing_only || setting.model.weights_absent;
  comparison.tolerance = setting.target.precision == layout::Precision::fp32 ? 1e-4 : 2e-2;
  comparison.title = fmt::format(
      "model {} ({} operators, {} read)  machine {}  costs {}  dtype {}  seed {}  systole {}",
      setting.model.name, setting.model.graph.nodes.size(), setting.model.nodes_read, setting.target.machine.name,
      setting.target.cost_file, options.target.dtype, options.model.seed, SYSTOLE_VERSION);
  if (!comparison.timing_only) {
    setting.inputs = model_inputs(setting.model.graph, options.model);
    setting.expected = graph::evaluate(setting.model.graph, setting.inputs);
  }
  for (const solver::Strategy* strategy : strategies) {
    comparison.rows.push_back(go(*strategy, setting, options, comparison.rows));
  }
  std::fputs(comparison_text(comparison, setting.timing, options).c_str(), stdout);
  std::fputs(times_text(comparison).c_str(), stderr);
  if (!options.json.empty()) {
    write_file(options.json, comparison_json(comparison, setting.timing));
  }
  bool any = false;
  bool right = true;
  for (const Measured& row : comparison.rows) {
    any = any || row.compiled();
    right = right && (!row.error || *row.error <= comparison.tolerance);
  }
  return !any ? 3 : right ? 0 : 1;
}

}  // namespace systole::driver
