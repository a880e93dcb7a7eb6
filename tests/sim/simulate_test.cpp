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

}  // namespace
}  // namespace systole::sim
