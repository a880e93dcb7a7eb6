// What the programs are worth on the timed machine: floors for the published shapes, with some room
// for the model of the machine to be refined.
#include <doctest/doctest.h>

#include "tests/compiler/lower/one_node.hpp"

namespace systole::lower {
namespace {

// [k, m] x [k, n], all in HBM, bf16.
testing::Trial product(std::int64_t m, std::int64_t n, std::int64_t k) {
  testing::Trial trial;
  trial.machine = testing::machine("trn1");
  trial.op = graph::Contraction{{2, 0}, {2, 1}, {0, 1}};
  trial.inputs.resize(2);
  trial.inputs[0].shape = {k, m};
  trial.inputs[1].shape = {k, n};
  trial.kernel = lower_contraction;
  trial.storage = isa::DType::bf16;
  trial.configuration = {{layout::row_major(2, 1), layout::row_major(2, 1)},
                         layout::row_major(2, 1),
                         layout::Mechanism::lhs_stationary};
  return trial;
}

double tensor_busy(const sim::Report& report) {
  return static_cast<double>(
             report.engines[static_cast<std::size_t>(isa::Engine::tensor)].busy.count()) /
         static_cast<double>(report.total.count());
}

// With the filters stationary, channels on the partitions of both sides, bf16.
testing::Trial convolution(const graph::Convolution& op, const graph::Shape& image,
                           const graph::Shape& filters) {
  testing::Trial trial;
  trial.machine = testing::machine("trn1");
  trial.op = op;
  trial.inputs.resize(2);
  trial.inputs[0].shape = image;
  trial.inputs[1].shape = filters;
  trial.kernel = lower_convolution;
  trial.storage = isa::DType::bf16;
  trial.configuration = {{layout::Layout{{1, 0, 2, 3}, 1, 0}, layout::Layout{{1, 2, 3, 0}, 1, 0}},
                         layout::Layout{{1, 0, 2, 3}, 1, 0},
                         layout::Mechanism::rhs_stationary};
  return trial;
}

}  // namespace

TEST_CASE("large products keep the tensor engine busy") {
  CHECK(tensor_busy(testing::measure(product(2048, 2048, 2048), "trn1")) >= 0.80);
  CHECK(tensor_busy(testing::measure(product(4096, 8192, 8192), "trn1")) >= 0.85);
}

TEST_CASE("a product that waits for HBM stays near its bandwidth") {
  CHECK(tensor_busy(testing::measure(product(384, 4096, 1024), "trn1")) >= 0.60);
}

TEST_CASE("the first convolution of a ResNet does not take a pass per kernel position") {
  const graph::Convolution op{{2, 2}, {3, 3}, {3, 3}, {1, 1}, 1};
  // 49 passes over 12,544 pixels take 220 us at one column per cycle.
  CHECK(testing::measure(convolution(op, {1, 3, 224, 224}, {64, 3, 7, 7}), "trn1").microseconds <=
        80.0);
}

TEST_CASE("a convolution with few filters works on several pixel tiles side by side") {
  const graph::Convolution op{{1, 1}, {1, 1}, {1, 1}, {1, 1}, 1};
  // Nine passes over 12,544 pixels, one after another, take 40.3 us in the array alone.
  CHECK(testing::measure(convolution(op, {1, 64, 112, 112}, {64, 64, 3, 3}), "trn1").microseconds <=
        40.0);
}

TEST_CASE(
    "a product whose batches lie side by side in the result is not stored element by element") {
  testing::Trial trial;
  trial.machine = testing::machine("trn1");
  trial.op = graph::Contraction{{0, 1, 3}, {0, 3, 2}, {0, 1, 2}};
  trial.inputs.resize(2);
  trial.inputs[0].shape = {32, 128, 128};
  trial.inputs[1].shape = {32, 128, 256};
  trial.kernel = lower_contraction;
  trial.storage = isa::DType::bf16;
  trial.configuration = {{layout::Layout{{2, 0, 1}, 1, 0}, layout::Layout{{1, 0, 2}, 1, 0}},
                         layout::Layout{{1, 2, 0}, 1, 0},
                         layout::Mechanism::lhs_stationary};
  CHECK(testing::run(trial).fault.empty());
  // Each of 1,048,576 elements in a row of its own takes 4,179 us.
  CHECK(testing::measure(trial, "trn1").microseconds <= 80.0);
}

}  // namespace systole::lower
