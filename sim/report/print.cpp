#include "sim/report/print.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <numeric>
#include <vector>

#include "isa/base/yaml.hpp"

namespace systole::sim {
namespace {

class Printer {
 public:
  Printer(const Report& report, const isa::Program& program, const Timing& timing)
      : report_(report), program_(program), timing_(timing) {}

  [[nodiscard]] std::int64_t cycles(Ticks ticks) const {
    return reference_cycles(timing_, ticks).count();
  }
  [[nodiscard]] WholeCycles whole_cycles() const { return WholeCycles(timing_); }
  [[nodiscard]] double share(Ticks ticks) const {
    return report_.total > Ticks(0) ? 100.0 * static_cast<double>(ticks.count()) /
                                          static_cast<double>(report_.total.count())
                                    : 0.0;
  }
  [[nodiscard]] std::string source_name(std::size_t index) const {
    return program_.sources[isa::SourceId(index)].name;
  }

  template <class... A>
  void line(fmt::format_string<A...> format, A&&... arguments) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<A>(arguments)...);
    text_ += '\n';
  }
  [[nodiscard]] std::string take() { return std::move(text_); }

  const Report& report() const { return report_; }

 private:
  const Report& report_;
  const isa::Program& program_;
  const Timing& timing_;
  std::string text_;
};

std::string quoted(const std::string& text) {
  return yaml::detail::print_value(text);
}

std::string_view kind_name(isa::SourceKind kind) {
  switch (kind) {
    case isa::SourceKind::operation:
      return "operation";
    case isa::SourceKind::conversion:
      return "conversion";
    case isa::SourceKind::boundary:
      return "boundary";
  }
  return "?";
}

void engines_yaml(Printer& out) {
  out.line("engines:");
  for (int e = 0; e < isa::engine_count; ++e) {
    const EngineReport& engine = out.report().engines[static_cast<std::size_t>(e)];
    out.line("  {}:", isa::name_of(static_cast<isa::Engine>(e)));
    out.line("    instructions: {}", engine.instructions);
    WholeCycles whole = out.whole_cycles();
    out.line("    busy: {}", whole.next(engine.busy));
    out.line("    idle:");
    for (int s = 0; s < stall_count; ++s) {
      out.line("      {}: {}", name_of(static_cast<Stall>(s)),
               whole.next(engine.idle[static_cast<std::size_t>(s)]));
    }
  }
}

void dma_yaml(Printer& out) {
  const Report& report = out.report();
  out.line("dma:");
  out.line("  busy: {}", out.cycles(report.dma_busy));
  out.line("  engine_busy_sum: {}", out.cycles(report.dma_engine_busy));
  out.line("  hbm_read_bytes: {}", report.hbm_read_bytes);
  out.line("  hbm_written_bytes: {}", report.hbm_written_bytes);
  out.line("  onchip_bytes: {}", report.onchip_dma_bytes);
  out.line("  rings:");
  for (std::size_t r = 0; r < report.rings.size(); ++r) {
    const RingReport& ring = report.rings[r];
    if (ring.transfers > 0) {
      out.line("    - {{ring: {}, transfers: {}, bytes: {}, rows: {}}}", r, ring.transfers,
               ring.bytes, ring.rows);
    }
  }
}

void sources_yaml(Printer& out, const isa::Program& program) {
  out.line(
      "# attributed: every cycle of the run belongs to one source (Tensor, Vector, Scalar, GpSimd, "
      "DMA in");
  out.line(
      "# this order where they overlap, the next to start where all are idle); the sum is the "
      "total.");
  out.line("sources:");
  for (std::size_t s = 0; s < out.report().sources.size(); ++s) {
    const SourceReport& source = out.report().sources[s];
    out.line(
        "  - {{name: {}, kind: {}, attributed: {}, busy: {}, instructions: {}, dma_bytes: "
        "{}}}",
        quoted(out.source_name(s)), kind_name(program.sources[isa::SourceId(s)].kind),
        source.cycles, out.cycles(source.busy), source.instructions, source.dma_bytes);
  }
  out.line("unattributed: {}", out.report().unattributed_cycles);
}

}  // namespace

