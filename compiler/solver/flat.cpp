#include "compiler/solver/flat.hpp"

#include "compiler/solver/structure.hpp"

namespace systole::solver {
namespace {

void add_operator(Flat& flat, const Operator& op) {
  const int id = flat.operators++;
  flat.slot_begin.push_back(static_cast<int>(flat.slot_tensor.size()));
  for (const TensorId input : op.inputs) {
    flat.slot_tensor.push_back(static_cast<int>(input.index()));
    flat.slot_op.push_back(id);
  }
  flat.slot_tensor.push_back(static_cast<int>(op.output.index()));
  flat.slot_op.push_back(id);
  flat.row_begin.push_back(static_cast<int>(flat.row_cost.size()));
  flat.row_layouts_begin.push_back(flat.row_layouts.size());
  for (std::size_t r = 0; r < op.rows.size(); ++r) {
    const Row& row = op.rows[r];
    if (row.cost < infinity) {
      flat.row_index.push_back(static_cast<int>(r));
      flat.row_cost.push_back(row.cost);
      flat.row_layouts.insert(flat.row_layouts.end(), row.layouts.begin(), row.layouts.end());
    }
  }
}

void add_tensors(Flat& flat, const Problem& problem, const Structure& structure) {
  flat.tensors = static_cast<int>(problem.tensors.size());
  for (const TensorId id : problem.tensors.ids()) {
    const Tensor& tensor = problem.tensors[id];
    flat.layouts.push_back(tensor.layouts);
    flat.conversion_begin.push_back(flat.conversion.size());
    flat.conversion.insert(flat.conversion.end(), tensor.conversion.begin(),
                           tensor.conversion.end());
    flat.producer_slot.push_back(flat.slot_begin[structure.producer[id].index() + 1] - 1);
    flat.use_begin.push_back(static_cast<int>(flat.use_slot.size()));
    for (const Use& use : structure.uses[id]) {
      flat.use_slot.push_back(flat.slot_begin[use.op.index()] + use.argument);
    }
  }
  flat.use_begin.push_back(static_cast<int>(flat.use_slot.size()));
}

}  // namespace

Flat flatten(const Problem& problem) {
  Flat flat;
  for (const Operator& op : problem.operators) {
    add_operator(flat, op);
  }
  flat.slot_begin.push_back(static_cast<int>(flat.slot_tensor.size()));
  flat.row_begin.push_back(static_cast<int>(flat.row_cost.size()));
  const Structure structure = structure_of(problem);
  add_tensors(flat, problem, structure);
  for (const OperatorId id : structure.topological) {
    flat.topological.push_back(static_cast<int>(id.index()));
  }
  return flat;
}

}  // namespace systole::solver
