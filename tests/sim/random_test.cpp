#include <doctest/doctest.h>

#include <array>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

#include "isa/base/error.hpp"
#include "isa/binary.hpp"
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

// The program after some bytes of its container's body were overwritten, or nothing if the reader refuses it.
std::optional<isa::Program> damaged(const isa::Program& program, Random& random) {
  constexpr std::size_t header = 32;
  std::vector<std::byte> bytes = isa::encode(program);
  const auto last = static_cast<std::int64_t>(bytes.size()) - 1;
  for (std::int64_t i = random.integer(1, 3); i > 0; --i) {
    bytes[static_cast<std::size_t>(random.integer(header, last))] = static_cast<std::byte>(
        random.integer(0, 1) == 0 ? random.integer(0, 12) : random.integer(0, 255));
  }
  const std::uint64_t sum = isa::checksum(std::span(bytes).subspan(header));
  std::memcpy(bytes.data() + 24, &sum, sizeof(sum));
  try {
    return isa::decode(bytes, "damaged");
  } catch (const Error&) {
    return std::nullopt;
  }
}

TEST_CASE("a damaged program runs, is refused in words, or blocks; nothing else, in no mode") {
  const Timing timing = read_timing("toy");
  std::array<int, 4> fates{};
  for (std::uint64_t seed = 0; seed < 4000; ++seed) {
    Generator g(seed);
    g.generate(12);
    const Inputs inputs = g.inputs();
    Random random(seed);
    const std::optional<isa::Program> program = damaged(g.b.program, random);
    if (!program) {
      continue;
    }
    CAPTURE(seed);
    for (int mode = 1; mode < 8; ++mode) {
      Options options;
      options.timing = mode % 2 != 0;
      options.checks = mode / 2 % 2 != 0;
      options.values = mode / 4 != 0;
      try {
        const Outcome outcome = simulate(*program, g.machine, timing, inputs, options);
        CHECK((outcome.status == Status::done) == outcome.faults.empty());
        fates[static_cast<std::size_t>(outcome.status)] += 1;
      } catch (const Error& error) {
        CHECK(std::string(error.what()).find('\n') == std::string::npos);
        fates[3] += 1;
      }
    }
  }
  for (const int fate : fates) {
    CHECK(fate > 100);
  }
}

}  // namespace
}  // namespace systole::sim
