// The walk from a model to a program, as the subcommands use it: one function per stage, values in, values out.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/driver/options.hpp"
#include "compiler/graph/graph.hpp"
#include "compiler/layout/laid_graph.hpp"
#include "compiler/layout/state.hpp"
#include "compiler/layout/storage.hpp"
#include "compiler/lower/stages.hpp"
#include "compiler/solver/strategy.hpp"
#include "isa/machine.hpp"
#include "isa/program.hpp"

namespace systole::driver {

struct Model {
  graph::Graph graph;           // canonical
  std::size_t nodes_read = 0;   // before canonicalization
  bool weights_absent = false;  // some constant has no data: timing only
  std::string name;
};

// Reads and canonicalizes. `read` (optional) gets the graph before canonicalization.
Model load_model(const ModelOptions& options, graph::Graph* read = nullptr);
Model canonical_model(graph::Graph graph);

struct Target {
  isa::Machine machine;
  layout::CostModel costs;
  std::string cost_file;  // as named in reports
  layout::Precision precision = layout::Precision::bf16;
};
Target load_target(const TargetOptions& options);
// The same with all the HBM one could want: cycles can be counted for models that the machine has no room for.
Target with_room(Target target);

layout::Statement state(const Model& model, const Target& target);

// The strategy of that name; throws Error listing the known ones.
const solver::Strategy& strategy_named(const std::string& name);
// From a comma-separated list; empty: every strategy but brute force, which is for tiny problems.
std::vector<const solver::Strategy*> strategies_named(const std::string& list);
solver::Budget budget_of(const SolveOptions& options, int threads);

// What the strategy chooses; throws Error when it finds no assignment within the budget.
solver::Assignment select_layouts(const layout::Statement& statement, const std::string& strategy,
                                  const SolveOptions& options, int threads);

// apply, lower, verify: the program of an assignment. Aborts if our own verifier refuses our own program.
struct Compiled : lower::Lowered {
  layout::LaidGraph laid;  // what reports count; what is lowered may be in strips
};
Compiled compile_assignment(const Model& model, const Target& target,
                            const layout::Statement& statement,
                            const solver::Assignment& assignment);

}  // namespace systole::driver
