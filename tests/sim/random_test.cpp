#include <doctest/doctest.h>

#include "isa/verify.hpp"
#include "tests/sim/generator.hpp"

namespace systole::sim {
namespace {

using namespace testing;

Outcome run(Generator& g, const Inputs& inputs, const Timing& timing, bool timed) {
  Options options;
  options.timing = timed;
  return simulate(g.b.program, g.machine, timing, inputs, options);
}

TEST_CASE("10,000 random valid programs neither fault nor deadlock, and time changes no value") {
  const Timing timing = read_timing("toy");
  std::int64_t instructions = 0;
  for (std::uint64_t seed = 0; seed < 10000; ++seed) {
    Generator g(seed);
    g.generate(12 + static_cast<int>(seed % 30));
    const Inputs inputs = g.inputs();
    const Outcome plain = run(g, inputs, timing, false);
    const Outcome timed = run(g, inputs, timing, true);
    CAPTURE(seed);
    REQUIRE_MESSAGE(plain.status == Status::done,
                    (plain.faults.empty() ? "" : plain.faults[0].text));
    REQUIRE_MESSAGE(timed.status == Status::done,
                    (timed.faults.empty() ? "" : timed.faults[0].text));
    REQUIRE(plain.outputs == timed.outputs);
    for (const auto& engine : timed.report.engines) {
      instructions += engine.instructions;
    }
    if (seed % 500 == 0) {
      CHECK(isa::verify(g.b.program, g.machine).empty());
    }
  }
  CHECK(instructions > 200000);
}

TEST_CASE(
    "a program without one of its waits is refused, or the wait was implied by others and no value "
    "changes") {
  const Timing timing = read_timing("toy");
  int refused = 0;
  int implied = 0;
  for (std::uint64_t seed = 0; seed < 1500; ++seed) {
    Generator g(seed);
    g.generate(25);
    const Inputs inputs = g.inputs();
    const Outcome before = run(g, inputs, timing, true);
    Random random(seed);
    std::vector<std::pair<std::size_t, std::size_t>> waiting;
    for (std::size_t e = 0; e < g.b.program.streams.size(); ++e) {
      for (std::size_t i = 0; i < g.b.program.streams[e].size(); ++i) {
        if (!g.b.program.streams[e][i].waits.empty()) {
          waiting.emplace_back(e, i);
        }
      }
    }
    if (waiting.empty()) {
      continue;
    }
    const auto [e, i] = waiting[static_cast<std::size_t>(
        random.integer(0, static_cast<std::int64_t>(waiting.size()) - 1))];
    auto& waits = g.b.program.streams[e][i].waits;
    std::vector<isa::SemaphoreWait> fewer(waits.begin(), waits.end());
    fewer.erase(fewer.begin() + random.integer(0, static_cast<std::int64_t>(fewer.size()) - 1));
    waits = fewer;
    CAPTURE(seed);
    const Outcome plain = run(g, inputs, timing, false);
    const Outcome timed = run(g, inputs, timing, true);
    CHECK(plain.status == timed.status);
    if (timed.status == Status::done) {
      ++implied;
      CHECK(timed.outputs == before.outputs);
      CHECK(plain.outputs == before.outputs);
    } else {
      ++refused;
      CHECK(timed.status == Status::fault);
      CHECK((timed.faults[0].kind == FaultKind::race ||
             timed.faults[0].kind == FaultKind::uninitialised ||
             timed.faults[0].kind == FaultKind::unstarted_accumulation));
    }
  }
  CHECK(refused > 300);
  CHECK(implied > 100);
}

}  // namespace
}  // namespace systole::sim
