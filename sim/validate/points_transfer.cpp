// Tier 2: transfers.
#include <fmt/format.h>

#include "sim/validate/kernel.hpp"
#include "sim/validate/points.hpp"

namespace systole::sim {
namespace {

using isa::DType;
using isa::Engine;

double ns(const Timing& timing, Ticks ticks) {
  return microseconds(timing, ticks) * 1000;
}

// First packet to last byte of one load of [rows, columns].
Measured transfer_time(const isa::Machine& machine, const Timing& timing, DType dtype, int rows,
                       std::int64_t columns) {
  Kernel kernel("load", machine);
  const auto x = kernel.matrix("x", isa::Role::input, dtype, rows, columns);
  kernel.load({x, columns, 0, 0, rows, columns}, 0, 0, {}, {});
  const Run run = run_for_time(kernel.take(), machine, timing, true);
  const TraceSlice& transfer = run.trace.slices.back();
  return {ns(timing, transfer.end - transfer.begin) - timing.dma_completion_ns, run.report};
}

// A long stream of [128, row] loads out of a matrix with twice as long rows; GB/s.
Measured bandwidth(const isa::Machine& machine, const Timing& timing, std::int64_t row_bytes,
                   int rings) {
  const std::int64_t columns = row_bytes / 2;
  const int count =
      static_cast<int>(std::max<std::int64_t>(64, (std::int64_t{16} << 20) / (128 * row_bytes)));
  Kernel kernel("loads", machine);
  const auto x = kernel.matrix("x", isa::Role::input, DType::bf16, 128, 2 * columns);
  for (int i = 0; i < count; ++i) {
    kernel.load({x, 2 * columns, 0, i % 2 * columns, 128, columns}, i % 2 * row_bytes, i % rings,
                {}, {});
  }
  const Report report = run_for_time(kernel.take(), machine, timing).report;
  const double overhead = timing.dma_start_ns + timing.dma_completion_ns;
  return {static_cast<double>(report.hbm_read_bytes) / (ns(timing, report.total) - overhead),
          report};
}

Measured relative_bandwidth(const isa::Machine& machine, const Timing& timing,
                            std::int64_t row_bytes) {
  Measured measured = bandwidth(machine, timing, row_bytes, 1);
  measured.value *= 100 / bandwidth(machine, timing, 32768, 1).value;
  return measured;
}

// One transfer and an instruction that waits for it.
Run load_and_use(const isa::Machine& machine, const Timing& timing) {
  Kernel kernel("load and use", machine);
  const auto x = kernel.matrix("x", isa::Role::input, DType::bf16, 128, 128);
  Counter loaded = kernel.counter();
  kernel.load({x, 128, 0, 0, 128, 128}, 0, 0, {}, loaded.signal());
  isa::Activation use;
  use.in = in_sbuf(DType::bf16, 128, 128, 0);
  use.out = in_sbuf(DType::bf16, 128, 128, 256);
  kernel.emit(Engine::scalar, use, {loaded.now()});
  return run_for_time(kernel.take(), machine, timing, true);
}

// Slices of that program: trigger, transfer, instruction.
Measured trigger_to_packet(const isa::Machine& machine, const Timing& timing) {
  const Run run = load_and_use(machine, timing);
  return {ns(timing, run.trace.slices[1].begin - run.trace.slices[0].end), run.report};
}
Measured end_to_instruction(const isa::Machine& machine, const Timing& timing) {
  const Run run = load_and_use(machine, timing);
  const double last_byte = ns(timing, run.trace.slices[1].end) - timing.dma_completion_ns;
  return {ns(timing, run.trace.slices[2].begin) - last_byte, run.report};
}

}  // namespace

std::vector<Point> transfer_points() {
  using M = const isa::Machine&;
  using T = const Timing&;
  std::vector<Point> points{
      {"I8", "trn1", "transfer of 32 KiB on one engine", "ns", 2, 1810, 0.15, 0,
       [](M m, T t) { return transfer_time(m, t, DType::f32, 8, 1024); }},
      {"T12", "trn2", "copy with 1 KiB descriptors, several rings", "GB/s", 2, 259, 0.15, 0,
       [](M m, T t) { return bandwidth(m, t, 1024, 4); }},
      {"T14", "trn2", "load [4, 4096] bf16 on one engine", "ns", 2, 1416, 0.15, 0,
       [](M m, T t) { return transfer_time(m, t, DType::bf16, 4, 4096); }},
      {"T20", "trn2", "trigger to first packet", "ns", 2, 760, 0.15, 0, trigger_to_packet},
      {"T21", "trn2", "end of a transfer to the instruction that waits", "ns", 2, 300, 0.15, 0,
       end_to_instruction},
  };
  // The chart was read off to within one point of full scale.
  const std::vector<std::pair<int, double>> chart{
      {32, 1.4},    {64, 2.6},    {128, 5.0},   {256, 10.3},  {512, 20.6},
      {1024, 42.2}, {2048, 81.3}, {4096, 96.6}, {8192, 98.3}, {16384, 99.0}};
  for (const auto& [bytes, percent] : chart) {
    points.push_back({fmt::format("T22/{}", bytes), "trn2",
                      fmt::format("relative bandwidth, rows of {} bytes", bytes), "%", 2, percent,
                      0.15, 1.0,
                      [bytes = bytes](M m, T t) { return relative_bandwidth(m, t, bytes); }});
  }
  return points;
}

}  // namespace systole::sim
