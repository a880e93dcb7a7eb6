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
        report(id, fmt::format("tensor has {} producers instead of one", producers_[id.index()]));
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
  template <class Tag>
  void report(Id<Tag> id, std::string what) {
    report(display_name(problem_, id), std::move(what));
  }

  void check_tensor(TensorId id) {
    const Tensor& tensor = problem_.tensors[id];
    if (tensor.layouts < 1) {
      report(id, "tensor has no layout");
      return;
    }
    const auto k = static_cast<std::size_t>(tensor.layouts);
    if (tensor.conversion.size() != k * k) {
      report(id, fmt::format("conversion table has {} entries instead of {}",
                             tensor.conversion.size(), k * k));
      return;
    }
    for (std::size_t i = 0; i < k * k; ++i) {
      const Cost cost = tensor.conversion[i];
      if (cost < 0 || cost > infinity) {
        report(id, fmt::format("conversion cost {} is outside [0, infinity]", cost));
      } else if (i % (k + 1) == 0 && cost != 0) {
        report(id, fmt::format("conversion of layout {} to itself costs {} instead of 0",
                               i / (k + 1), cost));
      }
    }
    if (!tensor.layout_names.empty() && tensor.layout_names.size() != k) {
      report(id, "number of layout names differs from the number of layouts");
    }
    if (!tensor.groups.empty() && tensor.groups.size() != k) {
      report(id, "number of groups differs from the number of layouts");
    }
  }

  void check_operator(OperatorId id) {
    const Operator& op = problem_.operators[id];
    std::vector<TensorId>& arguments = arguments_;
    arguments.assign(op.inputs.begin(), op.inputs.end());
    arguments.push_back(op.output);
    for (const TensorId tensor : arguments) {
      if (!tensor.valid() || tensor.index() >= problem_.tensors.size()) {
        report(id, "operator names a tensor that does not exist");
        return;
      }
    }
    ++producers_[op.output.index()];
    if (op.rows.empty()) {
      report(id, "operator has no row");
    }
    for (std::size_t r = 0; r < op.rows.size(); ++r) {
      check_row(id, op.rows[r], r, arguments);
    }
  }

  void check_row(OperatorId id, const Row& row, std::size_t index,
                 const std::vector<TensorId>& arguments) {
    if (row.layouts.size() != arguments.size()) {
      report(id, fmt::format("row {} has {} layouts instead of {}", index, row.layouts.size(),
                             arguments.size()));
      return;
    }
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      if (row.layouts[i] < 0 || row.layouts[i] >= problem_.tensors[arguments[i]].layouts) {
        report(id, fmt::format("row {} uses layout {} of tensor {}, which has {} layouts", index,
                               row.layouts[i], display_name(problem_, arguments[i]),
                               problem_.tensors[arguments[i]].layouts));
      }
    }
    if (row.cost < 0 || row.cost > infinity) {
      report(id, fmt::format("cost {} of row {} is outside [0, infinity]", row.cost, index));
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
  std::vector<TensorId> arguments_;  // of the operator looked at
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
  std::vector<std::size_t> begin;  // per tensor: where its layouts start in `requested`
  begin.reserve(problem.tensors.size());
  std::size_t layouts = 0;
  for (const Tensor& tensor : problem.tensors) {
    begin.push_back(layouts);
    layouts += static_cast<std::size_t>(tensor.layouts);
  }
  std::vector<char> requested(layouts, 0);
  IdVector<TensorId, int> produced(problem.tensors.size(), 0);
  for (std::size_t o = 0; o < problem.operators.size(); ++o) {
    const OperatorId id(o);
    const Operator& op = problem.operators[id];
    const int chosen = assignment.row[id];
    systole::check(chosen >= 0 && static_cast<std::size_t>(chosen) < op.rows.size(),
                   "a chosen row exists");
    const Row& row = op.rows[static_cast<std::size_t>(chosen)];
    parts.rows = add(parts.rows, row.cost);
    produced[op.output] = row.layouts.back();
    for (std::size_t i = 0; i < op.inputs.size(); ++i) {
      requested[begin[op.inputs[i].index()] + static_cast<std::size_t>(row.layouts[i])] = 1;
    }
  }
  for (std::size_t t = 0; t < problem.tensors.size(); ++t) {
    const Tensor& tensor = problem.tensors[TensorId(t)];
    const int from = produced[TensorId(t)];
    for (int layout = 0; layout < tensor.layouts; ++layout) {
      if (requested[begin[t] + static_cast<std::size_t>(layout)] != 0 && layout != from) {
        parts.conversions = add(parts.conversions, tensor.convert(from, layout));
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
