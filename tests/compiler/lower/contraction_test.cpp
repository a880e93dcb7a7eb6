#include <doctest/doctest.h>
#include <fmt/format.h>

#include "isa/base/random.hpp"
#include "tests/compiler/lower/one_node.hpp"

namespace systole::lower {
namespace {

using testing::Trial;

graph::Tensor operand(std::vector<std::int64_t> shape,
                      graph::ElementType type = graph::ElementType::f32) {
  graph::Tensor tensor;
  tensor.type = type;
  tensor.shape = std::move(shape);
  return tensor;
}

Trial trial_of(const isa::Machine& machine, graph::Contraction op, std::vector<std::int64_t> lhs,
               std::vector<std::int64_t> rhs) {
  Trial trial;
  trial.machine = machine;
  trial.op = std::move(op);
  trial.inputs = {operand(std::move(lhs)), operand(std::move(rhs))};
  trial.kernel = lower_contraction;
  return trial;
}

// Up to `most` of the accepted configurations, with every combination of residency in turn; returns
// how many ran.
int try_configurations(Trial trial, std::size_t most, Random& random) {
  std::vector<layout::Configuration> all = testing::all_configurations(trial);
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

const graph::Contraction matmul{{0, 2}, {2, 1}, {0, 1}};

}  // namespace

TEST_CASE("matrix products of awkward extents, on the small machine, in every configuration") {
  Random random(3);
  for (const std::vector<std::int64_t>& s : std::vector<std::vector<std::int64_t>>{{1, 1, 1},
                                                                                   {3, 5, 2},
                                                                                   {8, 16, 8},
                                                                                   {9, 17, 7},
                                                                                   {1, 20, 9},
                                                                                   {20, 1, 9},
                                                                                   {17, 33, 31},
                                                                                   {7, 40, 1}}) {
    INFO(fmt::format("m {} n {} k {}", s[0], s[1], s[2]));
    try_configurations(trial_of(testing::small_machine(), matmul, {s[0], s[2]}, {s[2], s[1]}), 1000,
                       random);
  }
}

TEST_CASE("batched products with several labels of each class, on the small machine") {
  Random random(5);
  const isa::Machine machine = testing::small_machine();
  SUBCASE("one free batch") {
    try_configurations(trial_of(machine, {{0, 1, 3}, {0, 3, 2}, {0, 1, 2}}, {3, 5, 9}, {3, 9, 6}),
                       150, random);
  }
  SUBCASE("batch in front of k and m on the partitions") {
    try_configurations(trial_of(machine, {{0, 1, 3}, {0, 3, 2}, {0, 1, 2}}, {3, 4, 8}, {3, 8, 12}),
                       150, random);
  }
  SUBCASE("two k labels") {
    try_configurations(trial_of(machine, {{0, 2, 3}, {2, 3, 1}, {0, 1}}, {5, 3, 4}, {3, 4, 7}), 150,
                       random);
  }
  SUBCASE("two m and two n labels") {
    try_configurations(
        trial_of(machine, {{0, 1, 4}, {4, 2, 3}, {3, 0, 1, 2}}, {3, 5, 6}, {6, 4, 5}), 150, random);
  }
  SUBCASE("heads: batch x m against batch x n, transposed result") {
    try_configurations(
        trial_of(machine, {{0, 1, 2, 3}, {0, 1, 4, 3}, {0, 2, 1, 4}}, {2, 2, 5, 4}, {2, 2, 6, 4}),
        150, random);
  }
  SUBCASE("no m, no n, no k") {
    try_configurations(trial_of(machine, {{0, 1}, {0, 1}, {0}}, {3, 9}, {3, 9}), 50, random);
    try_configurations(trial_of(machine, {{0}, {0}, {}}, {19}, {19}), 50, random);
    try_configurations(trial_of(machine, {{0}, {1}, {1, 0}}, {9}, {18}), 50, random);
  }
}

TEST_CASE("products on an array with fewer columns than partitions") {
  Random random(31);
  for (const int columns : {4, 2}) {
    isa::Machine machine = testing::small_machine();
    machine.array_columns = columns;
    INFO("columns ", columns);
    try_configurations(trial_of(machine, matmul, {17, 31}, {31, 33}), 40, random);
    try_configurations(trial_of(machine, {{0, 1, 3}, {0, 3, 2}, {0, 1, 2}}, {3, 5, 9}, {3, 9, 6}),
                       40, random);
  }
}

TEST_CASE("a sum over nothing is zero") {
  Trial trial = trial_of(testing::small_machine(), matmul, {5, 0}, {0, 20});
  trial.configuration = {{layout::Layout{{1, 0}, 1, 0}, layout::row_major(2, 1)},
                         layout::row_major(2, 1),
                         layout::Mechanism::lhs_stationary};
  CHECK(testing::run(trial).fault == "");
}

TEST_CASE("products on trn1 and trn2 around the array's edges, fp32 and bf16") {
  Random random(9);
  for (const char* name : {"trn1", "trn2"}) {
    const isa::Machine machine = testing::machine(name);
    for (const std::vector<std::int64_t>& s : std::vector<std::vector<std::int64_t>>{
             {33, 31, 32}, {127, 513, 130}, {129, 64, 129}, {130, 1, 257}, {1, 130, 128}}) {
      for (const isa::DType storage : {isa::DType::f32, isa::DType::bf16}) {
        Trial trial = trial_of(machine, matmul, {s[0], s[2]}, {s[2], s[1]});
        trial.storage = storage;
        try_configurations(trial, 6, random);
      }
    }
    Trial heads = trial_of(machine, {{0, 1, 2, 3}, {0, 1, 4, 3}, {0, 1, 2, 4}}, {1, 3, 33, 64},
                           {1, 3, 40, 64});
    heads.storage = isa::DType::bf16;
    try_configurations(heads, 20, random);
  }
}

TEST_CASE("an SBUF too small for a block still gives the product: partial sums wait in fp32") {
  Random random(13);
  isa::Machine machine = testing::small_machine();
  for (const std::int64_t bytes : {1536, 2048, 3072}) {
    machine.sbuf_bytes = bytes;
    Trial trial = trial_of(machine, matmul, {40, 70}, {70, 90});
    for (const layout::Configuration& configuration : testing::all_configurations(trial)) {
      trial.configuration = configuration;
      INFO(testing::describe(trial), " bytes ", bytes);
      CHECK(testing::run(trial).fault == "");
    }
  }
  (void)random;
}

TEST_CASE("products of whole numbers are exact, whatever their size") {
  Random random(17);
  struct Case {
    graph::ElementType lhs, rhs;
    std::int64_t lhs_most, rhs_most;
  };
  using graph::ElementType;
  for (const Case& c : {Case{ElementType::u8, ElementType::i8, 255, 127},
                        Case{ElementType::i8, ElementType::i16, 127, 32767},
                        Case{ElementType::i32, ElementType::u8, 300000, 100},
                        Case{ElementType::i32, ElementType::i32, 9000, 5000}}) {
    Trial trial = trial_of(testing::small_machine(), matmul, {5, 40}, {40, 20});
    trial.machine.sbuf_bytes = 16384;
    trial.inputs = {operand({5, 40}, ElementType::i32), operand({40, 20}, ElementType::i32)};
    trial.cast_from = {c.lhs, c.rhs};
    trial.magnitudes = {c.lhs_most, c.rhs_most};
    for (const layout::Configuration& configuration : testing::all_configurations(trial)) {
      trial.configuration = configuration;
      trial.resident = {random.integer(0, 1) == 1, random.integer(0, 1) == 1,
                        random.integer(0, 1) == 1};
      trial.seed = static_cast<std::uint64_t>(random.integer(1, 1000));
      INFO(testing::describe(trial), " cast from ", graph::name_of(c.lhs), " ",
           graph::name_of(c.rhs));
      CHECK(testing::run(trial).fault == "");
    }
  }
}

}  // namespace systole::lower
