#include "sim/report/trace.hpp"

#include <fmt/format.h>

#include <iterator>
#include <set>

namespace systole::sim {
namespace {

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  return out;
}

std::string track_name(int track) {
  return track < isa::engine_count ? std::string(isa::name_of(static_cast<isa::Engine>(track)))
                                   : fmt::format("dma ring {}", track - isa::engine_count);
}

}  // namespace

std::string print_trace(const Trace& trace, const isa::Program& program, double tick_ghz) {
  const auto us = [tick_ghz](Ticks ticks) {
    return static_cast<double>(ticks.count()) / tick_ghz / 1000.0;
  };
  std::string out = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n";
  auto add = std::back_inserter(out);
  fmt::format_to(add, R"({{"ph":"M","pid":1,"name":"process_name","args":{{"name":"{}"}}}})",
                 escaped(program.name));
  std::set<int> tracks;
  for (const TraceSlice& slice : trace.slices) {
    tracks.insert(slice.track);
  }
  for (const int track : tracks) {
    fmt::format_to(add,
                   ",\n"
                   R"({{"ph":"M","pid":1,"tid":{},"name":"thread_name","args":{{"name":"{}"}}}})",
                   track, track_name(track));
    fmt::format_to(
        add,
        ",\n"
        R"({{"ph":"M","pid":1,"tid":{0},"name":"thread_sort_index","args":{{"sort_index":{0}}}}})",
        track);
  }
  for (const TraceSlice& slice : trace.slices) {
    const std::string source = slice.source.valid() && slice.source.index() < program.sources.size()
                                   ? program.sources[slice.source].name
                                   : "";
    fmt::format_to(
        add,
        ",\n"
        R"({{"ph":"X","pid":1,"tid":{},"ts":{:.4f},"dur":{:.4f},"name":"{}","args":{{"operation":"{}","instruction":{}}}}})",
        slice.track, us(slice.begin), us(slice.end - slice.begin),
        escaped(source.empty() ? slice.operation : std::string_view(source)), slice.operation,
        slice.instruction);
  }
  for (std::size_t i = 0; i < trace.flows.size(); ++i) {
    const TraceFlow& flow = trace.flows[i];
    fmt::format_to(
        add,
        ",\n"
        R"({{"ph":"s","pid":1,"tid":{},"ts":{:.4f},"id":{},"name":"signal","cat":"semaphore"}})",
        flow.from_track, us(flow.from), i);
    fmt::format_to(
        add,
        ",\n"
        R"({{"ph":"f","bp":"e","pid":1,"tid":{},"ts":{:.4f},"id":{},"name":"signal","cat":"semaphore"}})",
        flow.to_track, us(flow.to), i);
  }
  out += "\n]}\n";
  return out;
}

}  // namespace systole::sim
