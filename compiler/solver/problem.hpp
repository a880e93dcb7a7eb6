// Layout Selection as integers: choose one row of every operator so that rows and conversions together cost least.
//
// Given: tensors, each with a finite set of layouts 0..layouts-1 and a table of conversion costs; operators, each with
// input tensors, exactly one output tensor and a list of rows. A row fixes the layout in which each input is read and
// in which the output is produced, and has a cost. Every tensor has exactly one producer; graph inputs and constants
// are outputs of source operators without inputs. Operators may stand in any order; the graph must be acyclic.
// An operator with several outputs is modelled by auxiliary operators: a main operator that produces one output, and
// per further output an operator that reads it and produces that output.
//
// Objective: the sum of the chosen rows' costs, plus for each tensor one conversion per DISTINCT layout in which some
// consumer reads it and which differs from the produced layout. `evaluate` is the only definition of cost.
//
// Nothing here knows shapes, element types or machines. Names and hints are for people and for the heuristic
// strategies (rule, xla, smartmem, neocpu); they never change a cost.
// Errors: `check` returns every violation; functions taking a Problem expect one that passed it.
// Source: the formulation of the Layout Selection paper, section 2 (Problem 0).
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "compiler/solver/cost.hpp"
#include "isa/base/id.hpp"

namespace systole::solver {

using TensorId = Id<struct TensorTag>;
using OperatorId = Id<struct OperatorTag>;

struct Tensor {
  std::string name;
  int layouts = 0;
  std::vector<Cost> conversion;           // layouts * layouts, [from * layouts + to]; diagonal 0
  std::vector<std::string> layout_names;  // optional: empty, or one per layout
  std::vector<int>
      groups;  // hint, optional: group of the logical dimension each layout is about; -1 none

  [[nodiscard]] Cost convert(int from, int to) const {
    return conversion[static_cast<std::size_t>(from) * static_cast<std::size_t>(layouts) +
                      static_cast<std::size_t>(to)];
  }
  bool operator==(const Tensor&) const = default;
};

// One configuration. layouts: one per input in argument order, then the output's.
struct Row {
  std::vector<int> layouts;
  Cost cost = 0;
  bool operator==(const Row&) const = default;
};

struct Operator {
  std::string name;
  std::vector<TensorId> inputs;
  TensorId output;
  std::vector<Row> rows;
  std::string
      family;  // hint: contraction, convolution, map, reduce, movement, source; empty unknown
  int group =
      -1;  // hint: operators of one group belong together (one layer, one fused block); -1 none

  bool operator==(const Operator&) const = default;
};

struct Problem {
  IdVector<TensorId, Tensor> tensors;
  IdVector<OperatorId, Operator> operators;
  bool operator==(const Problem&) const = default;
};

// What is wrong and where, for people.
struct Diagnostic {
  std::string where;
  std::string what;
  bool operator==(const Diagnostic&) const = default;
};

// Every violation of the rules above; empty when the problem is well formed.
std::vector<Diagnostic> check(const Problem& problem);

// Index of the chosen row per operator. It fixes the layout of every production and every use.
struct Assignment {
  IdVector<OperatorId, int> row;
  bool operator==(const Assignment&) const = default;
};

// The objective. Infinite when a chosen row or a needed conversion is. Aborts if the assignment does not fit.
Cost evaluate(const Problem& problem, const Assignment& assignment);

// Parts of the objective, for reports: rows + conversions == evaluate(...).
struct CostParts {
  Cost rows = 0;
  Cost conversions = 0;
  int conversion_count = 0;
  bool operator==(const CostParts&) const = default;
};
CostParts cost_parts(const Problem& problem, const Assignment& assignment);

// Names for messages and files: the given one, or t<index>, o<index>, <layout index> where none was given.
std::string display_name(const Problem& problem, TensorId tensor);
std::string display_name(const Problem& problem, OperatorId op);
std::string layout_name(const Tensor& tensor, int layout);

}  // namespace systole::solver
