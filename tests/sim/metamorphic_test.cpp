// Relations between runs: better hardware is never slower, unrelated work does not interfere, both ends of the scale.
#include <doctest/doctest.h>

#include <functional>
#include <string>

#include "isa/verify.hpp"
#include "sim/simulate.hpp"
#include "sim/validate/kernels.hpp"
#include "sim/validate/matmul.hpp"
#include "sim/validate/validate.hpp"
#include "tests/sim/generator.hpp"

namespace systole::sim {
namespace {

using namespace testing;
using isa::DType;

std::int64_t time_of(const isa::Program& program, const isa::Machine& machine,
                     const Timing& timing) {
  Options options;
  options.values = false;
  const Outcome outcome = simulate(program, machine, timing, {}, options);
  REQUIRE_MESSAGE(outcome.status == Status::done,
                  (outcome.faults.empty() ? "" : outcome.faults[0].text));
  return outcome.report.total.count();
}

struct Improvement {
  std::string name;
  std::function<void(Timing&)> apply;
};

const std::vector<Improvement> improvements{
    {"DMA rate", [](Timing& t) { t.dma_engine_bytes_per_ns *= 2; }},
    {"HBM rate", [](Timing& t) { t.hbm_bytes_per_ns *= 2; }},
    {"row floors", [](Timing& t) { t.dma_row_ns /= 2, t.dma_ring_row_ns /= 2; }},
    {"DMA start", [](Timing& t) { t.dma_start_ns /= 2; }},
    {"DMA completion", [](Timing& t) { t.dma_completion_ns /= 2; }},
    {"semaphores", [](Timing& t) { t.semaphore_ns /= 2; }},
    {"latencies",
     [](Timing& t) {
       t.vector_latency_ns /= 2, t.scalar_latency_ns /= 2, t.multiply_latency_ns /= 2;
     }},
    {"turn-around", [](Timing& t) { t.dependency_ns /= 2; }},
    {"table", [](Timing& t) { t.table_load_ns /= 2; }},
    {"overhead", [](Timing& t) { t.issue_overhead_cycles /= 2; }}};

TEST_CASE("doubling a bandwidth or halving a latency slows no kernel") {
  const Product small{512, 1024, 512, DType::bf16};
  for (const std::string name : {"trn1", "trn2"}) {
    const isa::Machine machine = isa::read_machine(name);
    const Timing timing = read_timing(name);
    const std::vector<isa::Program> programs{streamed_product(small, {1, 1, 4, 8, 1}, machine),
                                             blocked_product(small, {256, 512, 256, 4}, machine),
                                             resident_product(small, {2, 4}, machine),
                                             state_space_scan(128, machine),
                                             optimiser_step(256, 512, machine)};
    for (const isa::Program& program : programs) {
      const std::int64_t before = time_of(program, machine, timing);
      for (const Improvement& improvement : improvements) {
        Timing better = timing;
        improvement.apply(better);
        CAPTURE(improvement.name);
        CAPTURE(program.name);
        CHECK(time_of(program, machine, better) <= before);
      }
    }
  }
}

TEST_CASE(
    "on random programs better hardware is slower by less than an arbitration anomaly, and "
    "rarely") {
  const isa::Machine machine = isa::read_machine("toy");
  const Timing timing = read_timing("toy");
  int slower = 0;
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    Generator g(seed);
    g.generate(40);
    const std::int64_t before = time_of(g.b.program, machine, timing);
    for (const Improvement& improvement : improvements) {
      Timing better = timing;
      improvement.apply(better);
      const std::int64_t after = time_of(g.b.program, machine, better);
      CAPTURE(seed);
      CAPTURE(improvement.name);
      slower += after > before ? 1 : 0;
      // A port or DMA engine that is taken a little earlier by one can make another wait: bounded by one instruction.
      CHECK(after <= before + 64);
    }
  }
  CHECK(slower < 150);  // of 1500
}

TEST_CASE("an independent instruction on another engine delays nobody but through ports") {
  const isa::Machine machine = isa::read_machine("toy");
  const Timing timing = read_timing("toy");
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Generator g(seed);
    g.generate(30);
    const std::int64_t before = time_of(g.b.program, machine, timing);
    isa::Program more = g.b.program;
    isa::Instruction control;
    control.engine = isa::Engine::sync;
    control.operation = isa::Nop{};
    auto& stream = more.streams[static_cast<std::size_t>(isa::Engine::sync)];
    stream.insert(stream.end(), 3, control);
    CHECK(time_of(more, machine, timing) == std::max(before, time_of(more, machine, timing)));
    CHECK(time_of(more, machine, timing) <= before + 3);
  }
}

