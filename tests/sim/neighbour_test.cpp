// Neighbours of the published points: other row sizes, extents, types and tilings on both machines. What must hold between
// them follows from the documentation: more work is never faster, a longer row never has less bandwidth, rates reach their
// peaks, and rules stated for one size hold at the others.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "sim/simulate.hpp"
#include "sim/timing/cost.hpp"
#include "sim/validate/kernel.hpp"
#include "sim/validate/matmul.hpp"

namespace systole::sim {
namespace {

using isa::DType;
using isa::Engine;

const std::vector<std::string> names{"trn1", "trn2"};

struct Setting {
  explicit Setting(const std::string& name)
      : machine(isa::read_machine(name)), timing(read_timing(name)) {}
  [[nodiscard]] Report run(const isa::Program& program) const {
    Options options;
    options.values = false;
    options.checks = false;
    const Outcome outcome = simulate(program, machine, timing, {}, options);
    REQUIRE(outcome.status == Status::done);
    return outcome.report;
  }
  isa::Machine machine;
  Timing timing;
};

// ---- Transfers.

// GB/s of a stream of [128, row] loads; the rows of a load follow each other in HBM if gap is 1.
double bandwidth(const Setting& setting, std::int64_t row_bytes, int rings, std::int64_t gap) {
  const std::int64_t columns = row_bytes / 2;
  const int count = static_cast<int>(std::max<std::int64_t>(64, (4 << 20) / (128 * row_bytes)));
  Kernel kernel("loads", setting.machine);
  const auto x = kernel.matrix("x", isa::Role::input, DType::bf16, 128, gap * columns);
  for (int i = 0; i < count; ++i) {
    kernel.load({x, gap * columns, 0, 0, 128, columns}, i % 2 * row_bytes, i % rings, {}, {});
  }
  const Report report = setting.run(kernel.take());
  const double ns =
      report.microseconds * 1000 - setting.timing.dma_start_ns - setting.timing.dma_completion_ns;
  return static_cast<double>(report.hbm_read_bytes) / ns;
}

TEST_CASE("rows from 32 bytes to 64 KiB: bandwidth never falls, rings help, the peak is reached") {
  for (const std::string& name : names) {
    const Setting setting(name);
    const double peak = setting.timing.dma_engine_bytes_per_ns * setting.machine.dma_engines;
    for (const int rings : {1, 4}) {
      double last = 0;
      for (const std::int64_t row :
           {32,   64,   96,   128,  200,  256,  384,  512,  700,  768,  1000,  1024,  1100,
            1500, 1536, 2000, 2048, 2050, 2500, 3000, 4096, 5000, 8192, 16384, 32768, 65536}) {
        CAPTURE(name);
        CAPTURE(row);
        const double now = bandwidth(setting, row, rings, 2);
        CHECK(now > last * 0.99);  // engines end one after the other: under 1 %
        CHECK(now <= peak);
        CHECK(bandwidth(setting, row, 4, 2) > now * 0.99);
        last = now;
      }
      CHECK(last > 0.99 * peak);
    }
    // Short rows: the ratio of the two floors, 105 and 63 ns.
    CHECK(bandwidth(setting, 512, 4, 2) > 1.6 * bandwidth(setting, 512, 1, 2));
  }
}

TEST_CASE("rows that follow each other in HBM: more bytes are never faster, whatever the row") {
  for (const std::string& name : names) {
    const Setting setting(name);
    for (const int rings : {1, 4}) {
      double last = 0;
      for (const std::int64_t row :
           {32, 64, 128, 200, 256, 384, 500, 512, 700, 1000, 1100, 1500, 2046, 2050, 4096}) {
        CAPTURE(name);
        CAPTURE(row);
        const double rate = bandwidth(setting, row, rings, 1);
        const double time = static_cast<double>(row) / rate;
        CHECK(time > last * 0.99);
        CHECK(rate > 0.99 * bandwidth(setting, row, rings, 2));  // never slower than apart
        last = time;
      }
    }
  }
}

// Rows of `row` elements; `gap` row lengths from row to row in HBM, `chip_gap` within a partition of SBUF, 16 rows each.
double strided_ticks(const Setting& setting, std::int64_t row, std::int64_t gap,
                     std::int64_t chip_gap) {
  constexpr int per_partition = 16;
  Kernel kernel("strided", setting.machine);
  const auto x = kernel.matrix("x", isa::Role::input, DType::f32, 128 * per_partition, gap * row);
  isa::Dma dma;
  dma.source.tensor = x;
  dma.source.rank = 2;
  dma.source.dims = {isa::DmaDim{gap * row, 128 * per_partition, false},
                     isa::DmaDim{1, static_cast<std::int32_t>(row), false}};
  dma.destination.space = isa::Space::sbuf;
  dma.destination.rank = 3;
  dma.destination.dims = {isa::DmaDim{1, 128, true},
                          isa::DmaDim{chip_gap * row, per_partition, false},
                          isa::DmaDim{1, static_cast<std::int32_t>(row), false}};
  for (int i = 0; i < 16; ++i) {
    dma.ring = static_cast<std::uint8_t>(i % 4);
    kernel.emit(Engine::sync, dma);
  }
  return static_cast<double>(setting.run(kernel.take()).total.count());
}

TEST_CASE("strides cost 1.2 to 1.5 times on one side of a transfer, 2 to 2.5 times on both") {
  const Setting setting("trn2");
  for (const std::int64_t row : {256, 264, 280, 300}) {  // 1 to 1.2 KiB
    CAPTURE(row);
    const double dense = strided_ticks(setting, row, 1, 1);
    CHECK(strided_ticks(setting, row, 2, 1) / dense == doctest::Approx(1.35).epsilon(0.15));
    CHECK(strided_ticks(setting, row, 1, 2) <= strided_ticks(setting, row, 2, 1));
    CHECK(strided_ticks(setting, row, 2, 2) / dense == doctest::Approx(2.2).epsilon(0.15));
  }
  for (const std::int64_t row : {1024, 1280}) {  // bound by bytes
    CHECK(strided_ticks(setting, row, 2, 2) < 1.01 * strided_ticks(setting, row, 1, 1));
  }
}

TEST_CASE("a copy within HBM works on all engines, in one row or in many") {
  for (const std::string& name : names) {
    const Setting setting(name);
    std::vector<double> times;
    for (const std::int32_t rows : {1, 15, 17, 128}) {
      const std::int64_t row = (std::int64_t{1} << 22) / rows;
      Kernel kernel("copy", setting.machine);
      const auto x = kernel.matrix("x", isa::Role::input, DType::f32, rows, row + 1);
      const auto y = kernel.matrix("y", isa::Role::scratch, DType::f32, rows, row + 1);
      isa::Dma dma;
      dma.source.tensor = x;
      dma.destination.tensor = y;
      dma.source.rank = dma.destination.rank = 2;
      dma.source.dims[0] = dma.destination.dims[0] = {row + (rows == 1 ? 0 : 1), rows, false};
      dma.source.dims[1] = dma.destination.dims[1] = {1, static_cast<std::int32_t>(row), false};
      kernel.emit(Engine::sync, dma);
      times.push_back(setting.run(kernel.take()).microseconds);
    }
    const double bytes = 4 * (std::int64_t{1} << 22);
    for (const double time : times) {
      CHECK(time == doctest::Approx(times[0]).epsilon(0.15));
      CHECK(bytes / 1000 / time < setting.timing.dma_engine_bytes_per_ns * 16);
    }
    CHECK(bytes / 1000 / times[0] > 0.4 * setting.timing.hbm_bytes_per_ns);
  }
}

// ---- Tensor engine.

// Ticks from one pair of stationary load and multiply to the next, in a long stream over all banks.
double pair_interval(const Setting& setting, DType dtype, int k, int m, int n, bool pairs) {
  const auto total = [&](int count) {
    Kernel kernel("pairs", setting.machine);
    const auto operand = [&](int columns, std::int64_t offset) {
      isa::Access access = in_sbuf(dtype, k, columns, offset);
      if (pairs) {
        access.rank = 2;
        access.dims[1] = access.dims[0];
        access.dims[0] = {columns, 2};
      }
      return access;
    };
    for (int i = 0; i < count; ++i) {
      kernel.emit(Engine::tensor, isa::LoadStationary{operand(m, 0), 0, pairs});
      isa::Multiply multiply;
      multiply.moving = operand(n, 4096);
      multiply.out = in_psum(m, n, i % 8 * 2048);
      multiply.double_row = pairs;
      kernel.emit(Engine::tensor, multiply);
    }
    return setting.run(kernel.take()).total.count();
  };
  return static_cast<double>(total(400) - total(200)) / 200;
}

TEST_CASE("pairs of any size: the longer of load and multiply, and little for the take-over") {
  for (const std::string& name : names) {
    Setting setting(name);
    setting.timing.warmup_factor = 1;
    for (const int n : {1, 16, 56, 63, 64, 65, 128, 200, 256, 512}) {
      CAPTURE(name);
      CAPTURE(n);
      const double tick = setting.timing.tensor_ticks;
      const double taken = setting.timing.stationary_switch_cycles;
      const double cycles = std::max({64.0, n + taken});
      const double full = pair_interval(setting, DType::bf16, 128, 128, n, false) / tick;
      CHECK(full == cycles);  // hides a load of 32 cycles
      CHECK(pair_interval(setting, DType::bf16, 17, 3, n, false) / tick == cycles);
      CHECK(pair_interval(setting, DType::f8e4, 128, 128, n, false) / tick == cycles);
      CHECK(pair_interval(setting, DType::f32, 128, 128, n, false) / tick ==
            std::max(4 * 64.0, 4 * n + taken));
      if (setting.machine.fp8_double_row) {
        CHECK(pair_interval(setting, DType::f8e4, 128, 128, n, true) / tick == cycles);
      }
    }
  }
}

TEST_CASE(
    "resident products of any size: larger ones use the array better, more banks never harm") {
  for (const std::string& name : names) {
    const Setting setting(name);
    double last = 0;
    for (const std::int64_t size : {512, 1024, 1536, 2048}) {
      double banked = 0;
      for (const int accumulators : {1, 2, 4, 8}) {
        CAPTURE(name);
        CAPTURE(size);
        CAPTURE(accumulators);
        const Report report = setting.run(
            resident_product({size, size, size, DType::bf16}, {accumulators, 4}, setting.machine));
        CHECK(report.utilisation >= banked);
        CHECK(report.utilisation < 1);
        banked = report.utilisation;
      }
      CHECK(banked > last);
      last = banked;
    }
    CHECK(last > 0.85);
  }
}

TEST_CASE(
    "blocked products stay within a quarter of their best over the published range of blocks") {
  for (const std::string& name : names) {
    const Setting setting(name);
    std::vector<double> used;
    for (const std::int64_t m : {512, 1024, 2048}) {
      for (const std::int64_t k : {512, 1024}) {
        used.push_back(setting
                           .run(blocked_product({2048, 2048, 2048, DType::bf16}, {m, 1024, k, 4},
                                                setting.machine))
                           .utilisation);
      }
    }
    const auto [low, high] = std::minmax_element(used.begin(), used.end());
    CHECK(*high < 1);
    CHECK(*low > 0.75 * *high);
  }
}

TEST_CASE("four bytes per element cost a product bound by the array four times as much") {
  for (const std::string& name : names) {
    const Setting setting(name);
    const BlockedPlan plan{1024, 512, 1024, 4};
    const double bf16 =
        setting.run(blocked_product({4096, 2048, 4096, DType::bf16}, plan, setting.machine))
            .microseconds;
    const double f32 =
        setting.run(blocked_product({4096, 2048, 4096, DType::f32}, plan, setting.machine))
            .microseconds;
    CHECK(f32 / bf16 > 3);
    CHECK(f32 / bf16 < 4.2);
  }
}

// ---- Vector, Scalar, GpSimd.

double interval(const Setting& setting, Engine engine, const isa::Operation& operation) {
  const auto total = [&](int count) {
    Kernel kernel("stream", setting.machine);
    for (int i = 0; i < count; ++i) {
      kernel.emit(engine, operation);
    }
    return setting.run(kernel.take()).total.count();
  };
  return static_cast<double>(total(60) - total(20)) / 40;
}

std::vector<std::pair<Engine, isa::Operation>> operations(DType dtype, int partitions, int n) {
  const isa::Access a = in_sbuf(dtype, partitions, n, 0);
  const isa::Access b = in_sbuf(dtype, partitions, n, 40960);
  const isa::Access out = in_sbuf(dtype, partitions, n, 81920);
  isa::TensorScalar scalar;
  scalar.in = a;
  scalar.out = out;
  scalar.op0 = isa::AluOp::multiply;
  isa::Activation exp;
  exp.in = a;
  exp.out = out;
  exp.function = isa::Function::exp;
  return {{Engine::vector, isa::TensorTensor{a, b, out, isa::AluOp::add}},
          {Engine::vector, isa::TensorTensor{a, b, out, isa::AluOp::max}},
          {Engine::vector, scalar},
          {Engine::vector, isa::Copy{a, out}},
          {Engine::vector, isa::Reciprocal{a, out}},
          {Engine::vector, isa::TensorScan{a, b, out}},
          {Engine::vector, isa::TensorReduce{a, in_sbuf(dtype, partitions, 1, 81920)}},
          {Engine::vector, isa::Memset{out, 0.0F}},
          {Engine::scalar, exp},
          {Engine::gpsimd, isa::Copy{a, out}}};
}

TEST_CASE(
    "element-wise streams: wider is never faster, partitions are free, 2 bytes never dearer") {
  for (const std::string& name : names) {
    const Setting setting(name);
    std::vector<double> last(operations(DType::f32, 128, 8).size(), 0);
    for (const int n : {8, 33, 63, 64, 65, 128, 500, 512, 2048, 8192}) {
      const auto wide = operations(DType::f32, 128, n);
      const auto narrow = operations(DType::f32, 1, n);
      const auto half = operations(DType::bf16, 128, n);
      for (std::size_t i = 0; i < wide.size(); ++i) {
        CAPTURE(name);
        CAPTURE(n);
        CAPTURE(i);
        const auto& [engine, operation] = wide[i];
        const double ticks = interval(setting, engine, operation);
        CHECK(ticks >= last[i]);
        CHECK(interval(setting, engine, narrow[i].second) == ticks);
        CHECK(interval(setting, engine, half[i].second) <= ticks);
        // By the formula: the stream's cycles and the overhead, at least the shortest interval.
        const double cycle =
            static_cast<double>(ticks_of_cycles(setting.timing, engine, 1).count());
        const double floor = setting.timing.min_issue_cycles;
        const double more = engine == Engine::gpsimd ? setting.timing.gpsimd_start_cycles
                                                     : setting.timing.issue_overhead_cycles;
        const auto stream = static_cast<double>(stream_cycles(operation, engine, setting.timing));
        CHECK(ticks == cycle * std::max(stream + more, floor));
        last[i] = ticks;
      }
    }
  }
}

}  // namespace
}  // namespace systole::sim
