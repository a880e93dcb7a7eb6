// Refusals: each program is valid but for one thing.
#include <doctest/doctest.h>

#include "isa/base/error.hpp"
#include "isa/base/random.hpp"
#include "sim/check/footprint.hpp"
#include "sim/simulate.hpp"
#include "tests/sim/builder.hpp"

namespace systole::sim {
namespace {

using namespace testing;
using isa::DType;
using isa::Engine;

Outcome run(const Builder& b, const isa::Machine& machine, bool timed, const Inputs& inputs = {}) {
  Options options;
  options.timing = timed;
  options.values = !inputs.arrays.empty() || b.program.tensors.empty();
  return simulate(b.program, machine, read_timing(machine.name), inputs, options);
}

// The same refusal with and without time.
void expect_refusal(const Builder& b, FaultKind kind, Engine engine, std::size_t instruction,
                    const std::string& part) {
  const isa::Machine machine = isa::read_machine("toy");
  for (const bool timed : {false, true}) {
    const Outcome outcome = run(b, machine, timed);
    CHECK(outcome.status == (kind == FaultKind::deadlock ? Status::deadlock : Status::fault));
    REQUIRE(!outcome.faults.empty());
    const Fault& fault = outcome.faults.front();
    CHECK(fault.kind == kind);
    CHECK(fault.engine == engine);
    CHECK(fault.instruction == instruction);
    CHECK(fault.text.find(part) != std::string::npos);
    CHECK(fault.text.find("of test") != std::string::npos);  // the source operator
    CHECK(fault.text.find(std::string(isa::name_of(engine))) != std::string::npos);
  }
}

void expect_accepted(const Builder& b) {
  const isa::Machine machine = isa::read_machine("toy");
  for (const bool timed : {false, true}) {
    const Outcome outcome = run(b, machine, timed);
    CHECK(outcome.status == Status::done);
    CHECK(outcome.faults.empty());
  }
}

isa::Copy copy(int from, int to, int n = 8) {
  return {sbuf(DType::f32, 8, n, from), sbuf(DType::f32, 8, n, to)};
}

TEST_CASE("a read of bytes never written is refused, down to the byte") {
  const isa::Machine machine = isa::read_machine("toy");
  Builder good(machine);
  good.add(Engine::vector, isa::Memset{sbuf(DType::f32, 8, 8, 0), 1.0F});
  good.add(Engine::vector, copy(0, 256));
  expect_accepted(good);

  Builder beyond(machine);
  beyond.add(Engine::vector, isa::Memset{sbuf(DType::f32, 8, 8, 0), 1.0F});
  beyond.add(Engine::vector, copy(4, 256));  // the last element was never written
  expect_refusal(beyond, FaultKind::uninitialised, Engine::vector, 1, "ever written");

  Builder partition(machine);
  partition.add(Engine::vector, isa::Memset{sbuf(DType::f32, 7, 8, 0), 1.0F});
  partition.add(Engine::vector, copy(0, 256));  // partition 7 was never written
  expect_refusal(partition, FaultKind::uninitialised, Engine::vector, 1, "ever written");
}

TEST_CASE("interleaved strided writes together initialise what they cover, and nothing else") {
  const isa::Machine machine = isa::read_machine("toy");
  isa::Access even = sbuf(DType::f32, 8, 8, 0);
  even.dims[0].stride = 2;
  isa::Access odd = even;
  odd.offset = 4;
  Builder both(machine);
  both.add(Engine::vector, isa::Memset{even, 1.0F});
  both.add(Engine::vector, isa::Memset{odd, 1.0F});
  both.add(Engine::vector, copy(0, 256, 16));
  expect_accepted(both);
  Builder one(machine);
  one.add(Engine::vector, isa::Memset{even, 1.0F});
  one.add(Engine::vector, isa::Copy{even, sbuf(DType::f32, 8, 8, 256)});
  one.add(Engine::vector, copy(0, 512, 16));
  expect_refusal(one, FaultKind::uninitialised, Engine::vector, 2, "ever written");
}

TEST_CASE("two engines on the same bytes need a semaphore between them: write then read") {
  const isa::Machine machine = isa::read_machine("toy");
  for (const bool ordered : {true, false}) {
    Builder b(machine);
    const auto done = b.semaphore();
    b.add(Engine::vector, isa::Memset{sbuf(DType::f32, 8, 8, 0), 1.0F});
    b.add(Engine::vector, isa::Memset{sbuf(DType::f32, 8, 8, 64), 1.0F}, {}, done);
    b.add(Engine::gpsimd, isa::Nop{}, {{done, ordered ? 1 : 0}});
    b.add(Engine::gpsimd, isa::Memset{sbuf(DType::f32, 8, 8, 0), 2.0F});
    if (ordered) {
      expect_accepted(b);
    } else {
      const isa::Machine toy = isa::read_machine("toy");
      for (const bool timed : {false, true}) {
        const Outcome outcome = run(b, toy, timed);
        REQUIRE(outcome.status == Status::fault);
        CHECK(outcome.faults.front().kind == FaultKind::race);
        CHECK(outcome.faults.front().text.find("no semaphore orders them") != std::string::npos);
      }
    }
  }
}

TEST_CASE("overwriting what another engine may still read is a race") {
  const isa::Machine machine = isa::read_machine("toy");
  for (const bool ordered : {true, false}) {
    Builder b(machine);
    const auto written = b.semaphore();
    const auto read = b.semaphore();
    b.add(Engine::vector, isa::Memset{sbuf(DType::f32, 8, 8, 0), 1.0F}, {}, written);
    isa::Activation use;
    use.in = sbuf(DType::f32, 8, 8, 0);
    use.out = sbuf(DType::f32, 8, 8, 64);
    b.add(Engine::scalar, use, {{written, 1}}, read);
    b.add(Engine::vector, isa::Memset{sbuf(DType::f32, 8, 8, 0), 2.0F},
          ordered ? std::vector<isa::SemaphoreWait>{{read, 1}} : std::vector<isa::SemaphoreWait>{});
    if (ordered) {
      expect_accepted(b);
    } else {
      const Outcome outcome = run(b, machine, true);
      REQUIRE(outcome.status == Status::fault);
      CHECK(outcome.faults.front().kind == FaultKind::race);
    }
  }
}

TEST_CASE("interleaved bytes of two engines do not race; one shared byte does") {
  const isa::Machine machine = isa::read_machine("toy");
  isa::Access even = sbuf(DType::f32, 8, 8, 0);
  even.dims[0].stride = 2;
  for (const int offset : {4, 6}) {
    Builder b(machine);
    isa::Access other = even;
    other.offset = offset;
    other.dtype = DType::f32;
    b.add(Engine::vector, isa::Memset{even, 1.0F});
    b.add(Engine::gpsimd, isa::Memset{other, 1.0F});
    const Outcome outcome = run(b, machine, true);
    CHECK(outcome.status == (offset == 4 ? Status::done : Status::fault));
  }
}

TEST_CASE("order passes through a third engine") {
  const isa::Machine machine = isa::read_machine("toy");
  Builder b(machine);
  const auto first = b.semaphore();
  const auto second = b.semaphore();
  b.add(Engine::vector, isa::Memset{sbuf(DType::f32, 8, 8, 0), 1.0F}, {}, first);
  b.add(Engine::sync, isa::Nop{}, {{first, 1}}, second);
  b.add(Engine::gpsimd, copy(0, 64), {{second, 1}});
  expect_accepted(b);
}

TEST_CASE(
    "a transfer's data is there only after its semaphore; another transfer of the ring does not "
    "help") {
  const isa::Machine machine = isa::read_machine("toy");
  for (const int at_least : {1, 2}) {
    Builder b(machine);
    const auto x = b.tensor("x", isa::Role::input, DType::f32, {8, 8});
    const auto loaded = b.semaphore();
    b.load(x, DType::f32, 8, 8, 0, loaded);
    b.load(x, DType::f32, 8, 8, 64, loaded);
    b.add(Engine::vector, copy(64, 256), {{loaded, at_least}});
    const Outcome outcome = run(b, machine, true);
    CHECK(outcome.status == (at_least == 2 ? Status::done : Status::fault));
    if (at_least == 1) {
      CHECK(outcome.faults.front().kind == FaultKind::race);
      CHECK(outcome.faults.front().text.find("sync instruction 1 (dma) of test writes") !=
            std::string::npos);
    }
  }
}

TEST_CASE(
    "a store must wait for the engine that produces its data, on its own engine program order is "
    "enough") {
  const isa::Machine machine = isa::read_machine("toy");
  for (const int kind : {0, 1, 2}) {
    Builder b(machine);
    const auto y = b.tensor("y", isa::Role::output, DType::f32, {8, 8});
    const auto done = b.semaphore();
    b.add(Engine::vector, isa::Memset{sbuf(DType::f32, 8, 8, 0), 1.0F}, {}, done);
    std::vector<isa::SemaphoreWait> waits;
    if (kind == 1) {
      waits.push_back({done, 1});
    }
    b.store(y, DType::f32, 8, 8, 0, waits, {}, kind == 2 ? Engine::vector : Engine::sync);
    const Outcome outcome = run(b, machine, true);
    CHECK(outcome.status == (kind == 0 ? Status::fault : Status::done));
  }
}

TEST_CASE("an output that nobody wrote is refused") {
  const isa::Machine machine = isa::read_machine("toy");
  Builder b(machine);
  (void)b.tensor("y", isa::Role::output, DType::f32, {8, 8});
  const Outcome outcome = run(b, machine, true);
  REQUIRE(outcome.status == Status::fault);
  CHECK(outcome.faults.front().text.find("output y") != std::string::npos);
}

Builder accumulation(const isa::Machine& machine, bool first_accumulates, bool evicted_between) {
  Builder b(machine);
  const auto ready = b.semaphore();
  const auto multiplied = b.semaphore();
  const auto cleared = b.semaphore();
  b.add(Engine::vector, isa::Memset{sbuf(DType::f32, 8, 16, 0), 1.0F}, {}, ready);
  b.add(Engine::tensor, isa::LoadStationary{sbuf(DType::f32, 8, 8, 0), 0}, {{ready, 1}});
  isa::Multiply multiply;
  multiply.moving = sbuf(DType::f32, 8, 8, 32);
  multiply.out = psum(8, 8);
  multiply.accumulate = first_accumulates;
  b.add(Engine::tensor, multiply, {}, multiplied);
  if (evicted_between) {
    b.add(Engine::vector, isa::Memset{psum(8, 8), 0.0F}, {{multiplied, 1}}, cleared);
  }
  multiply.accumulate = true;
  b.add(Engine::tensor, multiply,
        evicted_between ? std::vector<isa::SemaphoreWait>{{cleared, 1}}
                        : std::vector<isa::SemaphoreWait>{});
  return b;
}

TEST_CASE("accumulation needs a multiply that started the same bytes") {
  const isa::Machine machine = isa::read_machine("toy");
  expect_accepted(accumulation(machine, false, false));
  expect_refusal(accumulation(machine, true, false), FaultKind::unstarted_accumulation,
                 Engine::tensor, 1, "no multiply has started");
  expect_refusal(accumulation(machine, false, true), FaultKind::unstarted_accumulation,
                 Engine::tensor, 2, "no multiply has started");
}

TEST_CASE("multiplying with weights never loaded is refused") {
  const isa::Machine machine = isa::read_machine("toy");
  Builder b(machine);
  const auto ready = b.semaphore();
  b.add(Engine::vector, isa::Memset{sbuf(DType::f32, 8, 16, 0), 1.0F}, {}, ready);
  b.add(Engine::tensor, isa::LoadStationary{sbuf(DType::f32, 8, 7, 0), 0}, {{ready, 1}});
  isa::Multiply multiply;
  multiply.moving = sbuf(DType::f32, 8, 8, 32);
  multiply.out = psum(8, 8);
  b.add(Engine::tensor, multiply);
  expect_refusal(b, FaultKind::uninitialised, Engine::tensor, 1, "weights");
}

TEST_CASE("an operand outside its memory is refused with its limit") {
  const isa::Machine machine = isa::read_machine("toy");
  Builder bytes(machine);
  bytes.add(Engine::vector, isa::Memset{sbuf(DType::f32, 8, 8, 4096 - 28), 1.0F});
  expect_refusal(bytes, FaultKind::out_of_range, Engine::vector, 0, "partition of 4096 bytes");
  Builder partitions(machine);
  partitions.add(Engine::vector, isa::Memset{sbuf(DType::f32, 8, 8, 0, 1), 1.0F});
  expect_refusal(partitions, FaultKind::out_of_range, Engine::vector, 0, "partitions 1 to 8 of 8");
  Builder bank(machine);
  bank.add(Engine::tensor, isa::Nop{});
  isa::Multiply multiply;
  multiply.moving = sbuf(DType::f32, 8, 8, 0);
  multiply.out = psum(8, 8, 48);
  bank.add(Engine::tensor, multiply);
  expect_refusal(bank, FaultKind::out_of_range, Engine::tensor, 1, "PSUM bank");
  Builder shapes(machine);
  shapes.add(Engine::vector, isa::Copy{sbuf(DType::f32, 8, 8, 0), sbuf(DType::f32, 8, 9, 256)});
  expect_refusal(shapes, FaultKind::out_of_range, Engine::vector, 0, "differ");
}

TEST_CASE("a deadlock names every blocked instruction, its semaphore and the value it has") {
  const isa::Machine machine = isa::read_machine("toy");
  Builder b(machine);
  const auto a = b.semaphore();
  const auto c = b.semaphore();
  b.add(Engine::vector, isa::Nop{}, {}, a);
  b.add(Engine::vector, isa::Nop{}, {{c, 1}}, a);
  b.add(Engine::scalar, isa::Nop{}, {{a, 2}}, c);
  for (const bool timed : {false, true}) {
    const Outcome outcome = run(b, machine, timed);
    CHECK(outcome.status == Status::deadlock);
    REQUIRE(outcome.faults.size() == 2);
    CHECK(outcome.faults[0].text ==
          "deadlock: vector instruction 1 (nop) of test: waits for semaphore 1 to reach 1, its "
          "value is 0");
    CHECK(outcome.faults[1].text ==
          "deadlock: scalar instruction 0 (nop) of test: waits for semaphore 0 to reach 2, its "
          "value is 1");
  }
}

// Two scatters of one row each into a table, by indices in SBUF, on rings that nothing orders; then a gather of one row.
Outcome scattered(int first, int second, int gathered, bool values) {
  const isa::Machine machine = isa::read_machine("toy");
  Builder b(machine);
  const isa::TensorId table = b.tensor("table", isa::Role::scratch, DType::f32, {4, 8});
  const auto ready = b.semaphore();
  const auto moved = b.semaphore();
  b.add(Engine::vector, isa::Memset{sbuf(DType::f32, 1, 8, 0), 1.0F}, {}, ready);
  const std::vector<int> chosen{first, second, gathered};
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    isa::DmaIndirect transfer;
    transfer.index = sbuf(DType::i32, 1, 1, 256 + 4 * static_cast<int>(i));
    transfer.index.rank = 0;
    b.add(Engine::vector, isa::Memset{transfer.index, static_cast<float>(chosen[i])}, {}, ready);
    transfer.table.space = isa::Space::hbm;
    transfer.table.tensor = table;
    transfer.table.rank = 1;
    transfer.table.dims[0] = {1, 8, false};
    transfer.scatter = i < 2;
    transfer.rows_side = Builder::sbuf_rows(DType::f32, 1, 8, transfer.scatter ? 0 : 64);
    transfer.row_stride = 8;
    transfer.bound = 3;
    transfer.ring = static_cast<std::uint8_t>(i);
    b.add(Engine::gpsimd, transfer, {{ready, 4}, {moved, transfer.scatter ? 0 : 2}}, moved);
  }
  Options options;
  options.values = values;
  return simulate(b.program, machine, read_timing("toy"), {}, options);
}

TEST_CASE("with values, an indirect transfer touches the rows that it selects, and no others") {
  CHECK(scattered(1, 2, 2, true).status == Status::done);
  const Outcome same = scattered(2, 2, 2, true);
  REQUIRE(same.status == Status::fault);
  CHECK(same.faults.front().kind == FaultKind::race);
  const Outcome unwritten = scattered(1, 2, 0, true);
  REQUIRE(unwritten.status == Status::fault);
  CHECK(unwritten.faults.front().kind == FaultKind::uninitialised);
}

TEST_CASE("for time alone, an indirect transfer may touch every row") {
  const Outcome outcome = scattered(1, 2, 2, false);
  REQUIRE(outcome.status == Status::fault);
  CHECK(outcome.faults.front().kind == FaultKind::race);
}

TEST_CASE("checks can be switched off") {
  const isa::Machine machine = isa::read_machine("toy");
  Builder b(machine);
  b.add(Engine::vector, copy(0, 256));
  Options options;
  options.checks = false;
  CHECK(simulate(b.program, machine, read_timing("toy"), {}, options).status == Status::done);
}

TEST_CASE("a program of another machine, a missing or unknown input are the user's mistakes") {
  const isa::Machine toy = isa::read_machine("toy");
  Builder b(toy);
  const auto x = b.tensor("x", isa::Role::input, DType::f32, {8, 8});
  b.load(x, DType::f32, 8, 8, 0, {});
  CHECK_THROWS_AS((void)simulate(b.program, isa::read_machine("trn1"), read_timing("trn1"), {}),
                  Error);
  CHECK_THROWS_AS((void)simulate(b.program, toy, read_timing("toy"), {}), Error);
  Inputs inputs;
  inputs.arrays["x"] = std::vector<std::byte>(256);
  inputs.arrays["z"] = std::vector<std::byte>(256);
  CHECK_THROWS_AS((void)simulate(b.program, toy, read_timing("toy"), inputs), Error);
  b.program.streams[0].push_back({});
  b.program.streams[0].back().signal = isa::SemaphoreId(99);
  inputs.arrays.erase("z");
  CHECK_THROWS_AS((void)simulate(b.program, toy, read_timing("toy"), inputs), Error);
}

TEST_CASE("checks reach the partitions of a larger machine, to the partition") {
  isa::Machine machine = isa::read_machine("trn1");
  machine.partitions = machine.array_rows = machine.array_columns = 256;
  for (const int partition : {191, 192, 255}) {
    Builder b(machine);
    b.add(Engine::vector, isa::Memset{sbuf(DType::f32, 192, 8, 0), 1.0F});
    isa::Dma dma;
    dma.source = Builder::sbuf_rows(DType::f32, 1, 8, 0, partition);
    dma.destination = Builder::sbuf_rows(DType::f32, 1, 8, 64, partition);
    b.add(Engine::vector, dma);
    Options options;
    const Outcome outcome = simulate(b.program, machine, read_timing("trn1"), {}, options);
    CAPTURE(partition);
    CHECK(outcome.status == (partition < 192 ? Status::done : Status::fault));
  }
}

// Bytes that a pattern touches, one by one.
std::vector<bool> bytes_of(const isa::Access& access, std::size_t size) {
  std::vector<bool> touched(size, false);
  std::vector<std::int64_t> at{access.offset};
  for (int d = 0; d < access.rank; ++d) {
    const isa::AccessDim& dim = access.dims[static_cast<std::size_t>(d)];
    std::vector<std::int64_t> next;
    for (const std::int64_t base : at) {
      for (int i = 0; i < dim.extent; ++i) {
        next.push_back(base + std::int64_t{dim.stride} * i * isa::size_of(access.dtype));
      }
    }
    at = std::move(next);
  }
  for (const std::int64_t first : at) {
    for (int i = 0; i < isa::size_of(access.dtype); ++i) {
      touched[static_cast<std::size_t>(first + i)] = true;
    }
  }
  return touched;
}

// Strides from few values, so that both sides often share one, and those of one nest in those of the other.
isa::Access random_pattern(Random& random, bool large) {
  const std::array<int, 8> strides{1, 2, 3, 8, 24, 64, 96, 192};
  isa::Access a;
  a.dtype = random.integer(0, 1) == 0 ? DType::u8 : DType::bf16;
  a.partition = static_cast<std::int16_t>(random.integer(0, 2));
  a.partitions = static_cast<std::int16_t>(random.integer(1, 2));
  a.rank = static_cast<std::int8_t>(random.integer(0, 3));
  a.offset = static_cast<std::int32_t>(random.integer(40, 60)) * 2 + (large ? 8000 : 0);
  for (int d = 0; d < a.rank; ++d) {
    const auto pick = static_cast<std::size_t>(random.integer(0, strides.size() - 1));
    a.dims[static_cast<std::size_t>(d)] = {
        large ? strides[pick] : static_cast<std::int32_t>(random.integer(-4, 8)),
        static_cast<std::int32_t>(random.integer(1, large ? 20 : 3))};
  }
  return a;
}

TEST_CASE("two footprints meet exactly when they share a byte") {
  Random random(21);
  for (const bool large : {false, true}) {
    int met = 0;
    int apart = 0;
    for (int trial = 0; trial < 4000; ++trial) {
      const isa::Access a = random_pattern(random, large);
      const isa::Access b = random_pattern(random, large);
      const std::size_t size = large ? 32768 : 512;
      const std::vector<bool> of_a = bytes_of(a, size);
      const std::vector<bool> of_b = bytes_of(b, size);
      bool expected = false;
      for (std::size_t i = 0; i < size; ++i) {
        expected = expected || (of_a[i] && of_b[i]);
      }
      apart += expected ? 0 : 1;
      expected = expected && a.partition < b.partition + b.partitions &&
                 b.partition < a.partition + a.partitions;
      met += expected ? 1 : 0;
      CHECK(meets(footprint_of(a), footprint_of(b)) == expected);
    }
    CHECK(met > 300);
    CHECK(apart > 300);
  }
}

TEST_CASE("rules for single instructions are checked on request, before anything runs") {
  const isa::Machine machine = isa::read_machine("toy");
  Builder b(machine);
  isa::Access shifted = sbuf(DType::f32, 2, 8, 0);
  shifted.partition = 1;  // two partitions start at even ones
  b.add(Engine::vector, isa::Memset{shifted, 1.0F});
  Options options;
  CHECK(simulate(b.program, machine, read_timing("toy"), {}, options).status == Status::done);
  options.rules = true;
  const Outcome outcome = simulate(b.program, machine, read_timing("toy"), {}, options);
  CHECK(outcome.status == Status::fault);
  REQUIRE(!outcome.faults.empty());
  CHECK(outcome.faults.front().kind == FaultKind::broken_rule);
  CHECK(outcome.faults.front().text.find("vector instruction 0 (memset") != std::string::npos);
}

}  // namespace
}  // namespace systole::sim
