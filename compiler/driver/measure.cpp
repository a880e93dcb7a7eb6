#include "compiler/driver/measure.hpp"

#include <algorithm>
#include <chrono>

#include "compiler/graph/evaluate.hpp"
#include "compiler/lower/builder.hpp"
#include "isa/base/error.hpp"
#include "isa/binary.hpp"

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

double largest_error(const Setting& setting, const isa::Program& program,
                     const sim::Arrays& outputs) {
  const auto got = model_outputs(setting.model.graph, program, outputs);
  double worst = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    worst = std::max(worst, compare(got[i], setting.expected[i], 0, 0).relative());
  }
  return worst;
}

void run_on_machine(Measured& row, const isa::Program& program, const Setting& setting,
                    const MeasureOptions& how) {
  const Stopwatch watch;
  const bool values = !setting.expected.empty();
  sim::Options options;
  options.values = values;
  options.checks = how.checks;
  options.trace = row.instructions <= how.timeline_up_to;
  const sim::Inputs inputs = values ? machine_inputs(program, setting.inputs) : sim::Inputs{};
  row.outcome = sim::simulate(program, setting.target.machine, setting.timing, inputs, options);
  row.simulate_seconds = watch.seconds();
  expect_done(row.outcome, row.strategy);
  if (values) {
    row.error = largest_error(setting, program, row.outcome.outputs);
  }
  row.outcome.outputs.clear();
  if (options.trace) {
    row.timeline = sim::print_trace(row.outcome.trace, program, setting.timing.tick_ghz);
    row.outcome.trace = {};
  }
}

void add(layout::Price& sum, const layout::Price& price) {
  sum.total += price.total;
  for (std::size_t i = 0; i < layout::feature_count; ++i) {
    sum.terms[i] += price.terms[i];
  }
}

void add_prices(Measured& row, const layout::LaidGraph& laid) {
  for (const graph::NodeId node : laid.graph.nodes.ids()) {
    add(row.predicted, laid.predicted[node]);
    add(row.prices[lower::source_name(laid, node)], laid.predicted[node]);
  }
}

void take_over(Measured& row, const Measured& earlier) {
  row.predicted = earlier.predicted;
  row.prices = earlier.prices;
  row.conversions = earlier.conversions;
  row.sources = earlier.sources;
  row.instructions = earlier.instructions;
  row.program = earlier.program;
  row.sbuf_peak = earlier.sbuf_peak;
  row.scheduled = earlier.scheduled;
  row.hbm_bytes = earlier.hbm_bytes;
  row.outcome = earlier.outcome;
  row.error = earlier.error;
  row.same_as = earlier.same_as.empty() ? earlier.strategy : earlier.same_as;
}

void compile_and_run(Measured& row, const Setting& setting, const MeasureOptions& options,
                     const std::vector<Measured>& earlier) {
  const auto same_assignment = [&](const Measured& other) {
    return other.compiled() && other.solved.assignment == row.solved.assignment;
  };
  const auto twin = std::find_if(earlier.begin(), earlier.end(), same_assignment);
  if (twin != earlier.end()) {
    take_over(row, *twin);
    return;
  }
  const Stopwatch watch;
  Compiled compiled =
      compile_assignment(setting.model, setting.target, setting.statement, row.solved.assignment);
  row.compile_seconds = watch.seconds();
  row.conversions = layout::conversions(compiled.laid);
  add_prices(row, compiled.laid);
  row.hbm_bytes = compiled.hbm_peak;
  row.sbuf_peak = compiled.allocation.sbuf_peak;
  row.scheduled = Ticks(compiled.estimate);
  row.sources = compiled.program.sources;
  row.program = isa::checksum(isa::encode(compiled.program));
  for (const auto& stream : compiled.program.streams) {
    row.instructions += stream.size();
  }
  const auto same_program = [&](const Measured& other) {
    return other.compiled() && other.program == row.program;
  };
  const auto sibling = std::find_if(earlier.begin(), earlier.end(), same_program);
  if (sibling != earlier.end()) {
    take_over(row, *sibling);
    return;
  }
  // The machine needs nothing but the program: the stages before it are as large, and go.
  const isa::Program program = std::move(compiled.program);
  compiled = Compiled();
  run_on_machine(row, program, setting, options);
}

// A bound stands against what every other strategy found: a proof is not left to the strategy that gives it.
void expect_no_contradiction(const Measured& bound, const Measured& found) {
  check(
      !found.compiled() || found.solved.cost >= bound.solved.bound,
      "the bound of " + bound.strategy + " is above the cost that " + found.strategy + " reached");
}

}  // namespace

Setting make_setting(const ModelOptions& model, const TargetOptions& target, bool timing_only) {
  Setting setting;
  setting.target = load_target(target);
  setting.timing = sim::read_timing(target.machine);
  setting.model = load_model(model);
  setting.statement = state(setting.model, setting.target);
  if (timing_only || setting.model.weights_absent) {
    setting.target = with_room(std::move(setting.target));
  } else {
    setting.inputs = model_inputs(setting.model.graph, model);
    setting.expected = graph::evaluate(setting.model.graph, setting.inputs);
  }
  return setting;
}

void expect_done(const sim::Outcome& outcome, const std::string& where) {
  if (outcome.status != sim::Status::done) {
    throw Error(where, outcome.faults.empty() ? "the machine stopped" : outcome.faults.front().text,
                "this is a fault of the compiler: please report it");
  }
}

void measure(const solver::Strategy& strategy, const Setting& setting,
             const MeasureOptions& options, std::vector<Measured>& rows) {
  Measured row;
  row.strategy = strategy.name;
  row.solved =
      solver::solve(strategy, setting.statement.problem, budget_of(options.solve, options.threads));
  for (const Measured& other : rows) {
    expect_no_contradiction(row, other);
    expect_no_contradiction(other, row);
  }
  if (row.compiled() && options.measure) {
    compile_and_run(row, setting, options, rows);
  } else if (row.compiled()) {
    add_prices(row, layout::apply(setting.model.graph, setting.statement, row.solved.assignment));
  }
  rows.push_back(std::move(row));
}

std::int64_t conversion_cycles(const Measured& measured) {
  std::int64_t sum = 0;
  for (const isa::SourceId id : measured.sources.ids()) {
    if (measured.sources[id].kind == isa::SourceKind::conversion) {
      sum += measured.outcome.report.sources[id.index()].cycles;
    }
  }
  return sum;
}

std::int64_t conversion_bytes(const Measured& measured) {
  std::int64_t sum = 0;
  for (const layout::ConversionRow& conversion : measured.conversions) {
    sum += conversion.bytes;
  }
  return sum;
}

}  // namespace systole::driver
