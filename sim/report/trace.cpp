#include "sim/report/trace.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <iterator>
#include <map>
#include <queue>
#include <set>
#include <utility>
#include <vector>

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

// Where each slice is shown to begin, so that those of a track nest or are disjoint.
std::vector<Ticks> shown_begins(const std::vector<TraceSlice>& slices) {
  std::vector<Ticks> begins;
  std::map<int, std::vector<std::size_t>> tracks;
  for (std::size_t i = 0; i < slices.size(); ++i) {
    begins.push_back(slices[i].begin);
    tracks[slices[i].track].push_back(i);
  }
  const auto later = [&begins](std::size_t a, std::size_t b) {
    return begins[a] != begins[b] ? begins[a] > begins[b] : a > b;
  };
  for (auto& [track, members] : tracks) {
    std::priority_queue<std::size_t, std::vector<std::size_t>, decltype(later)> waiting(
        later, std::move(members));
    std::vector<Ticks> open;  // ends of the slices that enclose the next
    while (!waiting.empty()) {
      const std::size_t next = waiting.top();
      waiting.pop();
      while (!open.empty() && open.back() <= begins[next]) {
        open.pop_back();
      }
      if (!open.empty() && slices[next].end > open.back()) {
        begins[next] = open.back();
        waiting.push(next);
      } else {
        open.push_back(slices[next].end);
      }
    }
  }
  return begins;
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
  const std::vector<Ticks> begins = shown_begins(trace.slices);
  std::map<std::pair<int, Ticks>, std::size_t> by_end;
  std::map<std::pair<int, std::int64_t>, std::size_t> by_instruction;
  for (std::size_t i = 0; i < trace.slices.size(); ++i) {
    const TraceSlice& slice = trace.slices[i];
    by_end[{slice.track, slice.end}] = i;
    by_instruction[{slice.track, slice.instruction}] = i;
    const std::string source = slice.source.valid() && slice.source.index() < program.sources.size()
                                   ? program.sources[slice.source].name
                                   : "";
    fmt::format_to(
        add,
        ",\n"
        R"({{"ph":"X","pid":1,"tid":{},"ts":{:.4f},"dur":{:.4f},"name":"{}","args":{{"operation":"{}","instruction":{}{}}}}})",
        slice.track, us(begins[i]), us(slice.end - begins[i]),
        escaped(source.empty() ? slice.operation : std::string_view(source)), slice.operation,
        slice.instruction,
        begins[i] == slice.begin ? "" : fmt::format(R"(,"began":{:.4f})", us(slice.begin)));
  }
  for (std::size_t i = 0; i < trace.flows.size(); ++i) {
    const TraceFlow& flow = trace.flows[i];
    const auto from = by_end.find({flow.from_track, flow.from});
    const auto to = by_instruction.find({flow.to_track, flow.to_instruction});
    if (from == by_end.end() || to == by_instruction.end()) {
      continue;  // the run ended before
    }
    fmt::format_to(
        add,
        ",\n"
        R"({{"ph":"s","pid":1,"tid":{},"ts":{:.4f},"id":{},"name":"signal","cat":"semaphore"}})",
        flow.from_track, us(begins[from->second]), i);
    fmt::format_to(
        add,
        ",\n"
        R"({{"ph":"f","bp":"e","pid":1,"tid":{},"ts":{:.4f},"id":{},"name":"signal","cat":"semaphore"}})",
        flow.to_track, us(begins[to->second]), i);
  }
  out += "\n]}\n";
  return out;
}

}  // namespace systole::sim