std::string_view name_of(Stall stall) {
  switch (stall) {
    case Stall::dma:
      return "dma";
    case Stall::semaphore:
      return "semaphore";
    case Stall::dependency:
      return "dependency";
    case Stall::port:
      return "port";
    case Stall::bank:
      return "bank";
    case Stall::table:
      return "table";
    case Stall::issue:
      return "issue";
    case Stall::finished:
      return "finished";
  }
  return "?";
}

std::string print_yaml(const Report& report, const isa::Program& program, const Timing& timing) {
  Printer out(report, program, timing);
  out.line("program: {}", quoted(report.program));
  out.line("machine: {}", quoted(report.machine));
  out.line("machine_fingerprint: \"{:016x}\"", program.fingerprint);
  out.line("cycles: {}", report.cycles);
  out.line("microseconds: {:.3f}", report.microseconds);
  out.line("multiply_accumulates: {}", report.multiply_accumulates);
  out.line("tensor_utilisation: {:.4f}", report.utilisation);
  out.line("bounds:");
  out.line("  multiply_accumulates_over_peak: {}", out.cycles(report.peak_bound));
  out.line("  bytes_over_bandwidth: {}", out.cycles(report.bandwidth_bound));
  out.line("  roofline: {}", out.cycles(report.roofline));
  out.line("  measured_over_roofline: {:.3f}",
           report.roofline > Ticks(0) ? static_cast<double>(report.total.count()) /
                                            static_cast<double>(report.roofline.count())
                                      : 0.0);
  engines_yaml(out);
  dma_yaml(out);
  out.line("semaphore_waits:");
  for (const SemaphoreStall& stall : report.semaphore_stalls) {
    out.line("  - {{engine: {}, semaphore: {}, cycles: {}}}", isa::name_of(stall.engine),
             stall.semaphore.index(), out.cycles(stall.waited));
  }
  sources_yaml(out, program);
  return out.take();
}

std::string print_table(const Report& report, const isa::Program& program, const Timing& timing,
                        std::size_t sources) {
  Printer out(report, program, timing);
  out.line("{} on {}: {} cycles, {:.3f} us", report.program, report.machine, report.cycles,
           report.microseconds);
  out.line(
      "  bounds: {} multiply-accumulates over peak, {} bytes over bandwidth, {} "
      "roofline",
      out.cycles(report.peak_bound), out.cycles(report.bandwidth_bound),
      out.cycles(report.roofline));
  std::string head = fmt::format("  {:<8}{:>12}{:>8}", "engine", "instructions", "busy %");
  for (int s = 0; s < stall_count; ++s) {
    head += fmt::format("{:>12}", name_of(static_cast<Stall>(s)));
  }
  out.line("{}", head);
  for (int e = 0; e < isa::engine_count; ++e) {
    const EngineReport& engine = report.engines[static_cast<std::size_t>(e)];
    std::string row =
        fmt::format("  {:<8}{:>12}{:>8.1f}", isa::name_of(static_cast<isa::Engine>(e)),
                    engine.instructions, out.share(engine.busy));
    for (const Ticks idle : engine.idle) {
      row += fmt::format("{:>11.1f}%", out.share(idle));
    }
    out.line("{}", row);
  }
  out.line("  dma: busy {:.1f} %, {} bytes read and {} written in HBM, {} within SBUF",
           out.share(report.dma_busy), report.hbm_read_bytes, report.hbm_written_bytes,
           report.onchip_dma_bytes);
  std::vector<std::size_t> order(report.sources.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&report](std::size_t a, std::size_t b) {
    return report.sources[a].attributed > report.sources[b].attributed;
  });
  for (std::size_t i = 0; i < std::min(sources, order.size()); ++i) {
    const SourceReport& source = report.sources[order[i]];
    out.line("  {:>12} cycles {:>5.1f} %  {}", source.cycles, out.share(source.attributed),
             out.source_name(order[i]));
  }
  return out.take();
}

}  // namespace systole::sim
