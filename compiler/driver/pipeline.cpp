#include "compiler/driver/pipeline.hpp"

#include <fmt/format.h>

#include <charconv>
#include <set>

#include "compiler/frontend/model.hpp"
#include "compiler/frontend/npy.hpp"
#include "compiler/layout/apply.hpp"
#include "compiler/passes/passes.hpp"
#include "isa/base/error.hpp"
#include "isa/verify.hpp"

namespace systole::driver {
namespace {

std::int64_t whole_number(const std::string& option, const std::string& text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    throw Error(option, "'" + text + "' is not a whole number", "give one");
  }
  return value;
}

frontend::Options reader_options(const ModelOptions& options) {
  frontend::Options out;
  for (const auto& [name, value] : pairs("--dim", options.dims)) {
    const std::int64_t extent = whole_number("--dim " + name, value);
    if (extent < 0) {
      throw Error("--dim " + name, "is negative", "extents are 0 or more");
    }
    out.dims[name] = extent;
  }
  for (const auto& [name, file] : pairs("--input", options.inputs)) {
    out.input_shapes[name] = frontend::read_npy_shape(file);
  }
  if (!options.weights.empty() && options.weights != "absent") {
    const std::string prefix = "random:";
    if (options.weights.rfind(prefix, 0) != 0) {
      throw Error("--weights " + options.weights, "is not understood", "use random:SEED");
    }
    const std::int64_t seed = whole_number("--weights", options.weights.substr(prefix.size()));
    if (seed < 0) {
      throw Error("--weights " + options.weights, "has a negative seed", "seeds are 0 or more");
    }
    out.random_weights = static_cast<std::uint64_t>(seed);
  }
  return out;
}

bool lacks_weights(const graph::Graph& graph) {
  for (const graph::Tensor& tensor : graph.tensors) {
    if (tensor.kind == graph::TensorKind::constant && tensor.data == nullptr) {
      return true;
    }
  }
  return false;
}

// Inputs and outputs are named on the command line and in programs: each name once.
void expect_distinct_names(const graph::Graph& graph) {
  std::set<std::string> names;
  for (const graph::TensorId id : graph.inputs) {
    names.insert(graph.tensors[id].name);
  }
  for (const std::string& name : graph.output_names) {
    if (!names.insert(name).second) {
      throw Error(graph.name, "two inputs or outputs are named '" + name + "'",
                  "rename one of them");
    }
  }
}

// Every tensor has its own place in HBM.
void expect_room_in_hbm(const isa::Program& program, const isa::Machine& machine) {
  std::int64_t bytes = 0;
  for (const isa::HbmTensor& tensor : program.tensors) {
    bytes += isa::storage_bytes(tensor);
  }
  if (bytes > machine.hbm_bytes) {
    throw Error(program.name,
                fmt::format("its tensors take {} bytes, {} has {} bytes of HBM", bytes,
                            machine.name, machine.hbm_bytes),
                "use a smaller model, a machine with more memory, or run --timing-only");
  }
}

}  // namespace

Model load_model(const ModelOptions& options, graph::Graph* read) {
  const frontend::Options reader = reader_options(options);
  graph::Graph graph = options.model.empty() ? frontend::default_model(reader)
                                             : frontend::read_model(options.model, reader);
  if (read != nullptr) {
    *read = graph;
  }
  return canonical_model(std::move(graph));
}

Model canonical_model(graph::Graph graph) {
  Model model;
  model.name = graph.name;
  model.nodes_read = graph.nodes.size();
  model.graph = passes::canonicalize(std::move(graph));
  model.weights_absent = lacks_weights(model.graph);
  expect_distinct_names(model.graph);
  return model;
}

Target load_target(const TargetOptions& options) {
  Target target;
  target.machine = isa::read_machine(options.machine);
  target.cost_file = options.costs.empty() ? layout::analytic_costs(target.machine) : options.costs;
  target.costs = layout::read_cost_model(target.cost_file);
  if (options.costs.empty()) {
    target.costs.machine = target.machine.name;
  }
  if (options.dtype == "fp32") {
    target.precision = layout::Precision::fp32;
  } else if (options.dtype != "bf16") {
    throw Error("--dtype " + options.dtype, "is not known", "use bf16 or fp32");
  }
  return target;
}

layout::Statement state(const Model& model, const Target& target) {
  return layout::state_problem(model.graph, layout::storage_types(model.graph, target.precision),
                               target.machine, target.costs);
}

const solver::Strategy& strategy_named(const std::string& name) {
  const solver::Strategy* strategy = solver::find_strategy(name);
  if (strategy == nullptr) {
    std::string known;
    for (const solver::Strategy& s : solver::strategies()) {
      known += (known.empty() ? "" : ", ") + std::string(s.name);
    }
    throw Error("strategy '" + name + "'", "is not known", "the strategies are: " + known);
  }
  return *strategy;
}

std::vector<const solver::Strategy*> strategies_named(const std::string& list) {
  std::vector<const solver::Strategy*> out;
  if (list.empty()) {
    for (const solver::Strategy& strategy : solver::strategies()) {
      if (strategy.name != "brute_force") {
        out.push_back(&strategy);
      }
    }
    return out;
  }
  std::size_t begin = 0;
  while (begin <= list.size()) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    out.push_back(&strategy_named(list.substr(begin, end - begin)));
    begin = end + 1;
  }
  return out;
}

solver::Budget budget_of(const SolveOptions& options, int threads) {
  solver::Budget budget;
  budget.seconds = options.budget_seconds;
  budget.threads = threads;
  if (options.memory_bytes > 0) {
    budget.memory_bytes = options.memory_bytes;
  }
  return budget;
}

solver::Assignment select_layouts(const layout::Statement& statement, const std::string& strategy,
                                  const SolveOptions& options, int threads) {
  const solver::Result solved =
      solver::solve(strategy_named(strategy), statement.problem, budget_of(options, threads));
  if (solved.assignment.row.empty() && !statement.problem.operators.empty()) {
    throw Error(strategy, solved.note.empty() ? "found no layout assignment" : solved.note,
                "give more --budget or --memory, or another --strategy");
  }
  return solved.assignment;
}

Compiled compile_assignment(const Model& model, const Target& target,
                            const layout::Statement& statement,
                            const solver::Assignment& assignment) {
  Compiled out;
  out.laid = layout::apply(model.graph, statement, assignment);
  static_cast<lower::Lowered&>(out) = lower::lower_stages(out.laid, target.machine);
  out.program.name = model.name;
  expect_room_in_hbm(out.program, target.machine);
  const auto faults = isa::verify(out.program, target.machine);
  check(faults.empty(),
        faults.empty() ? "" : "our program: " + isa::describe(faults.front(), out.program));
  return out;
}

Target with_room(Target target) {
  target.machine.hbm_bytes = std::int64_t{1} << 60U;
  return target;
}

}  // namespace systole::driver
