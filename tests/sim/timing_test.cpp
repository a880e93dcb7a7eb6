// Costs by the rules, and the machine's times by hand on the toy (one tick = one cycle = one ns everywhere).
#include <doctest/doctest.h>

#include <fstream>
#include <sstream>

#include "isa/base/error.hpp"
#include "isa/base/file.hpp"
#include "sim/machine/dma_rows.hpp"
#include "sim/simulate.hpp"
#include "sim/timing/cost.hpp"
#include "tests/isa/fuzz.hpp"
#include "tests/sim/builder.hpp"

namespace systole::sim {
namespace {

using namespace testing;
using isa::AluOp;
using isa::DType;
using isa::Engine;
using isa::Space;

// [partitions, 2, n], dense.
isa::Access strided_pair(DType dtype, int partitions, int n) {
  isa::Access access = sbuf(dtype, partitions, n);
  access.rank = 2;
  access.dims[0] = {n, 2};
  access.dims[1] = {1, n};
  return access;
}

std::int64_t cycles(const isa::Operation& operation, Engine engine, const char* name) {
  return stream_cycles(operation, engine, read_timing(name));
}

TEST_CASE(
    "tensor engine: columns, at least 64; fp32 four times; zero_one half; loads four columns per "
    "cycle") {
  isa::Multiply op;
  op.moving = sbuf(DType::bf16, 128, 512, 0);
  op.out = psum(128, 512);
  CHECK(cycles(op, Engine::tensor, "trn1") == 512);
  op.moving = sbuf(DType::bf16, 128, 1, 0);
  CHECK(cycles(op, Engine::tensor, "trn1") == 64);
  op.moving = sbuf(DType::f32, 128, 512, 0);
  CHECK(cycles(op, Engine::tensor, "trn1") == 2048);
  op.zero_one = true;
  CHECK(cycles(op, Engine::tensor, "trn1") == 1024);
  op.zero_one = false;
  op.transpose_mode = true;
  CHECK(cycles(op, Engine::tensor, "trn2") == 1024);
  CHECK(cycles(op, Engine::tensor, "trn1") == 2048);
  CHECK(cycles(isa::LoadStationary{sbuf(DType::bf16, 128, 128, 0), 0}, Engine::tensor, "trn1") ==
        32);
  CHECK(cycles(isa::LoadStationary{sbuf(DType::f32, 128, 128, 0), 0}, Engine::tensor, "trn1") ==
        128);
  isa::Multiply few_rows = op;
  few_rows.transpose_mode = false;
  few_rows.moving = sbuf(DType::bf16, 3, 512, 0);
  CHECK(cycles(few_rows, Engine::tensor, "trn1") == 512);  // rows cost nothing
}

TEST_CASE("a double row of fp8 passes 256 rows in the time of 128, and loads as fast as bf16") {
  isa::Multiply op;
  op.double_row = true;
  op.moving = strided_pair(DType::f8e4, 128, 512);
  op.out = psum(128, 512);
  CHECK(cycles(op, Engine::tensor, "trn2") == 512);
  op.moving = strided_pair(DType::f8e4, 128, 8);
  CHECK(cycles(op, Engine::tensor, "trn2") == 64);
  CHECK(cycles(isa::LoadStationary{strided_pair(DType::f8e4, 128, 128), 0, true}, Engine::tensor,
               "trn2") == 32);
}

TEST_CASE("tensor_tensor: 2N, N with one input in PSUM or in dense bf16 from SBUF") {
  const auto cost = [](const isa::Access& a, const isa::Access& b, const isa::Access& out, AluOp op,
                       const char* name) {
    return cycles(isa::TensorTensor{a, b, out, op}, Engine::vector, name);
  };
  const isa::Access f32 = sbuf(DType::f32, 128, 300, 0);
  const isa::Access bf16 = sbuf(DType::bf16, 128, 300, 0);
  const isa::Access strided16 = [&] {
    isa::Access a = bf16;
    a.dims[0].stride = 2;
    return a;
  }();
  CHECK(cost(f32, f32, f32, AluOp::add, "trn1") == 600);
  CHECK(cost(f32, psum(128, 300), f32, AluOp::add, "trn1") == 300);
  CHECK(cost(bf16, bf16, bf16, AluOp::multiply, "trn1") == 300);
  CHECK(cost(bf16, bf16, bf16, AluOp::max, "trn1") == 600);
  CHECK(cost(bf16, strided16, bf16, AluOp::add, "trn1") == 600);
  CHECK(cost(bf16, bf16, f32, AluOp::add, "trn1") == 600);
  CHECK(cost(bf16, bf16, bf16, AluOp::max, "trn2") == 300);  // 2x mode
}

TEST_CASE("other Vector instructions follow their formulas") {
  const isa::Access in = sbuf(DType::f32, 128, 300, 0);
  const isa::Access bf16 = sbuf(DType::bf16, 128, 300, 0);
  const isa::Access one = sbuf(DType::f32, 128, 1, 4096);
  isa::TensorScalar scalar;
  scalar.in = scalar.out = in;
  scalar.op1 = AluOp::add;
  CHECK(cycles(scalar, Engine::vector, "trn1") == 300);
  isa::ScalarTensorTensor stt;
  stt.in = stt.other = stt.out = in;
  CHECK(cycles(stt, Engine::vector, "trn1") == 600);
  stt.in = stt.other = bf16;
  stt.op0 = AluOp::subtract;
  stt.op1 = AluOp::multiply;
  CHECK(cycles(stt, Engine::vector, "trn1") == 300);
  CHECK(cycles(isa::TensorReduce{in, one, AluOp::add, 1, false}, Engine::vector, "trn1") == 300);
  isa::TensorReduce half{bf16, one, AluOp::max, 1, false};
  half.out.dtype = DType::bf16;
  CHECK(cycles(half, Engine::vector, "trn1") == 150);
  CHECK(cycles(isa::TensorScan{in, in, in, AluOp::multiply, AluOp::add, {}}, Engine::vector,
               "trn1") == 600);
  CHECK(cycles(isa::Copy{in, in}, Engine::vector, "trn1") == 300);
  CHECK(cycles(isa::CopyPredicated{bf16, in, in}, Engine::vector, "trn1") == 600);
  CHECK(cycles(isa::CopyPredicated{bf16, psum(128, 300), in}, Engine::vector, "trn1") == 300);
  CHECK(cycles(isa::Memset{in, 0.0F}, Engine::vector, "trn1") == 300);
  CHECK(cycles(isa::Memset{bf16, 0.0F}, Engine::vector, "trn1") == 150);
  CHECK(cycles(isa::Memset{bf16, 1.0F}, Engine::vector, "trn1") == 300);
  CHECK(cycles(isa::Reciprocal{in, in}, Engine::vector, "trn1") == 2400);
  CHECK(cycles(isa::BatchNormAggregate{in, one}, Engine::vector, "trn1") == 1300);
  CHECK(cycles(isa::Transpose32{sbuf(DType::f32, 32, 32, 0), sbuf(DType::f32, 32, 32, 512)},
               Engine::vector, "trn1") == 32);
}

TEST_CASE(
    "v3 copies two-byte floats four at a time in SBUF when dense, two when strided or from PSUM") {
  const isa::Access dense = sbuf(DType::bf16, 128, 400, 0);
  isa::Access strided = dense;
  strided.dims[0].stride = 2;
  isa::Access bank = psum(128, 400);
  bank.dtype = DType::bf16;
  CHECK(cycles(isa::Copy{dense, dense}, Engine::vector, "trn2") == 100);
  CHECK(cycles(isa::Copy{strided, dense}, Engine::vector, "trn2") == 200);
  CHECK(cycles(isa::Copy{bank, dense}, Engine::vector, "trn2") == 200);
  CHECK(cycles(isa::Copy{psum(128, 400), dense}, Engine::vector, "trn2") == 400);
  CHECK(cycles(isa::Copy{dense, dense}, Engine::scalar, "trn2") == 400);
  CHECK(cycles(isa::Copy{dense, dense}, Engine::vector, "trn1") == 400);
}

TEST_CASE("an innermost stride of 16 bytes halves the rate, one below does not") {
  isa::Access in = sbuf(DType::f32, 128, 100, 0);
  const isa::Access out = sbuf(DType::f32, 128, 100, 8192);
  in.dims[0].stride = 3;
  CHECK(cycles(isa::Copy{in, out}, Engine::vector, "trn1") == 100);
  in.dims[0].stride = 4;
  CHECK(cycles(isa::Copy{in, out}, Engine::vector, "trn1") == 200);
  in.dims[0].stride = -4;
  CHECK(cycles(isa::Copy{in, out}, Engine::vector, "trn1") == 200);
}

TEST_CASE(
    "short instructions take the shortest interval, GpSimd its start, a riding sum its readout") {
  const isa::Machine machine = isa::read_machine("trn1");
  const Timing timing = read_timing("trn1");
  const isa::Access one = sbuf(DType::f32, 128, 1, 0);
  CHECK(cost_of(isa::Copy{one, one}, Engine::vector, machine, timing).interval == Ticks(64 * 5));
  CHECK(cost_of(isa::Copy{one, one}, Engine::vector, machine, timing).stream == Ticks(5));
  CHECK(cost_of(isa::Copy{one, one}, Engine::gpsimd, machine, timing).stream == Ticks(151 * 4));
  isa::Activation activation;
  activation.in = activation.out = sbuf(DType::f32, 128, 100, 0);
  const Ticks plain = cost_of(activation, Engine::scalar, machine, timing).stream;
  activation.with_reduce = true;
  CHECK(cost_of(activation, Engine::scalar, machine, timing).stream - plain == Ticks(64 * 4));
}

TEST_CASE(
    "rows of a transfer: contiguous on both sides, merged where HBM goes on, spread by partition") {
  const isa::Machine machine = isa::read_machine("trn2");
  const Timing timing = read_timing("trn2");
  isa::Dma dma;
  dma.source = Builder::hbm_rows(isa::TensorId(0), DType::bf16, 128, 128, 512);
  dma.destination = Builder::sbuf_rows(DType::bf16, 128, 128);
  TransferShape shape = shape_of(dma, machine, timing);
  CHECK(shape.descriptors == 128);
  CHECK(shape.descriptor_bytes == 256);
  CHECK(shape.hbm_read == 32768);
  CHECK(shape.share == std::vector<std::int64_t>(16, 8));
  dma.source.dims[0].stride = 128;  // the next row follows
  shape = shape_of(dma, machine, timing);
  CHECK(shape.descriptors == 16);
  CHECK(shape.descriptor_bytes == 2048);
  dma.source = Builder::hbm_rows(isa::TensorId(0), DType::bf16, 128, 16, 16);
  dma.destination = Builder::sbuf_rows(DType::bf16, 128, 16);
  CHECK(shape_of(dma, machine, timing).descriptor_bytes == 256);  // eight rows of 32 bytes
  dma.source = Builder::hbm_rows(isa::TensorId(0), DType::bf16, 128, 64, 64);  // in pairs
  dma.destination = Builder::sbuf_rows(DType::bf16, 128, 2);
  dma.destination.rank = 3;
  dma.destination.dims[1] = {4, 32, false};
  dma.destination.dims[2] = {1, 2, false};
  CHECK(shape_of(dma, machine, timing).descriptors == 128 * 32 / 8);
  // A transposition by strides moves single elements, a few per descriptor if it follows HBM.
  dma.source = Builder::hbm_rows(isa::TensorId(0), DType::bf16, 64, 128, 128);
  dma.destination = Builder::sbuf_rows(DType::bf16, 64, 128);
  dma.destination.dims[0] = {1, 64, false};
  dma.destination.dims[1] = {1, 128, true};
  CHECK(shape_of(dma, machine, timing).descriptors == 64 * 128 / 8);
  std::swap(dma.source.dims[0], dma.source.dims[1]);
  std::swap(dma.destination.dims[0], dma.destination.dims[1]);
  CHECK(shape_of(dma, machine, timing).descriptors == 64 * 128);
  dma.source = Builder::hbm_rows(isa::TensorId(0), DType::bf16, 12, 128, 512);
  dma.destination = Builder::sbuf_rows(DType::bf16, 12, 128, 0,
                                       4);  // partitions 4 to 15: half of engine 0, all of 1
  CHECK(shape_of(dma, machine, timing).share[0] == 4);
  CHECK(shape_of(dma, machine, timing).share[1] == 8);
  CHECK(shape_of(dma, machine, timing).share[2] == 0);
}

// ---- The toy machine, by hand.

Report time(const Builder& b) {
  Options options;
  options.values = false;
  options.checks = false;
  const isa::Machine machine = isa::read_machine("toy");
  const Outcome outcome = simulate(b.program, machine, read_timing("toy"), {}, options);
  REQUIRE(outcome.status == Status::done);
  return outcome.report;
}

isa::Copy copy(int n, int from, int to) {
  return {sbuf(DType::f32, 8, n, from), sbuf(DType::f32, 8, n, to)};
}

TEST_CASE(
    "one instruction: its elements and the latency; independent ones follow every N + overhead") {
  const isa::Machine machine = isa::read_machine("toy");
  Builder b(machine);
  b.add(Engine::vector, copy(20, 0, 256));
  CHECK(time(b).total == Ticks(20 + 10));
  b.add(Engine::vector, copy(20, 0, 512));
  CHECK(time(b).total == Ticks(22 + 20 + 10));
  for (int i = 0; i < 98; ++i) {
    b.add(Engine::vector, copy(20, 0, 512 + i % 8 * 128));
  }
  CHECK(time(b).total == Ticks(99 * 22 + 20 + 10));
  Builder small(machine);
  for (int i = 0; i < 10; ++i) {
    small.add(Engine::vector, copy(1, 0, 256 + 4 * i));
  }
  CHECK(time(small).total == Ticks(9 * 4 + 1 + 10));
}

TEST_CASE(
    "a dependent instruction starts the turn-around after the last element, not one tick earlier") {
  const isa::Machine machine = isa::read_machine("toy");
  for (const int offset :
       {128, 256 - 4, 256, 256 + 76, 256 + 80}) {  // the first wrote bytes 256 to 335
    Builder b(machine);
    b.add(Engine::vector, copy(20, 0, 256));
    b.add(Engine::vector, copy(1, offset, 1024));
    const bool depends = offset >= 256 && offset < 336;
    CHECK(time(b).total == Ticks((depends ? 20 + 8 : 22) + 1 + 10));
  }
}

TEST_CASE("an engine that waits starts at the signal plus the semaphore's latency") {
  const isa::Machine machine = isa::read_machine("toy");
  Builder b(machine);
  const auto done = b.semaphore();
  b.add(Engine::vector, copy(20, 0, 256), {}, done);
  isa::Activation use;
  use.in = sbuf(DType::f32, 8, 6, 256);
  use.out = sbuf(DType::f32, 8, 6, 512);
  b.add(Engine::scalar, use, {{done, 1}});
  CHECK(time(b).total == Ticks((20 + 10) + 5 + (6 + 10)));
  CHECK(time(b).engines[2].idle[static_cast<std::size_t>(Stall::semaphore)] == Ticks(35));
}

TEST_CASE("a change of the Scalar engine's function loads a table; a copy needs none") {
  const isa::Machine machine = isa::read_machine("toy");
  isa::Activation op;
  op.in = sbuf(DType::f32, 8, 6, 0);
  op.out = sbuf(DType::f32, 8, 6, 64);
  const auto total = [&](std::vector<isa::Function> functions) {
    Builder b(machine);
    for (const isa::Function f : functions) {
      op.function = f;
      b.add(Engine::scalar, op);
    }
    return time(b).total.count();
  };
  using F = isa::Function;
  CHECK(total({F::copy}) == 16);
  CHECK(total({F::exp}) == 46);
  CHECK(total({F::exp, F::exp}) == 46 + 8);
  CHECK(total({F::exp, F::copy, F::exp}) == 46 + 16);
  CHECK(total({F::exp, F::log}) == 46 + 8 + 30);
}

TEST_CASE(
    "a table that is loaded ahead costs an activation nothing, and one that is there costs its "
    "load nothing") {
  const isa::Machine machine = isa::read_machine("toy");
  isa::Activation log;
  log.in = sbuf(DType::f32, 8, 6, 256);
  log.out = sbuf(DType::f32, 8, 6, 512);
  log.function = isa::Function::log;
  // Vector is busy for 100 cycles with what Scalar copies, which then goes on.
  const auto total = [&](const std::vector<isa::LoadTable>& ahead) {
    Builder b(machine);
    const auto done = b.semaphore();
    b.add(Engine::vector, copy(100, 0, 256), {}, done);
    for (const isa::LoadTable& load : ahead) {
      b.add(Engine::scalar, load);
    }
    isa::Activation copied = log;
    copied.function = isa::Function::copy;
    copied.out = sbuf(DType::f32, 8, 6, 640);
    b.add(Engine::scalar, copied, {{done, 1}});
    b.add(Engine::scalar, log);
    return time(b).total.count();
  };
  const isa::LoadTable load{isa::Function::log};
  const std::int64_t late = (100 + 10) + 5 + 8 + 30 + (6 + 10);  // 30: after the copy
  CHECK(total({}) == late);
  CHECK(total({load}) == late - 30);
  CHECK(total({load, load}) == late - 30);
  CHECK(total({load, {isa::Function::exp}}) == late);
}

TEST_CASE("a load hides behind a multiply: a pair takes the longer of the two") {
  const isa::Machine machine = isa::read_machine("toy");
  for (const int n : {1, 4, 16}) {
    Builder b(machine);
    for (int i = 0; i < 50; ++i) {
      b.add(Engine::tensor, isa::LoadStationary{sbuf(DType::bf16, 8, 8, 0), 0});
      isa::Multiply multiply;
      multiply.moving = sbuf(DType::bf16, 8, n, 64);
      multiply.out = psum(8, n, i % 4 * 64);
      b.add(Engine::tensor, multiply);
    }
    // The first load (8 columns at 4 per cycle) is not hidden.
    CHECK(time(b).total == Ticks(2 + 50 * std::max(n, 4) + 20));
  }
}

TEST_CASE("multiplies on disjoint tiles of the array overlap") {
  const isa::Machine machine = isa::read_machine("toy");
  for (const int second : {0, 4}) {
    Builder b(machine);
    isa::Multiply multiply;
    multiply.moving = sbuf(DType::bf16, 4, 16, 0, 0);
    multiply.out = psum(4, 16, 0, 0);
    b.add(Engine::tensor, multiply);
    multiply.moving = sbuf(DType::bf16, 4, 16, 0, second);
    multiply.out = psum(4, 16, 64, second);
    b.add(Engine::tensor, multiply);
    CHECK(time(b).total == Ticks((second == 0 ? 32 : 17) + 20));
  }
}

TEST_CASE(
    "Vector and GpSimd take turns on SBUF, Vector and Scalar on PSUM, in the order of the "
    "engines") {
  const isa::Machine machine = isa::read_machine("toy");
  Builder b(machine);
  b.add(Engine::vector, copy(20, 0, 256));
  b.add(Engine::gpsimd, copy(10, 512, 1024));
  const Report report = time(b);
  CHECK(report.total == Ticks(20 + (12 + 10) + 10));
  CHECK(report.engines[3].idle[static_cast<std::size_t>(Stall::port)] == Ticks(20));
  Builder banks(machine);
  banks.add(Engine::vector, isa::Copy{psum(8, 10, 0), sbuf(DType::f32, 8, 10, 0)});
  isa::Activation evict;
  evict.in = psum(8, 10, 128);
  evict.out = sbuf(DType::f32, 8, 10, 64);
  banks.add(Engine::scalar, evict);
  CHECK(time(banks).total == Ticks(10 + 10 + 10));
}

TEST_CASE("a bank under eviction takes no accumulation; another bank does") {
  const isa::Machine machine = isa::read_machine("toy");
  for (const int bank : {0, 1}) {
    Builder b(machine);
    b.add(Engine::vector, isa::Copy{psum(8, 8, 0), sbuf(DType::f32, 8, 8, 256)});  // until 8
    isa::Multiply multiply;
    multiply.moving = sbuf(DType::bf16, 8, 4, 0);
    multiply.out = psum(8, 4, 192);
    b.add(Engine::tensor, multiply);  // until 4
    multiply.out = psum(8, 4, bank * 64 + 32);
    b.add(Engine::tensor, multiply);
    const Ticks waited = time(b).engines[0].idle[static_cast<std::size_t>(Stall::bank)];
    CHECK(waited.count() == (bank == 0 ? 4 : 0));
  }
}

TEST_CASE("a bank that takes sums gives none away; another bank does") {
  const isa::Machine machine = isa::read_machine("toy");
  for (const int bank : {0, 1}) {
    for (const Engine engine : {Engine::vector, Engine::scalar}) {
      Builder b(machine);
      isa::Multiply multiply;
      multiply.moving = sbuf(DType::bf16, 8, 4, 0);
      multiply.out = psum(8, 4, 0);
      b.add(Engine::tensor, multiply);  // until 4
      const isa::Access in = psum(8, 8, bank * 64 + 32);
      if (engine == Engine::vector) {
        b.add(engine, isa::Copy{in, sbuf(DType::f32, 8, 8, 256)});
      } else {
        isa::Activation evict;
        evict.in = in;
        evict.out = sbuf(DType::f32, 8, 8, 256);
        b.add(engine, evict);
      }
      const auto& idle = time(b).engines[static_cast<std::size_t>(engine)].idle;
      CHECK(idle[static_cast<std::size_t>(Stall::bank)].count() == (bank == 0 ? 4 : 0));
    }
  }
}

TEST_CASE("a transfer: trigger, start-up, rows one after the other on each engine, completion") {
  const isa::Machine machine = isa::read_machine("toy");
  Builder b(machine);
  const auto x = b.tensor("x", isa::Role::input, DType::f32, {8, 64});
  const auto loaded = b.semaphore();
  // 8 rows of 32 bytes, not neighbours in HBM: 4 per engine, 6 ns each on a single ring; the second engine starts 1 later.
  isa::Dma dma;
  dma.source = Builder::hbm_rows(x, DType::f32, 8, 8, 64);
  dma.destination = Builder::sbuf_rows(DType::f32, 8, 8, 0);
  b.add(Engine::sync, dma, {}, loaded);
  CHECK(time(b).total == Ticks(2 + 40 + 1 + 4 * 6 + 10));
  b.add(Engine::vector, copy(8, 0, 256), {{loaded, 1}});
  CHECK(time(b).total == Ticks(2 + 40 + 1 + 4 * 6 + 10 + 8 + 10));
  CHECK(time(b).engines[1].idle[static_cast<std::size_t>(Stall::dma)] == Ticks(77));
}

TEST_CASE("long rows run at the engine's rate") {
  const isa::Machine machine = isa::read_machine("toy");
  Builder b(machine);
  const auto x = b.tensor("x", isa::Role::input, DType::f32, {8, 512});
  b.load(x, DType::f32, 8, 512, 0, {});
  // 4 rows of 2048 bytes per engine; 16 bytes per ns, and two engines share 32 of the HBM.
  CHECK(time(b).total == Ticks(2 + 40 + 1 + 4 * 128 + 10));
}

TEST_CASE("a transposing transfer goes in blocks that all engines write together") {
  const isa::Machine machine = isa::read_machine("trn2");
  const Timing timing = read_timing("trn2");
  isa::Dma dma;
  dma.transpose = true;
  dma.source = isa::DmaAccess{Space::sbuf, DType::bf16, 2, 0, {}, 0, {}};
  dma.destination = isa::DmaAccess{Space::sbuf, DType::bf16, 2, 0, {}, 4096, {}};
  const auto shape = [&](std::int32_t columns, std::int32_t rows, Space from) {
    dma.source.space = from;
    dma.source.dims = {isa::DmaDim{1, columns, false},
                       isa::DmaDim{from == Space::hbm ? 200 : 1, rows, from == Space::sbuf}};
    dma.destination.dims = {isa::DmaDim{1, columns, true}, isa::DmaDim{1, rows, false}};
    return shape_of(dma, machine, timing);
  };
  const auto ns = [&](const TransferShape& s) {
    return static_cast<double>(s.share[0] * s.descriptor_bytes) /
           (timing.dma_engine_bytes_per_ns * s.rate_fraction);
  };
  // 32 KiB: eight blocks of 128 x 16; every engine writes 2 KiB at 90 or 50 % of 23 bytes per ns.
  CHECK(shape(128, 128, Space::hbm).share == std::vector<std::int64_t>(16, 8));
  CHECK(ns(shape(128, 128, Space::hbm)) == doctest::Approx(98.9).epsilon(0.01));
  CHECK(ns(shape(128, 128, Space::sbuf)) == doctest::Approx(178).epsilon(0.01));
  // Half of the partitions, or one row more than blocks have: no faster, and slower by one block.
  CHECK(ns(shape(64, 128, Space::hbm)) == ns(shape(128, 128, Space::hbm)));
  CHECK(ns(shape(64, 17, Space::hbm)) == 2 * ns(shape(64, 16, Space::hbm)));
  CHECK(shape(64, 17, Space::hbm).bytes == 64 * 17 * 2);
}

TEST_CASE("two rings share an engine; together they pay the engine's floor, not the ring's") {
  const isa::Machine machine = isa::read_machine("toy");
  const auto total = [&](std::uint8_t second_ring) {
    Builder b(machine);
    const auto x = b.tensor("x", isa::Role::input, DType::f32, {8, 64});
    for (int i = 0; i < 2; ++i) {
      isa::Dma dma;
      dma.source = Builder::hbm_rows(x, DType::f32, 8, 8, 64);
      dma.destination = Builder::sbuf_rows(DType::f32, 8, 8, 64 * i);
      dma.ring = i == 0 ? std::uint8_t{0} : second_ring;
      b.add(Engine::sync, dma);
    }
    return time(b).total.count();
  };
  CHECK(total(0) == 2 + 40 + 1 + 8 * 6 + 10);
  CHECK(total(1) < total(0));
  CHECK(total(1) >= 2 + 40 + 1 + 8 * 4 + 10);
}

TEST_CASE("misspelt, missing and impossible parameters name file, line and the nearest key") {
  std::ifstream stream(isa::find_machine_file("toy"));
  std::stringstream buffer;
  buffer << stream.rdbuf();
  const std::string text = buffer.str();
  CHECK(parse_timing(text, "toy") == read_timing("toy"));
  const auto message = [&](const std::string& from, const std::string& to) {
    std::string changed = text;
    changed.replace(changed.find(from), from.size(), to);
    try {
      (void)parse_timing(changed, "my.yaml");
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  CHECK(message("dma_row_ns:", "dma_rows_ns:").find("dma_row_ns") != std::string::npos);
  CHECK(message("dma_row_ns:", "dma_rows_ns:").rfind("my.yaml:", 0) == 0);
  CHECK(message("  semaphore_ns: 5", "  # none").find("semaphore_ns") != std::string::npos);
  CHECK(message("semaphore_ns: 5", "semaphore_ns: -5").find("outside") != std::string::npos);
}

TEST_CASE("damaged timing sections are refused or mean parameters that come back") {
  Random random(14);
  int read = 0;
  for (const std::string& name : isa::machine_names()) {
    const std::string text = read_file(isa::find_machine_file(name));
    const std::string architecture = isa::print_architecture(isa::read_machine(name));
    for (int k = 0; k < 400; ++k) {
      std::string damaged = text;
      isa::testing::damage(damaged, random);
      try {
        const std::string printed = print_timing(parse_timing(damaged, "fuzz"));
        REQUIRE(print_timing(parse_timing(architecture + printed, "fuzz")) == printed);
        ++read;
      } catch (const Error&) {
      }
    }
  }
  CHECK(read > 50);
  CHECK(read < 1100);
}

TEST_CASE("printing timing and reading it back gives the same parameters") {
  for (const std::string name : {"trn1", "trn2", "toy"}) {
    const Timing timing = read_timing(name);
    const std::string text =
        isa::print_architecture(isa::read_machine(name)) + print_timing(timing);
    CHECK(parse_timing(text, "printed") == timing);
  }
}

}  // namespace
}  // namespace systole::sim
