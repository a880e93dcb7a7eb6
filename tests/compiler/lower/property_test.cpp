// Random graphs in random legal layouts: whatever layout selection may choose, the program keeps the static rules, runs
// without a fault on memory full of NaN, and gives the reference's values.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>

#include "compiler/layout/apply.hpp"
#include "compiler/layout/state.hpp"
#include "compiler/solver/problem.hpp"
#include "isa/base/random.hpp"
#include "tests/compiler/lower/kernel_harness.hpp"
#include "tests/support/random_graph.hpp"

namespace systole::test {
namespace {

solver::Assignment random_assignment(const solver::Problem& problem, Random& random) {
  solver::Assignment out;
  for (const solver::Operator& op : problem.operators) {
    out.row.add(static_cast<int>(random.integer(0, static_cast<std::int64_t>(op.rows.size()) - 1)));
  }
  return out;
}

struct Plan {
  int seeds = 0;
  int assignments = 2;
  int nodes = 8;
  layout::Precision precision = layout::Precision::fp32;
  Tolerance tolerance{2e-3, 1e-3};
  // At least so many conversions by `cheap`, whose price is then next to nothing, so that they are everywhere.
  std::int64_t turned = 0;
  layout::Mechanism cheap = layout::Mechanism::dma_transpose;
};

void run(const std::string& machine_name, const Plan& plan, const std::vector<Family>& families) {
  const isa::Machine machine = isa::read_machine(machine_name);
  layout::CostModel costs = layout::read_cost_model(machine_name + ".analytic");
  if (plan.turned > 0 && plan.cheap == layout::Mechanism::dma_transpose) {
    costs.transpose_hbm_byte = costs.transpose_sbuf_byte = 1e-6;
    costs.transfer = 0;
    costs.turned_block = 0;
  } else if (plan.turned > 0) {
    costs.turned_block = 1e-6;
  }
  int compared = 0;
  std::int64_t turned = 0;
  for (int seed = 1; seed <= plan.seeds; ++seed) {
    RandomGraphOptions options;
    options.seed = static_cast<std::uint64_t>(seed);
    options.nodes = plan.nodes;
    options.families = families;
    options.max_elements = 4000;
    options.max_products = 200000;
    options.extents = {1, 2, 3, 9, 31, 33, 129};
    const graph::Graph graph = random_graph(options);
    const auto inputs = random_inputs(graph, options.seed);
    const layout::Statement statement =
        layout::state_problem(graph, layout::storage_types(graph, plan.precision), machine, costs);
    Random random(options.seed);
    for (int i = 0; i < plan.assignments; ++i) {
      const solver::Assignment assignment = random_assignment(statement.problem, random);
      if (solver::evaluate(statement.problem, assignment) >= solver::infinity) {
        continue;
      }
      const layout::LaidGraph laid = layout::apply(graph, statement, assignment);
      const std::string fault = fault_of(laid, inputs, machine, plan.tolerance);
      CHECK_MESSAGE(fault.empty(),
                    fmt::format("{} seed {} assignment {}: {}", machine_name, seed, i, fault));
      ++compared;
      turned += std::ranges::count(laid.mechanisms, plan.cheap);
    }
  }
  CHECK(compared >= plan.seeds);
  CHECK(turned >= plan.turned);
}

std::vector<Family> movement_families() {
  return {Family::transpose, Family::reshape, Family::slice,           Family::concat,
          Family::pad,       Family::expand,  Family::gather_elements, Family::gather};
}

}  // namespace

TEST_CASE("random graphs of continuous operators in random layouts give the reference's values") {
  run("trn1", {40}, continuous_families());
  run("toy", {40}, continuous_families());
}

TEST_CASE("random graphs in bf16 stay near the reference") {
  Plan plan{20};
  plan.nodes = 4;
  plan.precision = layout::Precision::bf16;
  plan.tolerance = {4e-2, 1e-2};
  run("trn1", plan, continuous_families());
  run("trn2", plan, continuous_families());
}

TEST_CASE("random graphs keep their values where DMA transposes all that it can") {
  Plan plan{40, 4};
  plan.precision = layout::Precision::bf16;
  plan.tolerance = {4e-2, 1e-2};
  plan.turned = 12;
  run("trn2", plan, continuous_families());
}

TEST_CASE("random graphs keep their values where Vector turns all that it can") {
  Plan plan{20};
  plan.cheap = layout::Mechanism::vector_transpose;
  plan.turned = 50;
  run("trn1", plan, continuous_families());
  run("toy", plan, continuous_families());
  plan.tolerance = {0.0, 0.0};
  plan.nodes = 6;
  run("trn1", plan, movement_families());
}

TEST_CASE("random chains of data movement are exact") {
  Plan plan{60};
  plan.nodes = 6;
  plan.tolerance = {0.0, 0.0};
  for (const std::string machine : {"trn1", "toy"}) {
    run(machine, plan, movement_families());
  }
  plan.precision = layout::Precision::bf16;
  run("trn2", plan, movement_families());
}

}  // namespace systole::test