TEST_CASE("an independent GpSimd instruction delays Vector only where they share SBUF") {
  const isa::Machine trn1 = isa::read_machine("trn1");
  const Timing v2 = read_timing("trn1");
  const isa::Machine trn2 = isa::read_machine("trn2");
  const Timing v3 = read_timing("trn2");
  const auto total = [](const isa::Machine& machine, const Timing& timing, bool other) {
    Builder b(machine);
    for (int i = 0; i < 20; ++i) {
      b.add(isa::Engine::vector, isa::Memset{sbuf(DType::f32, 128, 2000, 0), 1.0F});
    }
    if (other) {
      b.add(isa::Engine::gpsimd, isa::Memset{sbuf(DType::f32, 128, 500, 65536), 1.0F});
    }
    return time_of(b.program, machine, timing);
  };
  CHECK(total(trn1, v2, true) > total(trn1, v2, false));
  CHECK(total(trn2, v3, true) == total(trn2, v3, false));
}

TEST_CASE("a long stream reaches the peak rate, and not more") {
  const isa::Machine machine = isa::read_machine("trn1");
  const Timing timing = read_timing("trn1");
  Builder b(machine);
  const auto ready = b.semaphore();
  b.add(isa::Engine::vector, isa::Memset{sbuf(DType::bf16, 128, 1024, 0), 1.0F}, {}, ready);
  b.add(isa::Engine::tensor, isa::LoadStationary{sbuf(DType::bf16, 128, 128, 0), 0}, {{ready, 1}});
  for (int i = 0; i < 4000; ++i) {
    isa::Multiply multiply;
    multiply.moving = sbuf(DType::bf16, 128, 512, 0);
    multiply.out = psum(128, 512, i % 8 * 2048);
    b.add(isa::Engine::tensor, multiply);
  }
  const std::int64_t ideal = 4000 * 512 * 2;
  const std::int64_t total = time_of(b.program, machine, timing);
  CHECK(total > ideal);
  CHECK(total < ideal * 1.003);
}

TEST_CASE("every published point is within its tolerance") {
  const std::vector<ValidationRow> rows = validate();
  CHECK(rows.size() >= 36);
  for (const ValidationRow& row : rows) {
    CAPTURE(row.id);
    CAPTURE(row.measured);
    CHECK(row.passed);
  }
  CHECK(print_validation(rows).find("FAIL") == std::string::npos);
}

TEST_CASE(
    "one accumulator instead of two costs what was published: 366 against 262 us, 40 % more") {
  const std::vector<ValidationRow> one = validate("N2");
  const std::vector<ValidationRow> two = validate("N3");
  CHECK(one[0].measured / two[0].measured == doctest::Approx(366.0 / 262.0).epsilon(0.05));
}

TEST_CASE("the programs of the published points keep every rule of the machine") {
  const Product p{256, 2048, 512, DType::bf16};
  for (const std::string name : {"trn1", "trn2"}) {
    const isa::Machine machine = isa::read_machine(name);
    std::vector<isa::Program> programs{
        streamed_product(p, {1, 2, 4, 8, 2}, machine),
        streamed_product({512, 1024, 512, DType::bf16}, {4, 2, 1, 8, 1}, machine),
        blocked_product(p, {256, 1024, 256, 4}, machine),
        resident_product(p, {8, 4}, machine),
        shallow_product(2, 256, 1024, machine),
        state_space_scan(384, machine),
        optimiser_step(400, 512, machine)};
    if (machine.transpose_mode) {
      programs.push_back(transposing_product(p, {true, 4, 16}, machine));
      programs.push_back(transposing_product(p, {false, 4, 16}, machine));
    }
    for (const isa::Program& program : programs) {
      CAPTURE(program.name);
      CHECK(isa::verify(program, machine).empty());
      CHECK(time_of(program, machine, read_timing(name)) > 0);  // with checks on
    }
  }
}

}  // namespace
}  // namespace systole::sim
