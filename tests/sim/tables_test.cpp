// The tables behind the checks against lists of single bytes, on random footprints.
#include <doctest/doctest.h>

#include <map>
#include <set>
#include <utility>
#include <vector>

#include "isa/base/random.hpp"
#include "sim/check/clocks.hpp"
#include "sim/check/shadow.hpp"
#include "sim/check/written.hpp"
#include "tests/sim/builder.hpp"

namespace systole::sim {
namespace {

using isa::Engine;

using Byte = std::pair<int, std::int64_t>;  // partition, position

std::vector<Byte> bytes_of(const Footprint& footprint) {
  std::vector<Byte> bytes;
  for_each_block(footprint, 0, [&](std::int64_t from, std::int64_t to) {
    for (int p = 0; p < PartitionSet::capacity; ++p) {
      for (std::int64_t at = from; at < to && partition_range(p, 1).within(footprint.partitions);
           ++at) {
        bytes.emplace_back(p, at);
      }
    }
  });
  return bytes;
}

// Rectangles, strided runs, and sets of partitions with gaps, in 8 partitions of 4096 bytes.
Footprint random_footprint(Random& random) {
  isa::DmaAccess access;
  access.space = isa::Space::sbuf;
  access.dtype = isa::DType::u8;
  const auto pick = [&random](std::int64_t low, std::int64_t high) {
    return static_cast<std::int32_t>(random.integer(low, high));
  };
  const bool gaps = random.integer(0, 4) == 0;
  access.partition = static_cast<std::int16_t>(pick(0, 3));
  access.dims[0] = {gaps ? 2 : 1, gaps ? 2 : pick(1, 4), true};
  const int kind = pick(0, 3);
  const std::int32_t run = kind == 0 ? 1024 : 256 * pick(1, 4);
  if (kind < 2) {
    access.rank = 2;
    access.dims[1] = {1, run, false};
    access.offset = kind == 0 ? 1024 * pick(0, 3) : 256 * pick(0, 12);
  } else {
    access.rank = 3;
    access.dims[1] = {kind == 2 ? 96 : 600, pick(2, 5), false};
    access.dims[2] = {1, kind == 2 ? 32 : pick(1, 600), false};
    access.offset = 32 * pick(0, 30);
  }
  return footprint_of(access);
}

TEST_CASE("the set of written bytes holds what was added and not removed, whatever the pieces") {
  int yes = 0;
  int no = 0;
  for (std::uint64_t seed = 0; seed < 120; ++seed) {
    Random random(seed);
    WrittenSet set(4096);
    std::set<Byte> expected;
    for (int step = 0; step < 60; ++step) {
      const Footprint footprint = random_footprint(random);
      const std::vector<Byte> bytes = bytes_of(footprint);
      const std::int64_t action = random.integer(0, 9);
      if (action < 5) {
        set.add(footprint);
        expected.insert(bytes.begin(), bytes.end());
      } else if (action < 6) {
        set.remove(footprint);
        for (const Byte& byte : bytes) {
          expected.erase(byte);
        }
      } else {
        bool all = true;
        for (const Byte& byte : bytes) {
          all = all && expected.count(byte) == 1;
        }
        REQUIRE(set.contains(footprint) == all);
        ++(all ? yes : no);
      }
    }
  }
  CHECK(yes > 300);
  CHECK(no > 300);
}

TEST_CASE("the written bytes of a tensor are those that were added") {
  int yes = 0;
  int no = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    Random random(seed);
    const std::int64_t size = 9000;
    WrittenBytes written(size);
    std::vector<bool> expected(static_cast<std::size_t>(size), false);
    for (int step = 0; step < 60; ++step) {
      isa::DmaAccess access;
      access.dtype = isa::DType::u8;
      access.rank = 2;
      const auto run = static_cast<std::int32_t>(random.integer(1, 3000));
      access.dims[1] = {1, run, false};
      access.dims[0] = {run + random.integer(0, 900),
                        static_cast<std::int32_t>(random.integer(1, 2)), false};
      access.offset = random.integer(0, size - 1);
      const Footprint footprint = footprint_of(access);
      if (footprint.end > size) {
        continue;
      }
      const bool adds = random.integer(0, 1) == 0;
      bool all = true;
      for (const auto& [partition, at] : bytes_of(footprint)) {
        all = all && expected[static_cast<std::size_t>(at)];
        if (adds) {
          expected[static_cast<std::size_t>(at)] = true;
        }
      }
      if (adds) {
        written.add(footprint);
      } else {
        REQUIRE(written.contains(footprint) == all);
        ++(all ? yes : no);
      }
      REQUIRE(written.all() ==
              (std::find(expected.begin(), expected.end(), false) == expected.end()));
    }
  }
  CHECK(yes > 200);
  CHECK(no > 200);
}

// ---- Races: every access is judged against all earlier ones, byte by byte, with an order that is computed anew from the
// definition: program order of an engine, a transfer after the earlier instructions of its engine, and n signals before a
// wait for n.

struct Step {
  Engine engine = Engine::vector;
  bool transfer = false;
  std::vector<std::pair<Footprint, bool>> touches;
};

class Oracle {
 public:
  // Instruction `index` of the program's order; `before`: those that happen before it.
  void add(const Step& step, std::set<std::size_t> before) {
    steps_.push_back(step);
    before_.push_back(std::move(before));
  }
  [[nodiscard]] const std::set<std::size_t>& before(std::size_t index) const {
    return before_[index];
  }
  // Does the last one race with an earlier one?
  [[nodiscard]] bool races() const {
    const std::size_t last = steps_.size() - 1;
    for (std::size_t i = 0; i < last; ++i) {
      if (before_[last].count(i) == 0 && conflict(steps_[i], steps_[last])) {
        return true;
      }
    }
    return false;
  }

