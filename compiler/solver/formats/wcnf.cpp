#include "compiler/solver/formats/wcnf.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "compiler/solver/scanner.hpp"
#include "compiler/solver/structure.hpp"

namespace systole::solver::formats {
namespace {

constexpr std::size_t longest_clause = 8;  // an operator's rows grow as 2^literals

class Encoder {
 public:
  explicit Encoder(const Problem& problem) : problem_(problem), structure_(structure_of(problem)) {}

  WcnfOfProblem encode() {
    out_.row_variable.resize(problem_.operators.size());
    requests_.resize(problem_.tensors.size());
    for (const TensorId id : problem_.tensors.ids()) {
      for (int l = 0; l < problem_.tensors[id].layouts && !structure_.uses[id].empty(); ++l) {
        requests_[id].push_back(++out_.formula.variables);
      }
    }
    for (const OperatorId id : problem_.operators.ids()) {
      add_operator(id);
    }
    for (const TensorId id : problem_.tensors.ids()) {
      add_conversions(id);
    }
    return std::move(out_);
  }

 private:
  void add_operator(OperatorId id) {
    const Operator& op = problem_.operators[id];
    std::vector<int>& variables = out_.row_variable[id];
    std::vector<int> some;
    for (const Row& row : op.rows) {
      variables.push_back(row.cost < infinity ? ++out_.formula.variables : 0);
      if (variables.back() == 0) {
        continue;
      }
      some.push_back(variables.back());
      if (row.cost > 0) {
        out_.formula.soft.push_back({row.cost, {-variables.back()}});
      }
      for (std::size_t i = 0; i < op.inputs.size(); ++i) {
        out_.formula.hard.push_back(
            {-variables.back(), requests_[op.inputs[i]][static_cast<std::size_t>(row.layouts[i])]});
      }
    }
    for (std::size_t i = 0; i < some.size(); ++i) {
      for (std::size_t j = i + 1; j < some.size(); ++j) {
        out_.formula.hard.push_back({-some[i], -some[j]});
      }
    }
    out_.formula.hard.push_back(std::move(some));
  }

  void add_conversions(TensorId id) {
    const OperatorId producer = structure_.producer[id];
    const Operator& op = problem_.operators[producer];
    for (std::size_t r = 0; r < op.rows.size() && !requests_[id].empty(); ++r) {
      const int variable = out_.row_variable[producer][r];
      const int from = op.rows[r].layouts.back();
      for (int to = 0; to < problem_.tensors[id].layouts && variable != 0; ++to) {
        const Cost cost = problem_.tensors[id].convert(from, to);
        std::vector<int> clause{-variable, -requests_[id][static_cast<std::size_t>(to)]};
        if (to != from && cost >= infinity) {
          out_.formula.hard.push_back(std::move(clause));
        } else if (to != from && cost > 0) {
          out_.formula.soft.push_back({cost, std::move(clause)});
        }
      }
    }
  }

  const Problem& problem_;
  Structure structure_;
  IdVector<TensorId, std::vector<int>> requests_;
  WcnfOfProblem out_;
};

// Builds the problem of a formula.
class Decoder {
 public:
  explicit Decoder(const Wcnf& formula) : formula_(formula) {}

  Problem decode() {
    for (int v = 1; v <= formula_.variables; ++v) {
      const TensorId tensor = add_tensor(fmt::format("v{}", v));
      problem_.operators.add(
          {fmt::format("choose_v{}", v), {}, tensor, {{{0}, 0}, {{1}, 0}}, "source", -1});
    }
    for (const std::vector<int>& clause : formula_.hard) {
      add_clause(clause, infinity);
    }
    for (const auto& [weight, clause] : formula_.soft) {
      add_clause(clause, weight);
    }
    return std::move(problem_);
  }

 private:
  TensorId add_tensor(std::string name) {
    return problem_.tensors.add({std::move(name), 2, {0, infinity, infinity, 0}, {"F", "T"}, {}});
  }

  // The truth of "some literal holds" as a tensor, from at most longest_clause literals at a time.
  void add_clause(std::vector<int> clause, Cost price) {
    std::sort(clause.begin(), clause.end());
    clause.erase(std::unique(clause.begin(), clause.end()), clause.end());
    std::vector<std::pair<TensorId, bool>> literals;  // tensor, value that satisfies
    for (const int literal : clause) {
      literals.emplace_back(TensorId(static_cast<std::size_t>(std::abs(literal)) - 1), literal > 0);
    }
    while (literals.size() > longest_clause) {
      const TensorId part = add_tensor(fmt::format("or{}", ++parts_));
      const std::vector<std::pair<TensorId, bool>> head(literals.begin(),
                                                        literals.begin() + longest_clause);
      add_operator(head, part, 0);
      literals.erase(literals.begin(), literals.begin() + longest_clause);
      literals.emplace_back(part, true);
    }
    const TensorId result = problem_.tensors.add({fmt::format("c{}", ++clauses_), 1, {0}, {}, {}});
    add_operator(literals, result, price);
  }

