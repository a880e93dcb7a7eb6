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

isa::Machine machine_of(int size, int pairs) {
  isa::Machine machine = isa::read_machine(size == 128 ? "trn1" : "toy");
  machine.fp8_double_row = pairs == 2;
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

// The operand [size, pairs, n] in SBUF; its rows by partition, a pair's second row behind the first.
isa::Access operand(int size, int pairs, int n, int offset) {
  isa::Access access = sbuf(pairs == 2 ? DType::f8e4 : DType::f32, size, n, offset);
  if (pairs == 2) {
    access.rank = 2;
    access.dims[0] = {n, 2};
    access.dims[1] = {1, n};
  }
  return access;
}
Rows by_partition(const Matrix& matrix, int pairs) {
  Rows rows;
  for (std::size_t r = 0; r < matrix.size(); ++r) {
    if (r % static_cast<std::size_t>(pairs) == 0) {
      rows.emplace_back();
    }
    rows.back().insert(rows.back().end(), matrix[r].begin(), matrix[r].end());
  }
  return rows;
}

Comparison compare(int size, int floor, const std::vector<Step>& steps, bool whole,
                   std::uint64_t seed, int pairs = 1) {
  const isa::Machine machine = machine_of(size, pairs);
  Timing timing = read_timing("toy");
  timing.multiply_min_cycles = floor;
  timing.stationary_switch_cycles = 0;
  timing.fp8_columns_per_cycle = pairs;
  Bench bench(machine);
  ArrayModel elements(size, size, timing.stationary_columns_per_cycle, floor, pairs);
  ArrayClock clock(machine, timing);
  Random random(seed);
  Comparison result;
  std::vector<Rows> expected;
  Ticks next;
  Ticks end;
  for (const Step& step : steps) {
    isa::Operation operation;
    if (step.load) {
      const Matrix weights = random_matrix(random, size * pairs, size, whole);
      const isa::Access stationary = operand(size, pairs, size, 0);
      bench.put(stationary, by_partition(weights, pairs));
      operation = isa::LoadStationary{stationary, 0, pairs == 2};
      elements.load(weights);
    } else {
      const Matrix moving = random_matrix(random, size * pairs, step.n, whole);
      isa::Multiply multiply;
      multiply.moving = operand(size, pairs, step.n, 1024);
      multiply.out = psum(size, step.n);
      multiply.double_row = pairs == 2;
      bench.put(multiply.moving, by_partition(moving, pairs));
      elements.multiply(moving);
      operation = multiply;
    }
    bench.run(operation);
    if (!step.load) {
      expected.push_back(bench.get(psum(size, step.n)));
    }
    // Values of single rows are fp32, times those of a two-byte type: one pass.
    const std::int64_t cycles = pairs == 2 ? stream_cycles(operation, isa::Engine::tensor, timing)
                                           : (step.load ? (size + 3) / 4 : std::max(step.n, floor));
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

TEST_CASE("double rows of fp8 agree in values and times: both of a pair in one cycle") {
  Random random(6);
  for (int trial = 0; trial < 100; ++trial) {
    std::vector<Step> steps{{true, 0}};
    for (int i = 0; i < 6; ++i) {
      if (random.integer(0, 1) == 0 && !steps.back().load) {
        steps.push_back({true, 0});
      }
      steps.push_back({false, static_cast<int>(random.integer(1, 16))});
    }
    const Comparison c = compare(8, 4, steps, true, static_cast<std::uint64_t>(trial), 2);
    CHECK(c.bits_equal);
    CHECK(c.stream_difference == 0);
  }
  const Comparison large =
      compare(128, 64, {{true, 0}, {false, 100}, {true, 0}, {false, 512}}, true, 3, 2);
  CHECK(large.bits_equal);
  CHECK(large.stream_difference == 0);
  CHECK(large.drain == 128 + 128 - 2);
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
