#include "compiler/solver/problem.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/solver/structure.hpp"

namespace systole::solver {
namespace {

// Worst finite totals up to here leave algorithms room to scale costs.
constexpr Cost largest_total = Cost{1} << 50;

class Checker {
 public:
  explicit Checker(const Problem& problem) : problem_(problem) {}

  std::vector<Diagnostic> run() {
    for (const TensorId id : problem_.tensors.ids()) {
      check_tensor(id);
    }
    producers_.resize(problem_.tensors.size(), 0);
    for (const OperatorId id : problem_.operators.ids()) {
      check_operator(id);
    }
    for (const TensorId id : problem_.tensors.ids()) {
      if (producers_[id.index()] != 1) {
        report(display_name(problem_, id),
               fmt::format("tensor has {} producers instead of one", producers_[id.index()]));
      }
    }
    if (diagnostics_.empty()) {
      check_whole();
    }
    return std::move(diagnostics_);
  }

 private:
  void report(std::string where, std::string what) {
    diagnostics_.push_back({std::move(where), std::move(what)});
  }

  void check_tensor(TensorId id) {
    const Tensor& tensor = problem_.tensors[id];
    const std::string where = display_name(problem_, id);
    if (tensor.layouts < 1) {
      report(where, "tensor has no layout");
      return;
    }
    const auto k = static_cast<std::size_t>(tensor.layouts);
    if (tensor.conversion.size() != k * k) {
      report(where, fmt::format("conversion table has {} entries instead of {}",
                                tensor.conversion.size(), k * k));
      return;
    }
    for (std::size_t i = 0; i < k * k; ++i) {
      const Cost cost = tensor.conversion[i];
      if (cost < 0 || cost > infinity) {
        report(where, fmt::format("conversion cost {} is outside [0, infinity]", cost));
      } else if (i % (k + 1) == 0 && cost != 0) {
        report(where, fmt::format("conversion of layout {} to itself costs {} instead of 0",
                                  i / (k + 1), cost));
      }
    }
    if (!tensor.layout_names.empty() && tensor.layout_names.size() != k) {
      report(where, "number of layout names differs from the number of layouts");
    }
    if (!tensor.groups.empty() && tensor.groups.size() != k) {
      report(where, "number of groups differs from the number of layouts");
    }
  }

  void check_operator(OperatorId id) {
    const Operator& op = problem_.operators[id];
    const std::string where = display_name(problem_, id);
    std::vector<TensorId> arguments = op.inputs;
    arguments.push_back(op.output);
    for (const TensorId tensor : arguments) {
      if (!tensor.valid() || tensor.index() >= problem_.tensors.size()) {
        report(where, "operator names a tensor that does not exist");
        return;
      }
    }
    ++producers_[op.output.index()];
    if (op.rows.empty()) {
      report(where, "operator has no row");
    }
    for (std::size_t r = 0; r < op.rows.size(); ++r) {
      check_row(where, op.rows[r], r, arguments);
    }
  }

  void check_row(const std::string& where, const Row& row, std::size_t index,
                 const std::vector<TensorId>& arguments) {
    if (row.layouts.size() != arguments.size()) {
      report(where, fmt::format("row {} has {} layouts instead of {}", index, row.layouts.size(),
                                arguments.size()));
      return;
    }
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      if (row.layouts[i] < 0 || row.layouts[i] >= problem_.tensors[arguments[i]].layouts) {
        report(where, fmt::format("row {} uses layout {} of tensor {}, which has {} layouts", index,
                                  row.layouts[i], display_name(problem_, arguments[i]),
                                  problem_.tensors[arguments[i]].layouts));
      }
    }
    if (row.cost < 0 || row.cost > infinity) {
      report(where, fmt::format("cost {} of row {} is outside [0, infinity]", row.cost, index));
    }
  }

  void check_whole() {
    if (structure_of(problem_).topological.size() != problem_.operators.size()) {
      report("problem", "the graph has a cycle");
    }
    Cost worst = 0;
    for (const Operator& op : problem_.operators) {
      Cost most = 0;
      for (const Row& row : op.rows) {
        most = row.cost < infinity ? std::max(most, row.cost) : most;
      }
      worst = add(worst, most);
    }
    for (const Tensor& tensor : problem_.tensors) {
      Cost most = 0;
      for (int from = 0; from < tensor.layouts; ++from) {
        Cost sum = 0;
        for (int to = 0; to < tensor.layouts; ++to) {
          sum = tensor.convert(from, to) < infinity ? add(sum, tensor.convert(from, to)) : sum;
        }
        most = std::max(most, sum);
      }
      worst = add(worst, most);
    }
    if (worst > largest_total) {
      report("problem", "the worst finite total exceeds 2^50; scale the costs down");
    }
  }

  const Problem& problem_;
  std::vector<int> producers_;
  std::vector<Diagnostic> diagnostics_;
};

}  // namespace

std::vector<Diagnostic> check(const Problem& problem) {
  return Checker(problem).run();
}

CostParts cost_parts(const Problem& problem, const Assignment& assignment) {
  systole::check(assignment.row.size() == problem.operators.size(),
                 "an assignment has one row per operator");
  CostParts parts;
  IdVector<TensorId, int> produced(problem.tensors.size(), 0);
  IdVector<TensorId, std::vector<bool>> requested(problem.tensors.size());
  for (const OperatorId id : problem.operators.ids()) {
    const Operator& op = problem.operators[id];
    const int chosen = assignment.row[id];
    systole::check(chosen >= 0 && static_cast<std::size_t>(chosen) < op.rows.size(),
                   "a chosen row exists");
    const Row& row = op.rows[static_cast<std::size_t>(chosen)];
    parts.rows = add(parts.rows, row.cost);
    produced[op.output] = row.layouts.back();
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      std::vector<bool>& wanted = requested[op.inputs[i]];
      wanted.resize(static_cast<std::size_t>(problem.tensors[op.inputs[i]].layouts));
      wanted[static_cast<std::size_t>(row.layouts[i])] = true;
    }
  }
  for (const TensorId id : problem.tensors.ids()) {
    for (std::size_t layout = 0; layout < requested[id].size(); ++layout) {
      if (requested[id][layout] && static_cast<int>(layout) != produced[id]) {
        parts.conversions = add(
            parts.conversions, problem.tensors[id].convert(produced[id], static_cast<int>(layout)));
        ++parts.conversion_count;
      }
    }
  }
  return parts;
}

Cost evaluate(const Problem& problem, const Assignment& assignment) {
  const CostParts parts = cost_parts(problem, assignment);
  return add(parts.rows, parts.conversions);
}

std::string display_name(const Problem& problem, TensorId tensor) {
  const std::string& given = problem.tensors[tensor].name;
  return given.empty() ? fmt::format("t{}", tensor.index()) : given;
}

std::string display_name(const Problem& problem, OperatorId op) {
  const std::string& given = problem.operators[op].name;
  return given.empty() ? fmt::format("o{}", op.index()) : given;
}

std::string layout_name(const Tensor& tensor, int layout) {
  return tensor.layout_names.empty() ? fmt::format("{}", layout)
                                     : tensor.layout_names[static_cast<std::size_t>(layout)];
}

}  // namespace systole::solver
