#include "sim/simulate.hpp"

#include <doctest/doctest.h>

#include "isa/base/random.hpp"
#include "tests/sim/builder.hpp"

namespace systole::sim {
namespace {

using namespace testing;  // builder
using isa::DType;
using isa::Engine;

TEST_CASE("a product of two loaded operands is evicted and stored") {
  const isa::Machine machine = isa::read_machine("trn1");
  const Timing timing = read_timing("trn1");
  constexpr int k = 100;
  constexpr int m = 37;
  constexpr int n = 301;
  Builder b(machine);
  const auto x = b.tensor("x", isa::Role::input, DType::f32, {k, m});
  const auto y = b.tensor("y", isa::Role::input, DType::f32, {k, n});
  const auto z = b.tensor("z", isa::Role::output, DType::f32, {m, n});
  const auto loaded = b.semaphore();
  const auto multiplied = b.semaphore();
  const auto evicted = b.semaphore();
  b.load(x, DType::f32, k, m, 0, loaded);
  b.load(y, DType::f32, k, n, 1024, loaded);
  b.add(Engine::tensor, isa::LoadStationary{sbuf(DType::f32, k, m), 0}, {{loaded, 2}});
  b.add(Engine::tensor,
        isa::Multiply{sbuf(DType::f32, k, n, 1024), psum(m, n), false, false, false}, {},
        multiplied);
  b.add(Engine::vector, isa::Copy{psum(m, n), sbuf(DType::f32, m, n, 4096)}, {{multiplied, 1}},
        evicted);
  b.store(z, DType::f32, m, n, 4096, {{evicted, 1}});

  Random random(1);
  std::vector<float> xs(k * m);
  std::vector<float> ys(k * n);
  for (float& v : xs) {
    v = static_cast<float>(random.integer(-8, 8));
  }
  for (float& v : ys) {
    v = static_cast<float>(random.integer(-8, 8));
  }
  Inputs inputs;
  inputs.arrays["x"] = bytes_of(xs);
  inputs.arrays["y"] = bytes_of(ys);
  for (const bool timed : {false, true}) {
    Options options;
    options.timing = timed;
    const Outcome outcome = simulate(b.program, machine, timing, inputs, options);
    REQUIRE(outcome.status == Status::done);
    const auto zs = values_of<float>(outcome.outputs.at("z"));
    bool equal = true;
    for (int i = 0; i < m; ++i) {
      for (int j = 0; j < n; ++j) {
        float sum = 0;
        for (int l = 0; l < k; ++l) {
          sum += xs[static_cast<std::size_t>(l * m + i)] * ys[static_cast<std::size_t>(l * n + j)];
        }
        equal = equal && sum == zs[static_cast<std::size_t>(i * n + j)];
      }
    }
    CHECK(equal);
  }
}

TEST_CASE(
    "a malformed program handed over directly is refused in every mode, by engine, number and "
    "source") {
  const isa::Machine machine = isa::read_machine("toy");
  const Timing timing = read_timing("toy");
  const auto place_of = [&](const isa::Instruction& bad) {
    std::string all;
    for (const bool on : {false, true}) {
      Builder b(machine);
      b.add(bad.engine, isa::Nop{});
      isa::Instruction instruction = bad;
      instruction.source = isa::SourceId(0);
      b.program.streams[static_cast<std::size_t>(bad.engine)].push_back(instruction);
      Options options;
      options.values = options.checks = on;
      options.timing = !on;
      try {
        const Outcome outcome = simulate(b.program, machine, timing, {}, options);
        all += outcome.status == Status::fault ? outcome.faults.at(0).text : "accepted";
      } catch (const Error& error) {
        all += error.what();
      }
      all += "\n";
    }
    return all;
  };
  const auto expect = [&](Engine engine, isa::Operation operation, isa::WaitList waits,
                          const std::string& part) {
    isa::Instruction bad;
    bad.engine = engine;
    bad.operation = std::move(operation);
    bad.waits = std::move(waits);
    const std::string text = place_of(bad);
    CAPTURE(text);
    const std::string place = std::string(isa::name_of(engine)) + " instruction 1 (";
    CHECK(text.find(place) != std::string::npos);
    CHECK(text.find(place, text.find('\n')) != std::string::npos);
    CHECK(text.find(" of test: ") != std::string::npos);
    CHECK(text.find(part) != std::string::npos);
  };
  const isa::Access in = sbuf(DType::f32, 8, 4);
  expect(Engine::vector, isa::LoadStationary{in, 0}, {}, "is nothing that this engine executes");
  expect(Engine::gpsimd, isa::Copy{psum(8, 4), in}, {}, "is nothing that this engine executes");
  expect(Engine::sync, isa::Nop{}, {{isa::SemaphoreId(3), 1}},
         "a semaphore that the program does not have");
  isa::Access bad_rank = in;
  bad_rank.rank = 9;
  expect(Engine::vector, isa::Copy{bad_rank, in}, {}, "an input is no pattern over SBUF or PSUM");
  expect(Engine::vector, isa::Copy{in, sbuf(DType::f32, 8, 4, 4090)}, {}, "touches bytes");
  expect(Engine::vector, isa::Copy{in, sbuf(DType::f32, 8, 4, 0, 1)}, {},
         "covers partitions 1 to 8 of 8");
  expect(Engine::tensor, isa::Multiply{sbuf(DType::bf16, 8, 4), psum(8, 5)}, {}, "columns differ");
  isa::Dma ring;
  ring.source = ring.destination = Builder::sbuf_rows(DType::f32, 8, 4);
  ring.destination.offset = 64;
  ring.ring = 7;
  expect(Engine::sync, ring, {}, "the ring is 7, the limit 3");
  isa::Dma across = ring;
  across.ring = 0;
  across.source.dims[0].stride = 1 << 20;
  expect(Engine::sync, across, {}, "covers partitions 0 to");
  isa::Dma nowhere = ring;
  nowhere.ring = 0;
  nowhere.source.space = isa::Space::hbm;
  nowhere.source.dims[0] = {4, 8, false};
  expect(Engine::sync, nowhere, {}, "names a tensor that the program does not have");
}

}  // namespace
}  // namespace systole::sim
