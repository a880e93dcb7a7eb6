#include "compiler/solver/result.hpp"

#include <fmt/format.h>

namespace systole::solver {

double Result::gap() const {
  if (status == Status::proven || status == Status::infeasible) {
    return 0;
  }
  if (assignment.row.empty() || cost >= infinity) {
    return 1;
  }
  return cost == 0 ? 0 : static_cast<double>(cost - bound) / static_cast<double>(cost);
}

std::string_view name(Status status) {
  switch (status) {
    case Status::proven:
      return "proven";
    case Status::feasible:
      return "feasible";
    case Status::infeasible:
      return "infeasible";
    case Status::exhausted:
      return "exhausted";
  }
  return "";
}

std::string_view name(Proof proof) {
  switch (proof) {
    case Proof::none:
      return "none";
    case Proof::bounds:
      return "bounds";
    case Proof::elimination:
      return "elimination";
    case Proof::search:
      return "search";
    case Proof::enumeration:
      return "enumeration";
    case Proof::dynamic:
      return "dynamic";
    case Proof::outside:
      return "outside";
  }
  return "";
}

namespace {

void verify_assignment(const Problem& problem, const Result& result,
                       std::vector<Diagnostic>& diagnostics) {
  if (result.assignment.row.size() != problem.operators.size()) {
    diagnostics.push_back(
        {"assignment", fmt::format("{} rows for {} operators", result.assignment.row.size(),
                                   problem.operators.size())});
    return;
  }
  bool fits = true;
  for (const OperatorId id : problem.operators.ids()) {
    const int row = result.assignment.row[id];
    if (row < 0 || static_cast<std::size_t>(row) >= problem.operators[id].rows.size()) {
      diagnostics.push_back({display_name(problem, id), fmt::format("row {} does not exist", row)});
      fits = false;
    }
  }
  if (!fits) {
    return;
  }
  const Cost cost = evaluate(problem, result.assignment);
  if (cost != result.cost) {
    diagnostics.push_back(
        {"cost", fmt::format("reported {} but the assignment costs {}", result.cost, cost)});
  }
  if (cost >= infinity) {
    diagnostics.push_back({"cost", "the assignment is impossible"});
  }
}

}  // namespace

std::vector<Diagnostic> verify(const Problem& problem, const Result& result) {
  std::vector<Diagnostic> diagnostics;
  const bool has_assignment = result.status == Status::proven || result.status == Status::feasible;
  if (has_assignment) {
    verify_assignment(problem, result, diagnostics);
  } else if (!result.assignment.row.empty()) {
    diagnostics.push_back({"assignment", "a result of this status carries no assignment"});
  }
  if (result.bound > result.cost) {
    diagnostics.push_back(
        {"bound", fmt::format("bound {} is above cost {}", result.bound, result.cost)});
  }
  if (result.status == Status::proven && result.bound != result.cost) {
    diagnostics.push_back({"bound", "a proven result has bound equal to cost"});
  }
  const bool claims = result.status == Status::proven || result.status == Status::infeasible;
  if (claims != (result.proof != Proof::none)) {
    diagnostics.push_back({"proof", "proof kind and status do not fit"});
  }
  return diagnostics;
}

}  // namespace systole::solver
