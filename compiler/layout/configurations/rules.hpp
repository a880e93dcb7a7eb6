// What one way of computing an operator demands of its operands' layouts, as data. Each family
// states its ways from the operator's iteration space (rules_of); checking, enumerating, guessing
// the layouts of constants and spreading layouts to neighbours are done once for all of them
// (configurations.cpp, domains.cpp).
//
// Positions: arguments in order, then the output. Everything is in terms of iterators, axes of
// extent 1 left out.
#pragma once

#include <string>
#include <vector>

#include "compiler/layout/configurations.hpp"
#include "compiler/layout/iteration_space.hpp"

namespace systole::layout {

struct PartitionRule {
  enum class Kind : std::uint8_t {
    without,  // none of `iterators` lies on the partitions
    within,   // one or more, all of them among `iterators`
    exactly,  // this list
    one,      // exactly one of `iterators`; nothing if there is none to choose from
    group,    // one of `iterators` or all of them in any order (nothing if there are none),
    // optionally behind members of `prefix` if the extent of the part behind is a multiple
    // of `multiple`
  };
  Kind kind = Kind::without;
  Iterators iterators;
  Iterators prefix;
  std::int64_t multiple = 1;
};

struct OperandRule {
  PartitionRule partition;
  bool ascending = false;       // partition axes, then free axes, are the operand's axes in order
  bool few_partitions = false;  // at most one iterator on the partitions
};

struct Link {
  enum class Kind : std::uint8_t {
    agree,               // common iterators: same side, same order
    same_partition,      // the same list of iterators on the partitions
    kept_partition,      // one tensor under two layouts: every element in the same partition
    disjoint_partition,  // no iterator on the partitions of both
    turned_by_dma,  // one tensor under two layouts: the DMA engines' transposing path goes from one to the other
    turned_in_blocks,  // one tensor under two layouts: Vector turns one into the other block by block
    same_free_order,  // iterators free in both: same order
    relabelled,       // the same bytes through the reshape
  };
  int a = 0;
  int b = 0;
  Kind kind = Kind::agree;
};

struct Rule {
  Mechanism mechanism = Mechanism::standard;
  std::vector<OperandRule> operands;  // per position
  std::vector<Link> links;
};

// An operator in its graph, with what rules need to look at.
struct Site {
  const graph::Graph* graph = nullptr;
  const graph::Node* node = nullptr;
  const isa::Machine* machine = nullptr;
  std::vector<const graph::Shape*> shapes;  // per position
  std::vector<bool> constant;               // per position; the output is none
  IterationSpace space;
  std::vector<std::int64_t> extents;  // per iterator: the largest among the operands

  [[nodiscard]] std::size_t positions() const { return shapes.size(); }
  [[nodiscard]] graph::TensorId tensor(std::size_t position) const {
    return position < node->inputs.size() ? node->inputs[position] : node->output;
  }
};
[[nodiscard]] Site site_of(const graph::Graph& graph, const graph::Node& node,
                           const isa::Machine& machine);

// The preferred way first. A new operator does not compile until it has rules.
[[nodiscard]] std::vector<Rule> rules(const graph::Contraction& op, const Site& site);
[[nodiscard]] std::vector<Rule> rules(const graph::Convolution& op, const Site& site);
[[nodiscard]] std::vector<Rule> rules(const graph::Map& op, const Site& site);
[[nodiscard]] std::vector<Rule> rules(const graph::Reduce& op, const Site& site);
[[nodiscard]] std::vector<Rule> rules(const graph::ArgReduce& op, const Site& site);
[[nodiscard]] std::vector<Rule> rules(const graph::Window& op, const Site& site);
[[nodiscard]] std::vector<Rule> rules(const graph::Transpose& op, const Site& site);
[[nodiscard]] std::vector<Rule> rules(const graph::Reshape& op, const Site& site);
[[nodiscard]] std::vector<Rule> rules(const graph::Slice& op, const Site& site);
[[nodiscard]] std::vector<Rule> rules(const graph::Concat& op, const Site& site);
[[nodiscard]] std::vector<Rule> rules(const graph::Pad& op, const Site& site);
[[nodiscard]] std::vector<Rule> rules(const graph::Expand& op, const Site& site);
[[nodiscard]] std::vector<Rule> rules(const graph::Gather& op, const Site& site);
[[nodiscard]] std::vector<Rule> rules(const graph::GatherElements& op, const Site& site);
[[nodiscard]] std::vector<Rule> rules(const graph::ScatterND& op, const Site& site);
[[nodiscard]] std::vector<Rule> rules(const graph::Convert& op, const Site& site);
[[nodiscard]] std::vector<Rule> rules_of(const Site& site);

// ---- one operand against its rule
[[nodiscard]] bool satisfies(const OperandRule& rule, const Form& form, const Site& site,
                             std::size_t position);
// Forms that the rule has in mind when nothing else is known, best first; free axes in logical
// order. May be empty.
[[nodiscard]] std::vector<Form> wishes(const OperandRule& rule, const Site& site,
                                       std::size_t position);
// A form with these partition iterators (those that the operand has) and the rest free in logical
// order.
[[nodiscard]] Form form_with(const Iterators& partition, const Site& site, std::size_t position);

// ---- several operands. A chosen operand: its layout and the same as a form.
struct Operand {
  Layout layout;
  Form form;
};
[[nodiscard]] Operand operand_of(const Layout& layout, const Site& site, std::size_t position);
[[nodiscard]] Operand operand_of(const Form& form, const Site& site, std::size_t position);
[[nodiscard]] bool holds(const Link& link, const Operand& a, const Operand& b, const Site& site);
// What `from` at one end of the link makes of the other end, best first; may be empty (no such
// layout).
[[nodiscard]] std::vector<Operand> across(const Link& link, const Rule& rule, const Operand& from,
                                          std::size_t from_position, const Site& site);

// The first configuration that the operator has whatever the domains: what domains must contain to
// be feasible.
[[nodiscard]] Configuration fallback(const Site& site);

}  // namespace systole::layout
