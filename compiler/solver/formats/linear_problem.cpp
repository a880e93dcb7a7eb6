// A 0/1 program as Layout Selection. A constraint is read a few variables at a time; what it has added up to so far is
// handed on as the layout of an auxiliary tensor. Sums that can no longer succeed are impossible; sums that can no
// longer fail are one.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>

#include "compiler/solver/formats/linear.hpp"
#include "isa/base/error.hpp"

namespace systole::solver::formats {
namespace {

constexpr std::size_t most_sums = 2048;
constexpr std::size_t bits_per_operator = 8;  // states and variables read by one operator

Tensor rigid(std::string name, std::size_t layouts) {
  Tensor tensor{std::move(name), static_cast<int>(layouts), {}, {}, {}};
  tensor.conversion.assign(layouts * layouts, infinity);
  for (std::size_t l = 0; l < layouts; ++l) {
    tensor.conversion[l * (layouts + 1)] = 0;
  }
  return tensor;
}

class Decoder {
 public:
  explicit Decoder(const LinearProgram& program) : program_(program) {}

  Problem decode() {
    std::vector<Cost> price(static_cast<std::size_t>(program_.variables), 0);
    for (const auto& [cost, variable] : program_.objective) {
      price[static_cast<std::size_t>(variable)] += cost;
    }
    for (std::size_t v = 0; v < price.size(); ++v) {
      if (price[v] < 0) {
        throw Error(fmt::format("variable {}", v + 1), "has a negative price in the objective",
                    "replace it by one minus its opposite");
      }
      const TensorId tensor = problem_.tensors.add(rigid(fmt::format("x{}", v + 1), 2));
      problem_.operators.add({fmt::format("choose_x{}", v + 1),
                              {},
                              tensor,
                              {{{0}, 0}, {{1}, price[v]}},
                              "source",
                              -1});
    }
    for (const LinearConstraint& constraint : program_.constraints) {
      add(constraint);
    }
    return std::move(problem_);
  }

 private:
  struct Terms {
    std::vector<int> variables;
    std::vector<Cost> factors;
    std::vector<Cost> least, most;  // of the terms from i on
  };

  static Terms terms_of(const LinearConstraint& constraint) {
    std::map<int, Cost> merged;
    for (const auto& [factor, variable] : constraint.terms) {
      merged[variable] += factor;
    }
    Terms out;
    for (const auto& [variable, factor] : merged) {
      if (factor != 0) {
        out.variables.push_back(variable);
        out.factors.push_back(factor);
      }
    }
    out.least.assign(out.variables.size() + 1, 0);
    out.most = out.least;
    for (std::size_t i = out.variables.size(); i-- > 0;) {
      out.least[i] = out.least[i + 1] + std::min<Cost>(0, out.factors[i]);
      out.most[i] = out.most[i + 1] + std::max<Cost>(0, out.factors[i]);
    }
    return out;
  }

  // False when no completion fits; otherwise the sum, or the one that stands for all that cannot fail.
  static bool fits(const LinearConstraint& constraint, const Terms& terms, std::size_t done,
                   Cost& sum) {
    const Cost need = constraint.right - terms.least[done];
    if (sum + terms.most[done] < constraint.right || (constraint.equality && sum > need)) {
      return false;
    }
    sum = std::min(sum, need);
    return true;
  }

  void add(const LinearConstraint& constraint) {
    const Terms terms = terms_of(constraint);
    ++number_;
    sums_ = {0};
    std::size_t done = 0;
    do {
      done = read_some(constraint, terms, done);
    } while (done < terms.variables.size());
  }

  // One operator: reads what was carried and the next variables, hands on the new sums. Returns how many are read.
  std::size_t read_some(const LinearConstraint& constraint, const Terms& terms, std::size_t done) {
    const auto state_bits = static_cast<std::size_t>(std::bit_width(sums_.size() - 1));
    const std::size_t room =
        state_bits + 1 < bits_per_operator ? bits_per_operator - state_bits : 1;
    const std::size_t end = done + std::min(room, terms.variables.size() - done);
    Operator op{fmt::format("constraint{}_{}", number_, done), {}, TensorId{}, {}, "", -1};
    if (done > 0) {
      op.inputs.push_back(carried_);
    }
    for (std::size_t i = done; i < end; ++i) {
      op.inputs.emplace_back(static_cast<std::size_t>(terms.variables[i]));
    }
    std::map<Cost, int> next = add_rows(op, constraint, terms, done, end);
    if (op.rows.empty()) {  // the program has no solution
      op.rows.push_back({std::vector<int>(op.inputs.size() + 1, 0), infinity});
      next = {{0, 0}};
    }
    if (next.size() > most_sums) {
      throw Error(fmt::format("constraint {}", number_),
                  "has too many different partial sums for a table", "scale its coefficients down");
    }
    sums_.assign(next.size(), 0);
    for (const auto& [sum, layout] : next) {
      sums_[static_cast<std::size_t>(layout)] = sum;
    }
    carried_ = problem_.tensors.add(rigid(fmt::format("sum{}_{}", number_, end), sums_.size()));
    op.output = carried_;
    problem_.operators.add(std::move(op));
    return end;
  }

  // Returns the sums that can still succeed, numbered as layouts; behind the last variable there is one.
  std::map<Cost, int> add_rows(Operator& op, const LinearConstraint& constraint, const Terms& terms,
                               std::size_t begin, std::size_t end) const {
    std::map<Cost, int> next;
    for (std::size_t s = 0; s < sums_.size(); ++s) {
      for (unsigned bits = 0; bits < 1U << (end - begin); ++bits) {
        Row row;
        if (begin > 0) {
          row.layouts.push_back(static_cast<int>(s));
        }
        Cost sum = sums_[s];
        for (std::size_t i = begin; i < end; ++i) {
          const bool on = (bits >> (i - begin) & 1U) != 0;
          row.layouts.push_back(on ? 1 : 0);
          sum += on ? terms.factors[i] : 0;
        }
        if (fits(constraint, terms, end, sum)) {
          const Cost key = end == terms.variables.size() ? 0 : sum;
          row.layouts.push_back(next.emplace(key, static_cast<int>(next.size())).first->second);
          op.rows.push_back(std::move(row));
        }
      }
    }
    return next;
  }

  const LinearProgram& program_;
  Problem problem_;
  int number_ = 0;
  std::vector<Cost> sums_;  // by layout of carried_
  TensorId carried_;
};

}  // namespace

Problem problem_of(const LinearProgram& program) {
  return Decoder(program).decode();
}

}  // namespace systole::solver::formats