 private:
  static bool conflict(const Step& a, const Step& b) {
    for (const auto& [first, writes] : a.touches) {
      const std::vector<Byte> bytes = bytes_of(first);
      const std::set<Byte> touched(bytes.begin(), bytes.end());
      for (const auto& [second, also] : b.touches) {
        if (!writes && !also) {
          continue;
        }
        for (const Byte& byte : bytes_of(second)) {
          if (touched.count(byte) == 1) {
            return true;
          }
        }
      }
    }
    return false;
  }
  std::vector<Step> steps_;
  std::vector<std::set<std::size_t>> before_;
};

// One program: instructions in the order in which they start. Every semaphore is signalled by one engine or ring.
struct Run {
  int accepted = 0;
  bool raced = false;
};

Run run(std::uint64_t seed, int order) {
  Random random(seed);
  constexpr int length = 60;
  constexpr int engines = 4;  // vector, scalar, gpsimd, sync; sync triggers transfers on ring 0
  isa::Program program;
  program.semaphores = engines;
  std::vector<Step> steps;
  std::vector<std::vector<std::size_t>> signalled(engines);  // steps, per semaphore
  std::array<std::vector<std::size_t>, engines> of_engine;
  Oracle oracle;
  std::vector<std::set<std::size_t>> orders;
  for (std::size_t i = 0; i < length; ++i) {
    Step step;
    const auto e = static_cast<std::size_t>(random.integer(0, engines - 1));
    step.engine = static_cast<Engine>(1 + e);
    step.transfer = step.engine == Engine::sync;
    for (std::int64_t k = random.integer(1, 2); k > 0; --k) {
      step.touches.emplace_back(random_footprint(random), k == 1);
    }
    isa::Instruction instruction;
    instruction.engine = step.engine;
    instruction.operation = isa::Nop{};
    if (step.transfer) {
      instruction.operation = isa::Dma{};
    }
    std::set<std::size_t> before;
    for (const std::size_t earlier : of_engine[e]) {
      const std::set<std::size_t>& more = orders[earlier];
      before.insert(more.begin(), more.end());
      if (!step.transfer) {
        before.insert(earlier);
      }
    }
    for (std::size_t s = 0; s < engines; ++s) {
      if (random.integer(0, 9) < order && !signalled[s].empty()) {
        const std::int64_t n =
            random.integer(0, 3) > 0
                ? static_cast<std::int64_t>(signalled[s].size())
                : random.integer(1, static_cast<std::int64_t>(signalled[s].size()));
        instruction.waits.push_back({isa::SemaphoreId(s), static_cast<std::int32_t>(n)});
        for (std::int64_t k = 0; k < n; ++k) {
          const std::size_t cause = signalled[s][static_cast<std::size_t>(k)];
          before.insert(orders[cause].begin(), orders[cause].end());
          before.insert(cause);
        }
      }
    }
    instruction.signal = isa::SemaphoreId(e);
    signalled[e].push_back(i);
    of_engine[e].push_back(i);
    orders.push_back(before);
    steps.push_back(step);
    oracle.add(step, std::move(before));
    program.streams[static_cast<std::size_t>(step.engine)].push_back(std::move(instruction));
    if (oracle.races()) {
      break;  // the machine stops here
    }
  }

  Clocks clocks(program, 1);
  Shadow shadow(4096, 512);
  std::array<std::size_t, isa::engine_count> next{};
  Run result;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const auto e = static_cast<std::size_t>(steps[i].engine);
    const isa::Instruction& instruction = program.streams[e][next[e]];
    const Stamp stamp = clocks.start(steps[i].engine, instruction);
    bool race = false;
    for (const auto& [footprint, writes] : steps[i].touches) {
      const Access access{steps[i].engine, writes, static_cast<std::uint32_t>(next[e]), stamp};
      race = race || shadow.enter(access, footprint, clocks) != nullptr;
    }
    ++next[e];
    clocks.signal(steps[i].engine, instruction.signal, stamp);
    result.raced = race;
    result.accepted += race ? 0 : 1;
    if (race) {
      break;
    }
  }
  // The last step is the first that races, if any does; all others must be accepted.
  REQUIRE(result.accepted >= static_cast<int>(steps.size()) - 1);
  REQUIRE(result.raced == oracle.races());
  return result;
}

TEST_CASE("races are found at the first access that has one, and nowhere else") {
  int raced = 0;
  int longest = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    for (const int order : {5, 9, 10}) {
      const Run result = run(seed, order);
      raced += result.raced ? 1 : 0;
      longest = std::max(longest, result.accepted);
    }
  }
  CHECK(raced > 400);
  CHECK(raced < 1200);
  CHECK(longest == 60);
}

}  // namespace
}  // namespace systole::sim
