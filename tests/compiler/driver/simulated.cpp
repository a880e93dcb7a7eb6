#include "tests/compiler/driver/simulated.hpp"

#include "compiler/driver/pipeline.hpp"
#include "compiler/driver/values.hpp"
#include "isa/base/error.hpp"
#include "sim/simulate.hpp"

namespace systole::tests {

std::vector<graph::Array> run_simulated(const graph::Graph& graph, const std::map<std::string, graph::Array>& inputs,
                                        const std::string& dtype, const std::string& strategy) {
  driver::TargetOptions options;
  options.dtype = dtype;
  const driver::Target target = driver::load_target(options);
  const driver::Model model = driver::canonical_model(graph);
  const layout::Statement statement = driver::state(model, target);
  const solver::Assignment chosen = driver::select_layouts(statement, strategy, {}, 1);
  const isa::Program program = driver::compile_assignment(model, target, statement, chosen).program;
  sim::Options checked;
  checked.poison = true;
  const sim::Outcome outcome = sim::simulate(program, target.machine, sim::read_timing(options.machine),
                                             driver::machine_inputs(program, inputs), checked);
  check(outcome.status == sim::Status::done, outcome.faults.empty() ? "not done" : outcome.faults[0].text);
  return driver::model_outputs(model.graph, program, outcome.outputs);
}

}  // namespace systole::tests
