// The instruction-level tensor engine against the array simulated element by element, cycle by cycle.
#include <doctest/doctest.h>

#include "sim/machine/array.hpp"
#include "tests/sim/array_model.hpp"
#include "tests/sim/bench.hpp"

namespace systole::sim {
namespace {

using namespace testing;
using isa::DType;

struct Step {
  bool load = false;
  int n = 0;  // columns of a multiply
};

isa::Machine machine_of(int size) {
  isa::Machine machine = isa::read_machine(size == 128 ? "trn1" : "toy");
  machine.array_rows = machine.array_columns = machine.row_tile_min = size;
  return machine;
}

Matrix random_matrix(Random& random, int rows, int columns, bool whole) {
  Matrix matrix(static_cast<std::size_t>(rows),
                std::vector<float>(static_cast<std::size_t>(columns)));
  for (auto& row : matrix) {
    for (float& v : row) {
      v = whole ? static_cast<float>(random.integer(-9, 9)) : static_cast<float>(random.normal());
    }
  }
  return matrix;
}

Rows as_rows(const Matrix& matrix) {
  Rows rows;
  for (const auto& row : matrix) {
    rows.emplace_back(row.begin(), row.end());
  }
  return rows;
}

struct Comparison {
  bool bits_equal = true;
  double worst = 0;
  std::int64_t stream_difference =
      0;                   // instruction model - element model, end of the last column's input
  std::int64_t drain = 0;  // element model: last result - last input
};

Comparison compare(int size, int floor, const std::vector<Step>& steps, bool whole,
                   std::uint64_t seed) {
  const isa::Machine machine = machine_of(size);
  Timing timing = read_timing("toy");
  timing.multiply_min_cycles = floor;
  timing.stationary_switch_cycles = 0;
  Bench bench(size == 128 ? "trn1" : "toy");
  ArrayModel elements(size, size, timing.stationary_columns_per_cycle, floor);
  ArrayClock clock(machine, timing);
  Random random(seed);
  Comparison result;
  std::vector<Rows> expected;
  Ticks next;
  Ticks end;
  for (const Step& step : steps) {
    isa::Operation operation;
    if (step.load) {
      const Matrix weights = random_matrix(random, size, size, whole);
      const isa::Access stationary = sbuf(DType::f32, size, size, 0);
      bench.put(stationary, as_rows(weights));
      operation = isa::LoadStationary{stationary, 0};
      elements.load(weights);
    } else {
      const Matrix moving = random_matrix(random, size, step.n, whole);
      isa::Multiply multiply;
      multiply.moving = sbuf(DType::f32, size, step.n, 1024);
      multiply.out = psum(size, step.n);
      bench.put(multiply.moving, as_rows(moving));
      elements.multiply(moving);
      operation = multiply;
    }
    bench.run(operation);
    if (!step.load) {
      expected.push_back(bench.get(psum(size, step.n)));
    }
    // Values are fp32, times those of a two-byte type: one pass.
    const std::int64_t cycles = step.load ? (size + 3) / 4 : std::max(step.n, floor);
    Cost cost;
    cost.stream = Ticks(cycles);
    const Ticks start = std::max(next, clock.ready(operation));
    end = clock.start(operation, cost, start).end;
    next = start + Ticks(1);
  }
  elements.run();
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const Rows got = as_rows(elements.results()[i]);
    result.bits_equal = result.bits_equal && got == expected[i];
    for (std::size_t r = 0; r < got.size(); ++r) {
      for (std::size_t c = 0; c < got[r].size(); ++c) {
        result.worst = std::max(result.worst, std::abs(got[r][c] - expected[i][r][c]));
      }
    }
  }
  result.stream_difference = end.count() - elements.input_end();
  result.drain = elements.cycles() - elements.input_end();
  return result;
}

TEST_CASE(
    "values and times of the 8 x 8 array agree with the element model for every length and "
    "pairing") {
  for (int first = 1; first <= 16; ++first) {
    for (int second = 1; second <= 16; ++second) {
      const std::vector<Step> steps{{true, 0}, {false, first}, {true, 0}, {false, second}};
      const Comparison c =
          compare(8, 4, steps, true, static_cast<std::uint64_t>(first * 17 + second));
      CHECK(c.bits_equal);
      CHECK(c.stream_difference == 0);
      if (second >= 4) {
        CHECK(c.drain == 8 + 8 - 2);  // the wavefront: one constant, whatever came before
      }
    }
  }
}

TEST_CASE("random sequences of loads and multiplies agree on the 8 x 8 array") {
  Random random(5);
  for (int trial = 0; trial < 300; ++trial) {
    std::vector<Step> steps{{true, 0}};
    for (int i = 0; i < 12; ++i) {
      if (random.integer(0, 1) == 0 && !steps.back().load) {
        steps.push_back({true, 0});
      }
      steps.push_back({false, static_cast<int>(random.integer(1, 16))});
    }
    const Comparison c = compare(8, 4, steps, trial % 2 == 0, static_cast<std::uint64_t>(trial));
    CHECK((trial % 2 == 0 ? c.bits_equal : c.worst < 1e-4));
    CHECK(c.stream_difference == 0);
  }
}

TEST_CASE(
    "samples on the 128 x 128 array agree, bit for bit on whole numbers, to fp32 rounding "
    "otherwise") {
  for (const bool whole : {true, false}) {
    const std::vector<Step> steps{{true, 0},    {false, 70}, {true, 0},  {false, 1},
                                  {false, 128}, {true, 0},   {false, 64}};
    const Comparison c = compare(128, 64, steps, whole, 3);
    CHECK((whole ? c.bits_equal : c.worst < 1e-3));
    CHECK(c.stream_difference == 0);
    CHECK(c.drain == 128 + 128 - 2);
  }
}

}  // namespace
}  // namespace systole::sim
