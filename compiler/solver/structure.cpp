#include "compiler/solver/structure.hpp"

#include <cstddef>
#include <functional>
#include <queue>

namespace systole::solver {

Structure structure_of(const Problem& problem) {
  Structure structure;
  structure.producer.resize(problem.tensors.size());
  structure.uses.resize(problem.tensors.size());
  for (const OperatorId id : problem.operators.ids()) {
    const Operator& op = problem.operators[id];
    structure.producer[op.output] = id;
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      structure.uses[op.inputs[i]].push_back({id, static_cast<int>(i)});
    }
  }
  IdVector<OperatorId, std::size_t> missing(problem.operators.size());
  std::priority_queue<OperatorId, std::vector<OperatorId>, std::greater<>> ready;
  for (const OperatorId id : problem.operators.ids()) {
    missing[id] = problem.operators[id].inputs.size();
    if (missing[id] == 0) {
      ready.push(id);
    }
  }
  structure.topological.reserve(problem.operators.size());
  while (!ready.empty()) {
    const OperatorId id = ready.top();
    ready.pop();
    structure.topological.push_back(id);
    for (const Use& use : structure.uses[problem.operators[id].output]) {
      if (--missing[use.op] == 0) {
        ready.push(use.op);
      }
    }
  }
  return structure;
}

}  // namespace systole::solver
