#include "compiler/solver/formats/linear.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/solver/flat.hpp"

namespace systole::solver::formats {
namespace {

class ProgramOf {
 public:
  explicit ProgramOf(const Problem& problem) : flat_(flatten(problem)) {}

  LinearProgram build() {
    out_.variables =
        static_cast<int>(flat_.row_cost.size());  // one per row, then one per conversion
    for (int row = 0; row < out_.variables; ++row) {
      pay(flat_.row_cost[Flat::at(row)], row);
    }
    for (int op = 0; op < flat_.operators; ++op) {
      LinearConstraint one{{}, true, 1};
      for (int row = flat_.row_begin[Flat::at(op)]; row < flat_.row_begin[Flat::at(op) + 1];
           ++row) {
        one.terms.emplace_back(1, row);
      }
      out_.constraints.push_back(std::move(one));
    }
    for (int tensor = 0; tensor < flat_.tensors; ++tensor) {
      if (flat_.uses(tensor) > 0) {
        add_tensor(tensor);
      }
    }
    return std::move(out_);
  }

 private:
  void pay(Cost cost, int variable) {
    if (cost > 0) {
      out_.objective.emplace_back(cost, variable);
    }
  }

  // Rows of the slot's operator that use the layout there, with the given sign.
  void add_rows(LinearConstraint& constraint, int slot, int layout, Cost sign) const {
    const int op = flat_.slot_op[Flat::at(slot)];
    const int position = slot - flat_.slot_begin[Flat::at(op)];
    for (int row = flat_.row_begin[Flat::at(op)]; row < flat_.row_begin[Flat::at(op) + 1]; ++row) {
      if (flat_.layouts_of(op, row)[position] == layout) {
        constraint.terms.emplace_back(sign, row);
      }
    }
  }

  void add_tensor(int tensor) {
    const int k = flat_.layouts[Flat::at(tensor)];
    const int producer = flat_.producer_slot[Flat::at(tensor)];
    for (int to = 0; to < k; ++to) {
      std::vector<int> ways;  // conversion variables that deliver `to`
      for (int from = 0; from < k; ++from) {
        LinearConstraint produced{{}, false, 0};
        add_rows(produced, producer, from, 1);
        if (from == to || produced.terms.empty() || flat_.convert(tensor, from, to) >= infinity) {
          continue;
        }
        const int variable = out_.variables++;
        pay(flat_.convert(tensor, from, to), variable);
        ways.push_back(variable);
        produced.terms.emplace_back(-1, variable);
        out_.constraints.push_back(std::move(produced));
      }
      for (const int use : flat_.uses_of(tensor)) {
        LinearConstraint needs{{}, false, 0};
        add_rows(needs, use, to, -1);
        if (needs.terms.empty()) {
          continue;
        }
        add_rows(needs, producer, to, 1);
        for (const int way : ways) {
          needs.terms.emplace_back(1, way);
        }
        out_.constraints.push_back(std::move(needs));
      }
    }
  }

  Flat flat_;
  LinearProgram out_;
};

template <class Sink>
void print_terms(Sink sink, const std::vector<std::pair<Cost, int>>& terms, bool one_line) {
  int on_line = 0;
  for (const auto& [coefficient, variable] : terms) {
    fmt::format_to(sink, " {:+} x{}", coefficient, variable + 1);
    if (++on_line % 8 == 0 && !one_line) {
      fmt::format_to(sink, "\n");  // LP lines have a length limit
    }
  }
}

}  // namespace

LinearProgram linear_program_of(const Problem& problem) {
  return ProgramOf(problem).build();
}

std::string print_lp(const LinearProgram& program) {
  fmt::memory_buffer out;
  const auto sink = std::back_inserter(out);
  fmt::format_to(sink, "Minimize\n cost:");
  print_terms(sink, program.objective, false);
  if (program.objective.empty()) {
    fmt::format_to(sink, " 0 x1");
  }
  fmt::format_to(sink, "\nSubject To\n");
  for (std::size_t i = 0; i < program.constraints.size(); ++i) {
    const LinearConstraint& constraint = program.constraints[i];
    fmt::format_to(sink, " c{}:", i);
    print_terms(sink, constraint.terms, false);
    if (constraint.terms.empty()) {
      fmt::format_to(sink, " 0 x1");
    }
    fmt::format_to(sink, " {} {}\n", constraint.equality ? "=" : ">=", constraint.right);
  }
  fmt::format_to(sink, "Binary\n");
  for (int v = 0; v < std::max(program.variables, 1); ++v) {  // x1 stands in for empty sums
    fmt::format_to(sink, " x{}\n", v + 1);
  }
  fmt::format_to(sink, "End\n");
  return fmt::to_string(out);
}

std::string print_opb(const LinearProgram& program) {
  fmt::memory_buffer out;
  const auto sink = std::back_inserter(out);
  // An empty sum has no form of its own: x1 stands in.
  fmt::format_to(sink, "* #variable= {} #constraint= {}\n", std::max(program.variables, 1),
                 program.constraints.size());
  fmt::format_to(sink, "min:");
  print_terms(sink, program.objective, true);
  fmt::format_to(sink, " ;\n");
  for (const LinearConstraint& constraint : program.constraints) {
    print_terms(sink, constraint.terms, true);
    if (constraint.terms.empty()) {
      fmt::format_to(sink, " +1 x1 -1 x1");
    }
    fmt::format_to(sink, " {} {} ;\n", constraint.equality ? "=" : ">=", constraint.right);
  }
  return fmt::to_string(out);
}

}  // namespace systole::solver::formats
