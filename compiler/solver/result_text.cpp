#include <fmt/format.h>

#include <array>

#include "compiler/solver/scanner.hpp"
#include "compiler/solver/text.hpp"
#include "isa/base/error.hpp"

namespace systole::solver {
namespace {

constexpr std::array all_statuses{Status::proven, Status::feasible, Status::infeasible,
                                  Status::exhausted};
constexpr std::array all_proofs{Proof::none,   Proof::bounds,      Proof::elimination,
                                Proof::search, Proof::enumeration, Proof::dynamic,
                                Proof::outside};

template <class Values>
auto named(const Scanner& scan, const Values& values, std::string_view word) {
  for (const auto value : values) {
    if (name(value) == word) {
      return value;
    }
  }
  scan.fail(fmt::format("'{}' is not a known value", word));
}

Cost cost_of(const Scanner& scan, std::string_view word) {
  return word == "inf" ? infinity : scan.number(word, 0, infinity - 1, "cost");
}

void read_choice(const Scanner& scan, const Problem& problem, Result& result, std::size_t& next) {
  const auto& words = scan.words();
  if (next >= problem.operators.size()) {
    scan.fail("more operators chosen than the problem has");
  }
  const OperatorId id(next++);
  if (words[1] != display_name(problem, id)) {
    scan.fail(fmt::format("operator {} expected, {} found", display_name(problem, id), words[1]));
  }
  result.assignment.row.add(static_cast<int>(
      scan.number(words[2], 0, static_cast<std::int64_t>(problem.operators[id].rows.size()) - 1,
                  fmt::format("row of operator {}", display_name(problem, id)))));
}

}  // namespace

std::string print_result(const Problem& problem, const Result& result, std::string_view strategy) {
  fmt::memory_buffer out;
  const auto sink = std::back_inserter(out);
  const auto cost = [](Cost value) {
    return value >= infinity ? std::string("inf") : fmt::format("{}", value);
  };
  fmt::format_to(sink, "layout-result 1\nstrategy {}\nstatus {}\nproof {}\ncost {}\nbound {}\n",
                 strategy, name(result.status), name(result.proof), cost(result.cost),
                 cost(result.bound));
  for (const Counter& counter : result.stats) {
    fmt::format_to(sink, "counter {} {}\n", counter.name, counter.value);
  }
  if (!result.note.empty()) {
    fmt::format_to(sink, "note {}\n", result.note);
  }
  for (std::size_t i = 0; i < result.assignment.row.size(); ++i) {
    const OperatorId id(i);
    const Operator& op = problem.operators[id];
    const Row& row = op.rows[static_cast<std::size_t>(result.assignment.row[id])];
    fmt::format_to(sink, "choose {} {}", display_name(problem, id), result.assignment.row[id]);
    for (std::size_t a = 0; a < op.inputs.size(); ++a) {
      fmt::format_to(sink, " {}", layout_name(problem.tensors[op.inputs[a]], row.layouts[a]));
    }
    fmt::format_to(sink, " -> {}\n", layout_name(problem.tensors[op.output], row.layouts.back()));
  }
  return fmt::to_string(out);
}

Result parse_result(const Problem& problem, std::string_view text, std::string_view name_of_text) {
  Scanner scan(text, name_of_text);
  if (!scan.next_line() || scan.words().size() != 2 || scan.words()[0] != "layout-result") {
    scan.fail("the first statement must be 'layout-result 1'");
  }
  scan.number(scan.words()[1], 1, 1, "format version");
  Result result;
  std::size_t next = 0;
  while (scan.next_line()) {
    const auto& words = scan.words();
    const std::string_view keyword = words[0];
    if (keyword == "note") {
      result.note = fmt::format("{}", fmt::join(words.begin() + 1, words.end(), " "));
    } else if (words.size() < 2 ||
               (words.size() < 3 && (keyword == "counter" || keyword == "choose"))) {
      scan.fail(fmt::format("statement '{}' is too short", keyword));
    } else if (keyword == "status") {
      result.status = named(scan, all_statuses, words[1]);
    } else if (keyword == "proof") {
      result.proof = named(scan, all_proofs, words[1]);
    } else if (keyword == "cost") {
      result.cost = cost_of(scan, words[1]);
    } else if (keyword == "bound") {
      result.bound = cost_of(scan, words[1]);
    } else if (keyword == "counter") {
      result.stats.push_back(
          {std::string(words[1]), scan.number(words[2], 0, INT64_MAX, "counter")});
    } else if (keyword == "choose") {
      read_choice(scan, problem, result, next);
    } else if (keyword != "strategy") {
      scan.fail(fmt::format("unknown statement '{}'", keyword));
    }
  }
  if (next != 0 && next != problem.operators.size()) {
    scan.fail(
        fmt::format("{} operators chosen, the problem has {}", next, problem.operators.size()));
  }
  return result;
}

}  // namespace systole::solver
