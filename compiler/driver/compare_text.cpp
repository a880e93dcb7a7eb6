#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "compiler/driver/compare.hpp"
#include "compiler/driver/record.hpp"
#include "compiler/driver/table.hpp"
#include "compiler/driver/terms.hpp"

namespace systole::driver {
namespace {

const Measured* extreme(const Comparison& comparison, bool largest) {
  const Measured* found = nullptr;
  for (const Measured& row : comparison.rows) {
    if (row.compiled() && (found == nullptr ||
                           (largest ? row.outcome.report.cycles > found->outcome.report.cycles
                                    : row.outcome.report.cycles < found->outcome.report.cycles))) {
      found = &row;
    }
  }
  return found;
}

std::string proof_text(const solver::Result& result) {
  switch (result.status) {
    case solver::Status::proven:
      return "proven";
    case solver::Status::feasible:
      return result.bound > 0 ? fmt::format("gap {:.1f} %", 100.0 * result.gap()) : "-";
    case solver::Status::infeasible:
      return "infeasible";
    case solver::Status::exhausted:
      return "gave up";
  }
  return {};
}

std::string error_text(const Measured& row) {
  return row.error ? fmt::format("{:.1e}", *row.error) : "-";
}

double busy(const Measured& row, isa::Engine engine) {
  return static_cast<double>(
      row.outcome.report.engines[static_cast<std::size_t>(engine)].busy.count());
}

std::string strategy_table(const Comparison& comparison) {
  using A = Table::Align;
  Table table({{"strategy", A::left},
               {"predicted"},
               {"measured"},
               {"ratio"},
               {"conversions"},
               {"their cycles"},
               {"their bytes"},
               {"HBM bytes"},
               {"tensor busy"},
               {"DMA busy"},
               {"SBUF peak"},
               {"proof"},
               {"value error"},
               {"program", A::left}});
  const Measured* best = extreme(comparison, false);
  for (const Measured& row : comparison.rows) {
    if (!row.compiled()) {
      table.row({row.strategy, "-", "-", "-", "-", "-", "-", "-", "-", "-", "-",
                 proof_text(row.solved), "-", row.solved.note});
      continue;
    }
    const sim::Report& report = row.outcome.report;
    const auto total = static_cast<double>(report.total.count());
    table.row(
        {row.strategy, grouped(row.solved.cost), grouped(report.cycles),
         fmt::format("{:.3f}", static_cast<double>(report.cycles) /
                                   static_cast<double>(best->outcome.report.cycles)),
         grouped(static_cast<std::int64_t>(row.conversions.size())),
         grouped(conversion_cycles(row)), bytes_text(conversion_bytes(row)),
         bytes_text(report.hbm_read_bytes + report.hbm_written_bytes),
         percent(busy(row, isa::Engine::tensor), total),
         percent(static_cast<double>(report.dma_busy.count()), total), bytes_text(row.sbuf_peak),
         proof_text(row.solved), error_text(row),
         row.same_as.empty()
             ? fmt::format("{} instructions", grouped(static_cast<std::int64_t>(row.instructions)))
             : "as " + row.same_as});
  }
  return table.text();
}

std::string conversion_table(const Comparison& comparison) {
  std::string out;
  for (const Measured& row : comparison.rows) {
    if (!row.compiled() || !row.same_as.empty()) {
      continue;
    }
    out += fmt::format("\nconversions of {}:\n", row.strategy);
    using A = Table::Align;
    Table table({{"tensor", A::left},
                 {"from", A::left},
                 {"to", A::left},
                 {"by", A::left},
                 {"bytes"},
                 {"predicted"}});
    for (const layout::ConversionRow& c : row.conversions) {
      table.row({c.tensor, layout::to_string(c.from), layout::to_string(c.to),
                 std::string(layout::name_of(c.mechanism)), bytes_text(c.bytes),
                 grouped(c.cycles)});
    }
    out += row.conversions.empty() ? "none\n" : table.text();
  }
  return out;
}

}  // namespace

std::string comparison_text(const Comparison& comparison, const sim::Timing& timing,
                            const CompareOptions& options) {
  std::string out = comparison.title + "\n\n" + strategy_table(comparison);
  out += comparison.timing_only ? "values: not computed (timing only)\n"
                                : fmt::format(
                                      "value error: largest |got - reference| over the largest "
                                      "|reference|; tolerance {}\n",
                                      comparison.tolerance);
  const Measured* best = extreme(comparison, false);
  const Measured* worst = extreme(comparison, true);
  if (best != nullptr && worst->program != best->program) {
    out +=
        fmt::format("\nwhat costs {} most against {} (cycles):\n", worst->strategy, best->strategy);
    Table table(
        {{"tensor or operator", Table::Align::left}, {"conversions"}, {"longer to produce"}});
    const auto costs = costly_tensors(*worst, *best);
    for (std::size_t i = 0; i < std::min<std::size_t>(3, costs.size()); ++i) {
      table.row({costs[i].tensor, grouped(costs[i].conversion_cycles),
                 grouped(costs[i].producer_cycles)});
    }
    out += table.text();
  }
  if (options.list_conversions) {
    out += conversion_table(comparison);
  }
  if (options.terms) {
    out += terms_text(comparison, timing);
  }
  return out;
}

std::string comparison_json(const Comparison& comparison, const sim::Timing& timing) {
  std::string out;
  const Measured* best = extreme(comparison, false);
  for (const Measured& row : comparison.rows) {
    nlohmann::ordered_json line;
    line["schema"] = "systole-compare-2";
    line["title"] = comparison.title;
    add_record(line, row, timing);
    if (row.compiled()) {
      line["ratio"] = static_cast<double>(row.outcome.report.cycles) /
                      static_cast<double>(best->outcome.report.cycles);
    }
    out += line.dump() + "\n";
  }
  return out;
}

std::string times_text(const Comparison& comparison) {
  Table table({{"seconds", Table::Align::left}, {"solve"}, {"compile"}, {"simulate"}});
  for (const Measured& row : comparison.rows) {
    table.row({row.strategy, fmt::format("{:.3f}", row.solved.seconds),
               fmt::format("{:.3f}", row.compile_seconds),
               row.same_as.empty() ? fmt::format("{:.3f}", row.simulate_seconds) : "-"});
  }
  return "\n" + table.text();
}

}  // namespace systole::driver
