#include "compiler/driver/record.hpp"

#include <nlohmann/json.hpp>

namespace systole::driver {
namespace {

double share(Ticks part, Ticks whole) {
  return whole.count() == 0
             ? 0
             : static_cast<double>(part.count()) / static_cast<double>(whole.count());
}

void add_report(nlohmann::ordered_json& line, const Measured& row, const sim::Timing& timing) {
  const sim::Report& report = row.outcome.report;
  line["measured"] = report.cycles;
  line["scheduled"] = sim::reference_cycles(timing, row.scheduled).count();
  line["microseconds"] = report.microseconds;
  line["roofline"] = sim::reference_cycles(timing, report.roofline).count();
  line["tensor_busy"] =
      share(report.engines[static_cast<std::size_t>(isa::Engine::tensor)].busy, report.total);
  line["dma_busy"] = share(report.dma_busy, report.total);
  line["conversions"] = row.conversions.size();
  line["conversion_cycles"] = conversion_cycles(row);
  line["conversion_bytes"] = conversion_bytes(row);
  line["hbm_read_bytes"] = report.hbm_read_bytes;
  line["hbm_written_bytes"] = report.hbm_written_bytes;
  line["onchip_dma_bytes"] = report.onchip_dma_bytes;
  line["hbm_bytes"] = row.hbm_bytes;
  line["sbuf_peak"] = row.sbuf_peak;
  line["instructions"] = row.instructions;
  line["same_as"] = row.same_as;
  line["value_error"] = row.error ? nlohmann::ordered_json(*row.error) : nlohmann::ordered_json();
}

}  // namespace

void add_record(nlohmann::ordered_json& line, const Measured& row, const sim::Timing& timing) {
  line["strategy"] = row.strategy;
  line["status"] = std::string(solver::name(row.solved.status));
  line["proof"] = std::string(solver::name(row.solved.proof));
  line["note"] = row.solved.note;
  line["bound"] = row.solved.bound;
  if (row.compiled()) {
    line["predicted"] = row.solved.cost;
    nlohmann::ordered_json& terms = line["terms"];
    for (std::size_t i = 0; i < layout::feature_count; ++i) {
      terms[std::string(layout::name_of(static_cast<layout::Feature>(i)))] = row.predicted.terms[i];
    }
  }
  if (row.instructions > 0) {
    add_report(line, row, timing);
  }
}

}  // namespace systole::driver
