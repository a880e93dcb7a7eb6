// Operators whose operands run together over common iterators: one order for all of them, and some
// iterators that must not lie on the partitions (what is reduced, searched or slid over has to be
// inside a partition).
#include "compiler/layout/configurations/rules.hpp"

namespace systole::layout {

namespace {

Rule parallel(const Site& site, Mechanism mechanism, const Iterators& not_on_partitions) {
  Rule rule;
  rule.mechanism = mechanism;
  OperandRule operand;
  operand.partition.iterators = not_on_partitions;
  rule.operands.assign(site.positions(), operand);
  const int positions = static_cast<int>(site.positions());
  // Every argument with the output. No operator has two arguments that share an iterator which the
  // output lacks, so this makes arguments agree among themselves.
  for (int a = 0; a + 1 < positions; ++a) {
    rule.links.push_back({a, positions - 1, Link::Kind::agree});
  }
  return rule;
}

// Sums over the partitions: a product with a vector of ones on the tensor engine. The result
// arrives in one partition, or, with a kept iterator in the role of the stationary operand's free
// axis, across the partitions.
Rule ones_matmul(const graph::Reduce& op) {
  Rule rule;
  rule.mechanism = Mechanism::ones_matmul;
  rule.operands.resize(2);
  rule.operands[0].partition = {PartitionRule::Kind::within, op.axes, {}, 1};
  rule.operands[1].few_partitions = true;
  rule.links.push_back({0, 1, Link::Kind::same_free_order});
  return rule;
}

}  // namespace

std::vector<Rule> rules(const graph::Map&, const Site& site) {
  return {parallel(site, Mechanism::standard, {})};
}

std::vector<Rule> rules(const graph::Reduce& op, const Site& site) {
  std::vector<Rule> result{parallel(site, Mechanism::standard, op.axes)};
  if (op.function == graph::ReduceFunction::sum || op.function == graph::ReduceFunction::mean) {
    result.push_back(ones_matmul(op));
  }
  return result;
}

std::vector<Rule> rules(const graph::ArgReduce& op, const Site& site) {
  return {parallel(site, Mechanism::standard, {op.axis})};
}

std::vector<Rule> rules(const graph::Window&, const Site& site) {
  const Iterators& axes = site.space.operands[0];
  return {parallel(site, Mechanism::standard, Iterators(axes.begin() + 2, axes.end()))};
}

std::vector<Rule> rules(const graph::Transpose&, const Site& site) {
  return {parallel(site, Mechanism::alias, {})};
}

std::vector<Rule> rules(const graph::Slice&, const Site& site) {
  return {parallel(site, Mechanism::standard, {})};
}

std::vector<Rule> rules(const graph::Concat&, const Site& site) {
  return {parallel(site, Mechanism::standard, {})};
}

std::vector<Rule> rules(const graph::Pad&, const Site& site) {
  return {parallel(site, Mechanism::standard, {})};
}

std::vector<Rule> rules(const graph::Expand&, const Site& site) {
  return {parallel(site, Mechanism::standard, {})};
}

std::vector<Rule> rules(const graph::GatherElements& op, const Site& site) {
  return {parallel(site, Mechanism::standard, {op.axis})};
}

}  // namespace systole::layout
