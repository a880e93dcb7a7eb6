#include <doctest/doctest.h>

#include "isa/base/random.hpp"
#include "tests/compiler/lower/one_node.hpp"

namespace systole::lower {
namespace {

using testing::Trial;

Trial pooling(const isa::Machine& machine, std::vector<std::int64_t> x, graph::Window op) {
  Trial trial;
  trial.machine = machine;
  trial.op = std::move(op);
  graph::Tensor tensor;
  tensor.shape = std::move(x);
  trial.inputs = {tensor};
  trial.kernel = lower_window;
  return trial;
}

}  // namespace

TEST_CASE("pooling: overlapping windows, padding that never counts, every configuration") {
  Random random(31);
  for (const bool toy : {true, false}) {
    isa::Machine machine = testing::machine(toy ? "toy" : "trn1");
    machine.sbuf_bytes = std::max<std::int64_t>(machine.sbuf_bytes, 65536);  // the trial's own copies
    for (const graph::ReduceFunction function :
         {graph::ReduceFunction::max, graph::ReduceFunction::sum}) {
      const std::vector<Trial> trials{
          pooling(machine, {1, 9, 10}, {function, {3}, {2}, {1}, {1}, {1}}),
          pooling(machine, {2, 3, 7, 8}, {function, {3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}}),
          pooling(machine, {1, 17, 6, 6}, {function, {2, 2}, {2, 2}, {0, 0}, {0, 0}, {1, 1}}),
          pooling(machine, {1, 5, 5, 9}, {function, {2, 3}, {1, 1}, {0, 2}, {1, 2}, {2, 2}}),
          pooling(machine, {1, 2, 4, 5, 4},
                  {function, {2, 3, 2}, {1, 2, 1}, {0, 1, 1}, {1, 1, 0}, {1, 1, 1}}),
          pooling(machine, {1, 130, 7, 7}, {function, {7, 7}, {1, 1}, {0, 0}, {0, 0}, {1, 1}}),
      };
      for (Trial trial : trials) {
        for (const layout::Configuration& configuration : testing::all_configurations(trial)) {
          trial.configuration = configuration;
          trial.resident = {random.integer(0, 1) == 1, random.integer(0, 1) == 1};
          trial.storage = random.integer(0, 1) == 1 ? isa::DType::f32 : isa::DType::bf16;
          INFO(testing::describe(trial));
          CHECK(testing::run(trial).fault == "");
        }
      }
    }
  }
}

}  // namespace systole::lower
