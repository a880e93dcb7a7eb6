// A timeline of a run, as plain values; print_trace writes it in the JSON form that Perfetto and
// chrome://tracing open: one track per engine and DMA ring, an arrow from the signal that released
// an instruction to that instruction.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "isa/base/units.hpp"
#include "isa/program.hpp"

namespace systole::sim {

struct TraceSlice {
  int track = 0;  // engine number, or engine_count + ring
  isa::SourceId source;
  std::string_view operation;  // static storage
  std::int64_t instruction = 0;
  Ticks begin;
  Ticks end;
};

struct TraceFlow {
  int from_track = 0;
  Ticks from;
  int to_track = 0;
  Ticks to;
};

struct Trace {
  std::vector<TraceSlice> slices;
  std::vector<TraceFlow> flows;
};

[[nodiscard]] std::string print_trace(const Trace& trace, const isa::Program& program,
                                      double tick_ghz);

}  // namespace systole::sim
