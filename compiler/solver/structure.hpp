// Derived facts about a problem's graph that every algorithm needs: who produces, who consumes, in which order.
#pragma once

#include <vector>

#include "compiler/solver/problem.hpp"

namespace systole::solver {

// Argument `argument` of operator `op`.
struct Use {
  OperatorId op;
  int argument = 0;
  bool operator==(const Use&) const = default;
};

struct Structure {
  IdVector<TensorId, OperatorId> producer;
  IdVector<TensorId, std::vector<Use>> uses;  // by operator index, then argument
  // Producers before consumers; ties by operator index, so it follows the given order where that is possible.
  // Shorter than the number of operators exactly when the graph has a cycle.
  std::vector<OperatorId> topological;
};

// Needs valid tensor ids; producers of tensors without one stay invalid.
Structure structure_of(const Problem& problem);

}  // namespace systole::solver
