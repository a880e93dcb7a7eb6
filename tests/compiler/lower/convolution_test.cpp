#include <doctest/doctest.h>
#include <fmt/format.h>

#include "isa/base/random.hpp"
#include "tests/compiler/lower/one_node.hpp"

namespace systole::lower {
namespace {

using testing::Trial;

graph::Tensor operand(std::vector<std::int64_t> shape) {
  graph::Tensor tensor;
  tensor.shape = std::move(shape);
  return tensor;
}

struct Case {
  std::vector<std::int64_t> x, w;
  graph::Convolution op;
};

Trial trial_of(const isa::Machine& machine, const Case& c) {
  Trial trial;
  trial.machine = machine;
  trial.op = c.op;
  trial.inputs = {operand(c.x), operand(c.w)};
  trial.kernel = lower_convolution;
  return trial;
}

// Up to `most` of the accepted configurations, residency at random; returns how many ran.
int try_configurations(Trial trial, std::size_t most, Random& random) {
  const std::vector<layout::Configuration> all = testing::all_configurations(trial);
  CHECK_FALSE(all.empty());
  int count = 0;
  for (std::size_t i = 0; i < std::min(most, all.size()); ++i) {
    const std::size_t pick = all.size() <= most
                                 ? i
                                 : static_cast<std::size_t>(random.integer(
                                       0, static_cast<std::int64_t>(all.size()) - 1));
    trial.configuration = all[pick];
    const std::int64_t bits = random.integer(0, 7);
    trial.resident = {(bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0};
    trial.seed = static_cast<std::uint64_t>(random.integer(1, 1000));
    INFO(testing::describe(trial));
    CHECK(testing::run(trial).fault == "");
    ++count;
  }
  return count;
}

graph::Convolution conv(std::vector<std::int64_t> strides, std::vector<std::int64_t> low,
                        std::vector<std::int64_t> high, std::vector<std::int64_t> dilations,
                        std::int64_t groups = 1) {
  return {std::move(strides), std::move(low), std::move(high), std::move(dilations), groups};
}

isa::Machine roomy_toy() {
  isa::Machine machine = testing::small_machine();
  machine.sbuf_bytes = 16384;
  return machine;
}

}  // namespace

TEST_CASE("convolutions of one to three spatial axes, on the small machine") {
  Random random(21);
  const isa::Machine machine = roomy_toy();
  const std::vector<Case> cases{
      {{1, 3, 9}, {5, 3, 3}, conv({1}, {1}, {1}, {1})},
      {{2, 9, 7}, {4, 9, 2}, conv({2}, {0}, {1}, {1})},
      {{1, 8, 6, 6}, {9, 8, 3, 3}, conv({1, 1}, {1, 1}, {1, 1}, {1, 1})},
      {{2, 2, 7, 9}, {3, 2, 3, 3}, conv({2, 2}, {1, 1}, {1, 1}, {1, 1})},
      {{1, 17, 5, 4}, {10, 17, 1, 1}, conv({1, 1}, {0, 0}, {0, 0}, {1, 1})},
      {{1, 2, 8, 8}, {3, 2, 2, 3}, conv({3, 2}, {0, 2}, {1, 0}, {2, 1})},
      {{1, 9, 3, 3}, {1, 9, 3, 3}, conv({1, 1}, {3, 3}, {3, 3}, {1, 1})},
      {{1, 3, 4, 5, 3}, {4, 3, 2, 3, 2}, conv({1, 2, 1}, {1, 1, 0}, {0, 1, 1}, {1, 1, 1})},
  };
  for (const Case& c : cases) {
    try_configurations(trial_of(machine, c), 40, random);
  }
}

TEST_CASE("grouped and depthwise convolutions, on the small machine") {
  Random random(23);
  const isa::Machine machine = roomy_toy();
  const std::vector<Case> cases{
      {{1, 6, 5, 5}, {4, 3, 3, 3}, conv({1, 1}, {1, 1}, {1, 1}, {1, 1}, 2)},
      {{1, 20, 4, 4}, {10, 4, 2, 2}, conv({1, 1}, {0, 0}, {0, 0}, {1, 1}, 5)},
      {{2, 16, 6}, {32, 8, 3}, conv({1}, {1}, {1}, {1}, 2)},
      {{1, 9, 6, 6}, {9, 1, 3, 3}, conv({1, 1}, {1, 1}, {1, 1}, {1, 1}, 9)},
      {{2, 5, 7, 6}, {10, 1, 3, 2}, conv({2, 1}, {1, 0}, {1, 1}, {1, 2}, 5)},
      {{1, 3, 11}, {9, 1, 4}, conv({2}, {3}, {3}, {1}, 3)},
  };
  for (const Case& c : cases) {
    try_configurations(trial_of(machine, c), 40, random);
  }
}

TEST_CASE("convolutions on an array with fewer columns than partitions") {
  Random random(29);
  for (const int columns : {4, 2}) {
    isa::Machine machine = roomy_toy();
    machine.array_columns = columns;
    const std::vector<Case> cases{
        {{1, 17, 5, 4}, {10, 17, 3, 1}, conv({1, 1}, {1, 0}, {1, 0}, {1, 1})},
        {{2, 2, 7, 9}, {3, 2, 3, 3}, conv({2, 2}, {1, 1}, {1, 1}, {1, 1})},
        {{1, 20, 4, 4}, {10, 4, 2, 2}, conv({1, 1}, {0, 0}, {0, 0}, {1, 1}, 5)},
    };
    for (const Case& c : cases) {
      INFO("columns ", columns);
      try_configurations(trial_of(machine, c), 20, random);
    }
  }
}

TEST_CASE("convolutions on trn1, fp32 and bf16") {
  Random random(25);
  const isa::Machine machine = testing::machine("trn1");
  const std::vector<Case> cases{
      {{1, 3, 32, 33}, {16, 3, 7, 7}, conv({2, 2}, {3, 3}, {3, 3}, {1, 1})},
      {{2, 1, 20, 9}, {7, 1, 5, 3}, conv({1, 1}, {2, 1}, {2, 1}, {1, 1})},
      {{1, 20, 8, 8}, {9, 20, 3, 3}, conv({1, 1}, {1, 1}, {1, 1}, {1, 1})},
      {{1, 130, 9, 9}, {129, 130, 3, 3}, conv({1, 1}, {1, 1}, {1, 1}, {1, 1})},
      {{2, 64, 28, 28}, {32, 64, 1, 1}, conv({2, 2}, {0, 0}, {0, 0}, {1, 1})},
      {{1, 64, 12, 12}, {64, 4, 3, 3}, conv({1, 1}, {1, 1}, {1, 1}, {1, 1}, 16)},
      {{1, 129, 10, 10}, {129, 1, 3, 3}, conv({1, 1}, {1, 1}, {1, 1}, {1, 1}, 129)},
  };
  for (const Case& c : cases) {
    for (const isa::DType storage : {isa::DType::f32, isa::DType::bf16}) {
      Trial trial = trial_of(machine, c);
      trial.storage = storage;
      try_configurations(trial, 5, random);
    }
  }
}

TEST_CASE("a small SBUF cuts the image into blocks with halos") {
  Random random(27);
  isa::Machine machine = testing::small_machine();
  for (const std::int64_t bytes : {2560, 4096}) {
    machine.sbuf_bytes = bytes;
    Trial trial =
        trial_of(machine, {{1, 6, 14, 12}, {9, 6, 3, 3}, conv({1, 1}, {1, 1}, {1, 1}, {1, 1})});
    for (const layout::Configuration& configuration : testing::all_configurations(trial)) {
      trial.configuration = configuration;
      INFO(testing::describe(trial), " bytes ", bytes);
      CHECK(testing::run(trial).fault == "");
    }
  }
  (void)random;
}

}  // namespace systole::lower
