// A timeline of a run, as plain values; print_trace writes it in the JSON form that Perfetto and
// chrome://tracing open: one track per engine and DMA ring, an arrow from the signal that released
// an instruction to that instruction. Both viewers drop slices that overlap on a track without nesting, and arrows
// whose ends lie in no slice: a slice that begins within one that it outlasts is shown from that one's end on (its true
// begin stands in its arguments), and arrows start and end at the begin of their slices.
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

// From the slice of a track that ends at `from` to the slice of an instruction.
struct TraceFlow {
  int from_track = 0;
  Ticks from;
  int to_track = 0;
  std::int64_t to_instruction = 0;
};

struct Trace {
  std::vector<TraceSlice> slices;
  std::vector<TraceFlow> flows;
};

[[nodiscard]] std::string print_trace(const Trace& trace, const isa::Program& program,
                                      double tick_ghz);

}  // namespace systole::sim
