// From an answer of the solver to a laid-out graph: every operand in the layout of its operator's chosen row, conversions
// as explicit Convert nodes (one per tensor and distinct wanted layout, in front of the kernel of the first node that wants it),
// constants once per layout asked for.
#pragma once

#include <string>
#include <vector>

#include "compiler/layout/laid_graph.hpp"
#include "compiler/layout/state.hpp"
#include "compiler/solver/problem.hpp"

namespace systole::layout {

// The assignment is one of statement.problem with finite cost. The result has passed verify (a fault would be ours), and
// the sum of its predictions is solver::evaluate(statement.problem, assignment). Tensors keep their ids.
[[nodiscard]] LaidGraph apply(const graph::Graph& graph, const Statement& statement, const solver::Assignment& assignment);

// One row per Convert node, for reports.
struct ConversionRow {
  std::string tensor;  // the converted tensor's name
  Layout from, to;
  Mechanism mechanism = Mechanism::dma;
  std::int64_t bytes = 0;   // of the tensor
  std::int64_t cycles = 0;  // predicted
};
[[nodiscard]] std::vector<ConversionRow> conversions(const LaidGraph& laid);

[[nodiscard]] std::int64_t predicted_total(const LaidGraph& laid);

}  // namespace systole::layout