  // price >= 0 with a one-layout result: paid when nothing holds. Two layouts: the result says whether something holds.
  void add_operator(const std::vector<std::pair<TensorId, bool>>& literals, TensorId result,
                    Cost price) {
    Operator op;
    op.name = fmt::format("clause_{}", problem_.tensors[result].name);
    op.output = result;
    for (const auto& [tensor, value] : literals) {
      op.inputs.push_back(tensor);
    }
    for (unsigned bits = 0; bits < 1U << literals.size(); ++bits) {
      Row row;
      bool holds = false;
      for (std::size_t i = 0; i < literals.size(); ++i) {
        const bool value = (bits >> i & 1U) != 0;
        holds = holds || value == literals[i].second;
        row.layouts.push_back(value ? 1 : 0);
      }
      row.layouts.push_back(problem_.tensors[result].layouts == 2 && holds ? 1 : 0);
      row.cost = holds ? 0 : price;
      op.rows.push_back(std::move(row));
    }
    problem_.operators.add(std::move(op));
  }

  const Wcnf& formula_;
  Problem problem_;
  int parts_ = 0;
  int clauses_ = 0;
};

void print_clause(fmt::memory_buffer& out, const std::vector<int>& clause) {
  for (const int literal : clause) {
    fmt::format_to(std::back_inserter(out), " {}", literal);
  }
  fmt::format_to(std::back_inserter(out), " 0\n");
}

}  // namespace

WcnfOfProblem wcnf_of(const Problem& problem) {
  return Encoder(problem).encode();
}

std::string print_wcnf(const Wcnf& formula, WcnfDialect dialect) {
  fmt::memory_buffer out;
  const auto sink = std::back_inserter(out);
  Cost top = 1;
  for (const auto& [weight, clause] : formula.soft) {
    top = add(top, weight);
  }
  if (dialect == WcnfDialect::old_header) {
    fmt::format_to(sink, "p wcnf {} {} {}\n", formula.variables,
                   formula.hard.size() + formula.soft.size(), top);
  } else {
    fmt::format_to(sink, "c {} variables\n", formula.variables);
  }
  for (const std::vector<int>& clause : formula.hard) {
    if (dialect == WcnfDialect::old_header) {
      fmt::format_to(sink, "{}", top);
    } else {
      fmt::format_to(sink, "h");
    }
    print_clause(out, clause);
  }
  for (const auto& [weight, clause] : formula.soft) {
    fmt::format_to(sink, "{}", weight);
    print_clause(out, clause);
  }
  return fmt::to_string(out);
}

Wcnf parse_wcnf(std::string_view text, std::string_view name) {
  Scanner scan(text, name);
  Wcnf out;
  Cost top = infinity;
  bool header = false;
  while (scan.next_line()) {
    const auto& words = scan.words();
    if (words[0] == "c") {
      continue;
    }
    if (words[0] == "p") {
      if (words.size() != 5 || words[1] != "wcnf") {
        scan.fail("the header is 'p wcnf VARIABLES CLAUSES TOP'");
      }
      header = true;
      out.variables = static_cast<int>(scan.number(words[2], 0, 1 << 28, "number of variables"));
      top = scan.number(words[4], 1, infinity, "top");
      continue;
    }
    if (words.size() < 2 || words.back() != "0") {
      scan.fail("a clause is a weight or 'h', literals and a closing 0");
    }
    const Cost weight = words[0] == "h" ? infinity : scan.number(words[0], 1, infinity, "weight");
    std::vector<int> clause;
    for (std::size_t i = 1; i + 1 < words.size(); ++i) {
      const int bound = header ? out.variables : 1 << 28;
      const auto literal = static_cast<int>(scan.number(words[i], -bound, bound, "literal"));
      if (literal == 0) {
        scan.fail("0 ends a clause");
      }
      clause.push_back(literal);
      out.variables = std::max(out.variables, std::abs(literal));
    }
    if (weight >= top) {
      out.hard.push_back(std::move(clause));
    } else {
      out.soft.emplace_back(weight, std::move(clause));
    }
  }
  return out;
}

Problem problem_of(const Wcnf& formula) {
  return Decoder(formula).decode();
}

}  // namespace systole::solver::formats
