// States Layout Selection for a graph: from graph, domains and cost model to a solver::Problem, with what is needed to
// read an answer back (apply.hpp) or to explain it.
//
// A tensor of the problem is a graph input or the output of a node; its layouts are its domain. Constants are no tensors of
// the problem: each row has the constant's layout that suits it, packed by the host. An operator of the problem is a
// source (graph input: one row per row-major layout of its domain, free of charge), a node (one row per configuration)
// or a sink (graph output: one row per row-major layout, free of charge; its own output is a tensor with one layout).
// A node that reads a tensor twice has it in two argument positions.
//
// Among configurations with the same layouts of all tensors of the problem only the cheapest is a row.
#pragma once

#include <memory>
#include <vector>

#include "compiler/graph/graph.hpp"
#include "compiler/layout/configurations.hpp"
#include "compiler/layout/cost_model.hpp"
#include "compiler/layout/domains.hpp"
#include "compiler/solver/problem.hpp"
#include "isa/machine.hpp"

namespace systole::layout {

struct StateOptions {
  DomainOptions domain;
};

struct RowMeaning {
  Configuration
      configuration;  // of all arguments, constants included; sources and sinks: only `output`, resp. one input
  Price price;
  bool operator==(const RowMeaning&) const = default;
};

enum class OperatorKind : std::uint8_t { source, node, sink };

struct OperatorMeaning {
  OperatorKind kind = OperatorKind::node;
  graph::NodeId node;      // nodes
  graph::TensorId tensor;  // sources and sinks
  std::shared_ptr<const std::vector<RowMeaning>>
      rows;  // as the problem's rows; equal nodes share them
};

struct TensorMeaning {
  graph::TensorId tensor;  // invalid for the output of a sink
  std::vector<Layout> layouts;
};

struct Statement {
  solver::Problem problem;
  IdVector<solver::TensorId, TensorMeaning> tensors;
  IdVector<solver::OperatorId, OperatorMeaning> operators;
  IdVector<graph::TensorId, solver::TensorId> of_tensor;  // invalid for constants
  IdVector<graph::NodeId, solver::OperatorId> of_node;

  // What prices were made of.
  IdVector<graph::TensorId, isa::DType> storage;
  IdVector<graph::TensorId, Standing> standing;
  CostModel costs;
  isa::Machine machine;  // least_plan() of the given one
};

// The machine with SBUF halved as long as it is no smaller than a real one's: what prices are made for, and the first that
// lowering plans for. Strips keep values on the chip in either, so that more room is no reason for another layout.
[[nodiscard]] isa::Machine least_plan(const isa::Machine& machine);

// The graph has passed graph::verify. Throws Error if the cost model is for another machine.
[[nodiscard]] Statement state_problem(const graph::Graph& graph,
                                      const IdVector<graph::TensorId, isa::DType>& storage,
                                      const isa::Machine& machine, const CostModel& costs,
                                      const StateOptions& options = {});

// The conversion that the problem charges for a tensor between two of its layouts.
[[nodiscard]] Conversion conversion_of(const Statement& statement, const graph::Graph& graph,
                                       graph::TensorId tensor, const Layout& from,
                                       const Layout& to);

}  // namespace systole::layout
