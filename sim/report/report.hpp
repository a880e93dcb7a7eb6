// What a simulation measured. Times are ticks inside; the text forms give reference cycles and
// microseconds.
//
// Busy time of an engine: the time in which elements stream through it. Everything else up to the
// end of the program is idle, split by what the engine waited for; busy and idle add up to the
// total for every engine.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "isa/base/units.hpp"
#include "isa/instruction.hpp"
#include "isa/program.hpp"

namespace systole::sim {

enum class Stall : std::uint8_t {
  dma,         // a semaphore that a transfer raised last
  semaphore,   // a semaphore that another engine raised last
  dependency,  // the result of its own previous instruction
  port,        // SBUF or PSUM port held by another engine
  bank,        // PSUM bank in use by another engine
  table,       // Scalar's function table being loaded
  issue,       // fixed cost between instructions, triggers and control instructions
  finished     // its stream has ended
};
inline constexpr int stall_count = 8;
[[nodiscard]] std::string_view name_of(Stall stall);

struct EngineReport {
  std::int64_t instructions = 0;
  Ticks busy;
  std::array<Ticks, stall_count> idle{};
};

struct RingReport {
  std::int64_t transfers = 0;
  std::int64_t bytes = 0;
  std::int64_t rows = 0;  // descriptors, after merging
};

// Work of one source; `attributed` follows the rule of report/attribution.hpp and sums to the total
// over all sources plus `unattributed`.
struct SourceReport {
  Ticks attributed;
  std::int64_t cycles =
      0;       // attributed, in whole cycles of the reference clock that add up to the total's
  Ticks busy;  // on all engines together
  std::int64_t instructions = 0;
  std::int64_t dma_bytes = 0;
};

struct SemaphoreStall {
  isa::Engine engine = isa::Engine::sync;
  isa::SemaphoreId semaphore;
  Ticks waited;
  bool operator==(const SemaphoreStall&) const = default;
};

struct Report {
  std::string program;
  std::string machine;
  Ticks total;
  std::int64_t cycles = 0;  // of the reference clock
  double microseconds = 0;
  std::array<EngineReport, isa::engine_count> engines{};
  std::vector<RingReport> rings;
  Ticks dma_busy;         // at least one DMA engine moves data
  Ticks dma_engine_busy;  // summed over the DMA engines
  std::int64_t hbm_read_bytes = 0;
  std::int64_t hbm_written_bytes = 0;
  std::int64_t onchip_dma_bytes = 0;  // SBUF to SBUF
  std::int64_t multiply_accumulates = 0;
  std::vector<SourceReport> sources;  // by source id
  Ticks unattributed;
  std::int64_t unattributed_cycles = 0;
  std::vector<SemaphoreStall> semaphore_stalls;  // the longest first, at most 16

  // Baselines.
  Ticks peak_bound;       // multiply-accumulates at the array's peak
  Ticks bandwidth_bound;  // HBM bytes at the HBM's bandwidth
  Ticks roofline;  // the largest of the engines' busy times and the DMA engines' mean busy time
  double utilisation = 0;  // multiply-accumulates per cycle over the array's peak
};

}  // namespace systole::sim
