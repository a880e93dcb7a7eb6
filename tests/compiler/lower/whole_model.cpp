#include "tests/compiler/lower/whole_model.hpp"

#include <doctest/doctest.h>

#include "compiler/frontend/model.hpp"
#include "compiler/layout/apply.hpp"
#include "compiler/layout/state.hpp"
#include "compiler/passes/passes.hpp"
#include "compiler/solver/strategy.hpp"

namespace systole::test {

lower::Lowered lowered_model(const std::string& recipe, const isa::Machine& machine,
                             layout::Precision precision, const Dims& dims, const Choice& choice) {
  frontend::Options options;
  options.dims = dims;
  const graph::Graph graph = passes::canonicalize(frontend::read_model(recipe, options));
  const layout::Statement statement =
      layout::state_problem(graph, layout::storage_types(graph, precision), machine,
                            layout::read_cost_model(machine.name + "." + choice.costs));
  const solver::Result result =
      solver::solve(*solver::find_strategy(choice.strategy), statement.problem, {});
  return lower::lower_stages(layout::apply(graph, statement, result.assignment), machine);
}

sim::Report measured_model(const std::string& recipe, const isa::Machine& machine, const Dims& dims,
                           const Choice& choice) {
  sim::Options options;
  options.values = false;
  const lower::Lowered lowered =
      lowered_model(recipe, machine, layout::Precision::bf16, dims, choice);
  const sim::Outcome outcome =
      sim::simulate(lowered.program, machine, sim::read_timing(machine.name), {}, options);
  REQUIRE(outcome.status == sim::Status::done);
  return outcome.report;
}

}  // namespace systole::test
