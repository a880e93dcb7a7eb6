#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <utility>
#include <vector>

#include "isa/base/yaml.hpp"
#include "sim/report/attribution.hpp"
#include "sim/report/print.hpp"
#include "tests/sim/generator.hpp"

namespace systole::sim {
namespace {

using namespace testing;

Outcome timed(Generator& g, const Inputs& inputs, bool trace = false) {
  Options options;
  options.trace = trace;
  return simulate(g.b.program, g.machine, read_timing("toy"), inputs, options);
}

Outcome timed(Generator& g, bool trace = false) {
  return timed(g, g.inputs(), trace);
}

TEST_CASE("busy and idle of every engine, and the shares of all sources, add up to the total") {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Generator g(seed);
    g.b.program.sources.add({"second", isa::SourceKind::conversion});
    g.generate(40);
    std::size_t i = 0;
    for (auto& stream : g.b.program.streams) {
      for (isa::Instruction& instruction : stream) {
        instruction.source = i++ % 7 == 0 ? isa::SourceId() : isa::SourceId(i % 2);
      }
    }
    const Report report = timed(g).report;
    for (const EngineReport& engine : report.engines) {
      const Ticks idle = std::accumulate(engine.idle.begin(), engine.idle.end(), Ticks(0));
      CHECK((engine.busy + idle).count() == report.total.count());
    }
    Ticks shares = report.unattributed;
    for (const SourceReport& source : report.sources) {
      shares += source.attributed;
    }
    CHECK(shares.count() == report.total.count());
    std::int64_t cycles = report.unattributed_cycles;
    for (const SourceReport& source : report.sources) {
      cycles += source.cycles;
    }
    CHECK(cycles == report.cycles);
    CHECK(report.roofline <= report.total);
    std::int64_t moved = 0;
    for (const RingReport& ring : report.rings) {
      moved += ring.bytes;
    }
    CHECK(moved ==
          report.hbm_read_bytes + report.hbm_written_bytes);  // nothing within HBM or SBUF here
  }
}

TEST_CASE("an instant belongs to the first busy unit, an idle one to what starts next") {
  Attribution a(4);
  a.serve(Attribution::dma_lane, isa::SourceId(0), Ticks(10),
          Ticks(30));                                  // idle before: 10 for source 0
  a.serve(1, isa::SourceId(1), Ticks(20), Ticks(40));  // Vector
  a.serve(0, isa::SourceId(2), Ticks(25), Ticks(35));  // Tensor goes first
  a.serve(2, isa::SourceId(3), Ticks(50), Ticks(55));
  a.finish(Ticks(60));
  CHECK(a.shares()[0] == Ticks(10 + 10));
  CHECK(a.shares()[1] == Ticks(5 + 5));
  CHECK(a.shares()[2] == Ticks(10));
  CHECK(a.shares()[3] == Ticks(10 + 5 + 5));  // waited for, served, and the tail
}

TEST_CASE("same program, same bytes, whatever ran before") {
  Generator g(3);
  g.generate(40);
  Generator other(4);
  other.generate(30);
  const Timing timing = read_timing("toy");
  const Outcome first = timed(g, true);
  (void)timed(other);
  const Outcome second = timed(g, true);
  CHECK(print_yaml(first.report, g.b.program, timing) ==
        print_yaml(second.report, g.b.program, timing));
  CHECK(print_trace(first.trace, g.b.program, timing.tick_ghz) ==
        print_trace(second.trace, g.b.program, timing.tick_ghz));
}

TEST_CASE("a run after a refusal or a deadlock starts from a clean machine") {
  Generator g(5);
  g.generate(40);
  const Inputs inputs = g.inputs();
  const Outcome before = timed(g, inputs);
  Generator broken(6);
  broken.generate(40);
  broken.b.program.streams[1].back().waits.push_back({isa::SemaphoreId(0), 1000});
  CHECK(timed(broken).status == Status::deadlock);
  broken.b.program.streams[1].front().operation =
      isa::Copy{sbuf(isa::DType::f32, 8, 8, 3000), sbuf(isa::DType::f32, 8, 8, 0)};
  CHECK(timed(broken).status == Status::fault);
  const Outcome after = timed(g, inputs);
  CHECK(after.report.total == before.report.total);
  CHECK(after.outputs == before.outputs);
}

TEST_CASE("the YAML report parses, and the trace is JSON with one track per engine and ring") {
  Generator g(7);
  g.generate(40);
  const Outcome outcome = timed(g, true);
  const yaml::Node node =
      yaml::parse_text(print_yaml(outcome.report, g.b.program, read_timing("toy")), "report");
  REQUIRE(node.find("cycles") != nullptr);
  CHECK(node.find("cycles")->text == std::to_string(outcome.report.cycles));
  const auto trace = nlohmann::json::parse(print_trace(outcome.trace, g.b.program, 1.0));
  std::map<int, std::vector<std::pair<double, double>>> slices;
  int arrows = 0;
  int tracks = 0;
  for (const auto& event : trace.at("traceEvents")) {
    if (event.at("ph") == "X") {
      CHECK(event.at("dur").get<double>() >= 0);
      CHECK(event.at("name") == "test");
      const double begin = event.at("ts").get<double>();
      slices[event.at("tid").get<int>()].emplace_back(begin, begin + event.at("dur").get<double>());
    }
    arrows += event.at("ph") == "s" ? 1 : 0;
    tracks += event.at("name") == "thread_name" ? 1 : 0;
  }
  CHECK(tracks >= 6);
  // What viewers drop: slices of a track that neither nest nor are disjoint, arrows that end outside of slices.
  for (const auto& [track, all] : slices) {
    for (std::size_t i = 0; i < all.size(); ++i) {
      for (std::size_t j = 0; j < all.size(); ++j) {
        const bool crossing = all[i].first < all[j].first - 1e-6 &&
                              all[j].first < all[i].second - 1e-6 &&
                              all[i].second < all[j].second - 1e-6;
        CHECK(!crossing);
      }
    }
  }
  for (const auto& event : trace.at("traceEvents")) {
    if (event.at("ph") == "s" || event.at("ph") == "f") {
      const double at = event.at("ts").get<double>();
      const auto& all = slices[event.at("tid").get<int>()];
      CHECK(std::any_of(all.begin(), all.end(), [at](const auto& slice) {
        return slice.first <= at && at < slice.second;
      }));
    }
  }
  CHECK(arrows > 0);
  CHECK(print_table(outcome.report, g.b.program, read_timing("toy")).find("test on toy") == 0);
}

}  // namespace
}  // namespace systole::sim
