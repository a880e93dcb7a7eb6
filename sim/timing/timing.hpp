// Microarchitectural parameters of a machine: what instructions and transfers cost. Read from the
// `timing` section of a file in configs/, where every figure has its source and confidence. The
// compiler never sees them.
//
// Base unit of simulated time is the tick (isa/base/units.hpp). Parameters in ns are rounded to
// ticks where they are used; parameters in cycles count the clock of the engine that they belong
// to.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "isa/base/units.hpp"
#include "isa/base/yaml.hpp"
#include "isa/instruction.hpp"

namespace systole::sim {

struct Timing {
  // Clocks.
  double tick_ghz = 5.6;
  int reference_ticks = 4;
  int tensor_ticks = 2;
  int vector_ticks = 5;
  int scalar_ticks = 4;
  int gpsimd_ticks = 4;

  // Tensor engine.
  int multiply_min_cycles = 64;
  int fp32_passes = 2;
  int fp32_cycles_per_column = 2;
  int stationary_columns_per_cycle = 4;
  int stationary_min_cycles = 1;
  bool stationary_background = true;
  int stationary_switch_cycles = 0;
  double multiply_latency_ns = 0;
  double stationary_latency_ns = 0;
  int fp8_columns_per_cycle = 1;
  bool fp32_transpose_single_pass = false;
  double warmup_window_ns = 0;
  int warmup_factor = 1;

  // Vector, Scalar, GpSimd.
  int min_issue_cycles = 64;
  int issue_overhead_cycles = 0;
  double vector_latency_ns = 0;
  double scalar_latency_ns = 0;
  double gpsimd_latency_ns = 0;
  double dependency_ns = 0;
  int gpsimd_start_cycles = 150;
  int gpsimd_partition_reduce_factor = 4;
  int reduce_readout_cycles = 64;
  double table_load_ns = 0;
  int wide_stride_bytes = 16;
  int wide_stride_factor = 2;
  int reciprocal_factor = 8;
  bool vector_performance_modes = false;

  // Ports.
  bool vector_gpsimd_share_sbuf = false;
  bool vector_scalar_share_psum = false;

  // Control.
  double semaphore_ns = 0;
  double control_ns = 0;
  double dma_trigger_ns = 0;

  // DMA and HBM.
  double dma_start_ns = 0;
  double dma_stagger_ns = 0;
  double dma_completion_ns = 0;
  double dma_engine_bytes_per_ns = 0;
  double dma_row_ns = 0;
  double dma_ring_row_ns = 0;
  double dma_two_sided_factor = 1;
  int dma_merge_bytes = 0;
  int dma_merge_rows = 1;
  double dma_transpose_hbm = 1;
  double dma_transpose_sbuf = 1;
  double dma_accumulate = 1;
  double dma_quantum_ns = 500;
  int indirect_row_cycles = 0;
  double short_row_bytes_per_ns = 0;
  int short_row_bytes = 2048;
  double hbm_bytes_per_ns = 0;

  bool operator==(const Timing&) const = default;
};

// Throws Error naming file, line, key and nearest known key; also if the file has no `timing`
// section.
[[nodiscard]] Timing read_timing(const std::string& name_or_file);
[[nodiscard]] Timing parse_timing(const std::string& text, const std::string& file);
[[nodiscard]] std::string print_timing(const Timing& timing);
[[nodiscard]] std::vector<yaml::FieldDescription> describe_timing();

// Whole ticks, rounded to nearest; at least 1 for a positive time.
[[nodiscard]] Ticks ticks_of_ns(const Timing& timing, double ns);
// The one conversion from cycles of an engine to ticks. Sync runs at the reference clock.
[[nodiscard]] Ticks ticks_of_cycles(const Timing& timing, isa::Engine engine, std::int64_t cycles);
// Reference cycles, rounded up, and microseconds of a time.
[[nodiscard]] Cycles reference_cycles(const Timing& timing, Ticks ticks);
[[nodiscard]] double microseconds(const Timing& timing, Ticks ticks);

// Whole reference cycles for the parts of a time, in order: they add up to the reference cycles of their sum.
class WholeCycles {
 public:
  explicit WholeCycles(const Timing& timing) : timing_(timing) {}
  [[nodiscard]] std::int64_t next(Ticks part) {
    const Cycles before = reference_cycles(timing_, passed_);
    passed_ += part;
    return (reference_cycles(timing_, passed_) - before).count();
  }

 private:
  const Timing& timing_;
  Ticks passed_;
};

}  // namespace systole::sim
