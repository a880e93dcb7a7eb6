#include "sim/timing/timing.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "isa/machine.hpp"

namespace systole::sim {
namespace {

using yaml::Field;
using yaml::required;

// One row per parameter, in the order of the struct. Every key is required: a default hidden in the
// code would be a figure without a source.
constexpr auto clock_fields() {
  return std::tuple{
      Field{"tick_ghz", &Timing::tick_ghz, "GHz", 0.001, 100, required, "ticks per ns"},
      Field{"reference_ticks", &Timing::reference_ticks, "ticks", 1, 1000, required,
            "period of the reference clock, the unit of reports"},
      Field{"tensor_ticks", &Timing::tensor_ticks, "ticks", 1, 1000, required,
            "period of the Tensor engine"},
      Field{"vector_ticks", &Timing::vector_ticks, "ticks", 1, 1000, required,
            "period of the Vector engine"},
      Field{"scalar_ticks", &Timing::scalar_ticks, "ticks", 1, 1000, required,
            "period of the Scalar engine"},
      Field{"gpsimd_ticks", &Timing::gpsimd_ticks, "ticks", 1, 1000, required,
            "period of the GpSimd engine"}};
}

constexpr auto tensor_fields() {
  return std::tuple{
      Field{"multiply_min_cycles", &Timing::multiply_min_cycles, "cycles", 0, 1e6, required,
            "shortest issue interval of a multiply"},
      Field{"fp32_passes", &Timing::fp32_passes, "passes", 1, 16, required,
            "multiplies per fp32 multiply"},
      Field{"fp32_cycles_per_column", &Timing::fp32_cycles_per_column, "cycles", 1, 16, required,
            "per moving column and pass"},
      Field{"stationary_columns_per_cycle", &Timing::stationary_columns_per_cycle, "columns/cycle",
            1, 1024, required, "rate of a stationary load"},
      Field{"stationary_min_cycles", &Timing::stationary_min_cycles, "cycles", 0, 1e6, required,
            "shortest stationary load"},
      Field{"stationary_background", &Timing::stationary_background, "", 0, 1, required,
            "a stationary load runs under the multiply before it"},
      Field{"stationary_switch_cycles", &Timing::stationary_switch_cycles, "cycles", 0, 1e6,
            required, "lost when a multiply takes over newly loaded weights"},
      Field{"multiply_latency_ns", &Timing::multiply_latency_ns, "ns", 0, 1e6, required,
            "last column in to result in PSUM"},
      Field{"stationary_latency_ns", &Timing::stationary_latency_ns, "ns", 0, 1e6, required,
            "last column in to weights usable, if nothing hides it"},
      Field{"fp8_columns_per_cycle", &Timing::fp8_columns_per_cycle, "elements/cycle", 1, 16,
            required, "elements per row of the array and cycle in double-row operation"},
      Field{"fp32_transpose_single_pass", &Timing::fp32_transpose_single_pass, "", 0, 1, required,
            "a multiply in transpose mode needs one pass for fp32"},
      Field{"warmup_window_ns", &Timing::warmup_window_ns, "ns", 0, 1e9, required,
            "window of the utilisation cap; 0 = no cap"},
      Field{"warmup_factor", &Timing::warmup_factor, "", 1, 16, required,
            "multiplies take this much longer while cold"}};
}

constexpr auto engine_fields() {
  return std::tuple{
      Field{"min_issue_cycles", &Timing::min_issue_cycles, "cycles", 0, 1e6, required,
            "shortest issue interval on Vector, Scalar, GpSimd"},
      Field{"issue_overhead_cycles", &Timing::issue_overhead_cycles, "cycles", 0, 1e6, required,
            "visible per instruction in a busy stream"},
      Field{"vector_latency_ns", &Timing::vector_latency_ns, "ns", 0, 1e6, required,
            "last element in to completion, Vector"},
      Field{"scalar_latency_ns", &Timing::scalar_latency_ns, "ns", 0, 1e6, required,
            "the same, Scalar"},
      Field{"gpsimd_latency_ns", &Timing::gpsimd_latency_ns, "ns", 0, 1e6, required,
            "the same, GpSimd"},
      Field{
          "dependency_ns", &Timing::dependency_ns, "ns", 0, 1e6, required,
          "last element in to start of the next instruction of the engine if it reads the result"},
      Field{"gpsimd_start_cycles", &Timing::gpsimd_start_cycles, "cycles", 0, 1e6, required,
            "start of every GpSimd instruction"},
      Field{"gpsimd_partition_reduce_factor", &Timing::gpsimd_partition_reduce_factor, "", 1, 1000,
            required, "cycles per element of a reduction across partitions"},
      Field{"reduce_readout_cycles", &Timing::reduce_readout_cycles, "cycles", 0, 1e6, required,
            "reading out the sum that rode along with an activation"},
      Field{"table_load_ns", &Timing::table_load_ns, "ns", 0, 1e6, required,
            "Scalar: change of function"},
      Field{"wide_stride_bytes", &Timing::wide_stride_bytes, "bytes", 1, 1e6, required,
            "innermost strides from here on are slow"},
      Field{"wide_stride_factor", &Timing::wide_stride_factor, "", 1, 16, required, "by this much"},
      Field{"reciprocal_factor", &Timing::reciprocal_factor, "cycles", 1, 1000, required,
            "per element of a Vector reciprocal"},
      Field{"vector_performance_modes", &Timing::vector_performance_modes, "", 0, 1, required,
            "2x and 4x modes for 2-byte floats"},
      Field{"vector_gpsimd_share_sbuf", &Timing::vector_gpsimd_share_sbuf, "", 0, 1, required,
            "false: only one of them works on SBUF at a time"},
      Field{"vector_scalar_share_psum", &Timing::vector_scalar_share_psum, "", 0, 1, required,
            "false: only one of them works on PSUM at a time; true: unless they hit one bank"},
      Field{"semaphore_ns", &Timing::semaphore_ns, "ns", 0, 1e6, required,
            "completion on one engine to start on another"},
      Field{"control_ns", &Timing::control_ns, "ns", 0, 1e6, required, "a Nop in its sequencer"},
      Field{"dma_trigger_ns", &Timing::dma_trigger_ns, "ns", 0, 1e6, required,
            "a transfer's trigger in its sequencer"}};
}

constexpr auto dma_fields() {
  return std::tuple{
      Field{"dma_start_ns", &Timing::dma_start_ns, "ns", 0, 1e6, required,
            "trigger to first packet"},
      Field{"dma_stagger_ns", &Timing::dma_stagger_ns, "ns", 0, 1e6, required,
            "between the starts of two engines of one transfer"},
      Field{"dma_completion_ns", &Timing::dma_completion_ns, "ns", 0, 1e6, required,
            "last byte landed to dependent instruction"},
      Field{"dma_engine_bytes_per_ns", &Timing::dma_engine_bytes_per_ns, "bytes/ns", 0.001, 1e6,
            required, "rate of one engine"},
      Field{"dma_row_ns", &Timing::dma_row_ns, "ns", 0, 1e6, required,
            "shortest time of a descriptor on an engine"},
      Field{"dma_ring_row_ns", &Timing::dma_ring_row_ns, "ns", 0, 1e6, required,
            "shortest time between two descriptors of one ring on an engine"},
      Field{"dma_two_sided_factor", &Timing::dma_two_sided_factor, "", 1, 16, required,
            "both shortest times, for descriptors at whose ends both sides jump"},
      Field{"dma_merge_bytes", &Timing::dma_merge_bytes, "bytes", 0, 1e9, required,
            "rows that follow each other in HBM share a descriptor up to this size; 0 = never"},
      Field{"dma_merge_rows", &Timing::dma_merge_rows, "", 1, 65536, required,
            "and up to this number of them"},
      Field{"dma_transpose_hbm", &Timing::dma_transpose_hbm, "", 0.0001, 1, required,
            "transposing path from HBM, fraction of the engine rate"},
      Field{"dma_transpose_sbuf", &Timing::dma_transpose_sbuf, "", 0.0001, 1, required,
            "the same, SBUF to SBUF"},
      Field{"dma_accumulate", &Timing::dma_accumulate, "", 0.0001, 1, required,
            "accumulating transfers, fraction of the rate"},
      Field{"dma_quantum_ns", &Timing::dma_quantum_ns, "ns", 1, 1e6, required,
            "an engine serves one ring for at most this long while others wait"},
      Field{"indirect_row_cycles", &Timing::indirect_row_cycles, "cycles", 0, 1e6, required,
            "GpSimd builds one descriptor of an indirect transfer"},
      Field{"short_row_bytes_per_ns", &Timing::short_row_bytes_per_ns, "bytes/ns", 0, 1e6, required,
            "cap on all engines together for short rows; 0 = none"},
      Field{"short_row_bytes", &Timing::short_row_bytes, "bytes", 0, 1e9, required,
            "rows below this count as short"},
      Field{"hbm_bytes_per_ns", &Timing::hbm_bytes_per_ns, "bytes/ns", 0.001, 1e6, required,
            "bytes read and written together"}};
}

auto fields() {
  return std::tuple_cat(clock_fields(), tensor_fields(), engine_fields(), dma_fields());
}

Timing timing_from(const yaml::Node& document) {
  (void)isa::machine_from(
      document);  // unknown sections, and an architecture that timing can refer to
  const yaml::Node* section = document.find("timing");
  if (section == nullptr) {
    yaml::detail::refuse_missing(document, "timing", "");
  }
  return yaml::read<Timing>(*section, fields());
}

}  // namespace

Timing read_timing(const std::string& name_or_file) {
  return timing_from(yaml::parse_file(isa::find_machine_file(name_or_file)));
}

Timing parse_timing(const std::string& text, const std::string& file) {
  return timing_from(yaml::parse_text(text, file));
}

std::string print_timing(const Timing& timing) {
  return "timing:\n" + yaml::print(timing, fields(), 2);
}

std::vector<yaml::FieldDescription> describe_timing() {
  return yaml::describe<Timing>(fields());
}

Ticks ticks_of_ns(const Timing& timing, double ns) {
  const auto ticks = static_cast<std::int64_t>(std::llround(ns * timing.tick_ghz));
  return Ticks(ns > 0 ? std::max<std::int64_t>(ticks, 1) : 0);
}

Ticks ticks_of_cycles(const Timing& timing, isa::Engine engine, std::int64_t cycles) {
  switch (engine) {
    case isa::Engine::tensor:
      return Ticks(cycles * timing.tensor_ticks);
    case isa::Engine::vector:
      return Ticks(cycles * timing.vector_ticks);
    case isa::Engine::scalar:
      return Ticks(cycles * timing.scalar_ticks);
    case isa::Engine::gpsimd:
      return Ticks(cycles * timing.gpsimd_ticks);
    case isa::Engine::sync:
      return Ticks(cycles * timing.reference_ticks);
  }
  return {};
}

Cycles reference_cycles(const Timing& timing, Ticks ticks) {
  return Cycles((ticks.count() + timing.reference_ticks - 1) / timing.reference_ticks);
}

double microseconds(const Timing& timing, Ticks ticks) {
  return static_cast<double>(ticks.count()) / timing.tick_ghz / 1000.0;
}

}  // namespace systole::sim
