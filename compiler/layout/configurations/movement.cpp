// Movement that is not parallel: reshapes, gathers and scatters by DMA descriptors, conversions.
#include "compiler/layout/configurations/rules.hpp"

namespace systole::layout {

namespace {

PartitionRule exactly(Iterators iterators) {
  return {PartitionRule::Kind::exactly, std::move(iterators), {}, 1};
}

// The operand's leading `count` axes, as far as they move bytes.
Iterators leading(const Site& site, std::size_t position, std::size_t count) {
  const graph::Shape& shape = *site.shapes[position];
  const Iterators& own = site.space.operands[position];
  const auto end = static_cast<std::ptrdiff_t>(count);
  return moving(graph::Shape(shape.begin(), shape.begin() + end),
                Iterators(own.begin(), own.begin() + end));
}

}  // namespace

std::vector<Rule> rules(const graph::Reshape&, const Site&) {
  Rule alias;
  alias.mechanism = Mechanism::alias;
  alias.operands.resize(2);
  alias.links.push_back({0, 1, Link::Kind::relabelled});
  Rule dma;
  dma.mechanism = Mechanism::dma;
  dma.operands.resize(2);
  dma.operands[0].ascending = true;
  dma.operands[1].ascending = true;
  return {alias, dma};
}

// Whole rows of the table move: the searched axis lies across the partitions, and so do the
// indices' axes in the result.
std::vector<Rule> rules(const graph::Gather& op, const Site& site) {
  Rule rule;
  rule.mechanism = Mechanism::dma;
  rule.operands.resize(3);
  const std::size_t axis = static_cast<std::size_t>(op.axis);
  rule.operands[0].partition =
      exactly((*site.shapes[0])[axis] == 1 ? Iterators{} : Iterators{op.axis});
  const Iterators indices = leading(site, 1, site.shapes[1]->size());
  rule.operands[1].partition = exactly(indices);
  rule.operands[2].partition = exactly(indices);
  rule.links.push_back({0, 2, Link::Kind::same_free_order});
  return {rule};
}

std::vector<Rule> rules(const graph::ScatterND&, const Site& site) {
  Rule rule;
  rule.mechanism = Mechanism::dma;
  rule.operands.resize(4);
  const graph::Shape& indices = *site.shapes[1];
  const auto depth = static_cast<std::size_t>(indices.back());
  const std::size_t rows = indices.size() - 1;
  rule.operands[0] = {exactly(leading(site, 0, depth)), true, false};
  rule.operands[1] = {exactly(leading(site, 1, rows)), true, false};
  rule.operands[2] = {exactly(leading(site, 2, rows)), true, false};
  rule.operands[3] = {exactly(leading(site, 3, depth)), true, false};
  return {rule};
}

std::vector<Rule> rules(const graph::Convert&, const Site& site) {
  Rule reorder;
  reorder.mechanism = Mechanism::reorder;
  reorder.operands.resize(2);
  reorder.links.push_back({0, 1, Link::Kind::kept_partition});
  Rule transpose = reorder;
  transpose.mechanism = Mechanism::array_transpose;
  transpose.links[0].kind = Link::Kind::disjoint_partition;
  Rule dma = reorder;
  dma.mechanism = Mechanism::dma;
  dma.links.clear();
  Rule blocks = reorder;
  blocks.mechanism = Mechanism::vector_transpose;
  blocks.links[0].kind = Link::Kind::turned_in_blocks;
  std::vector<Rule> out{reorder, transpose, dma, blocks};
  if (site.machine->dma_transpose) {
    out.push_back(reorder);
    out.back().mechanism = Mechanism::dma_transpose;
    out.back().links[0].kind = Link::Kind::turned_by_dma;
  }
  return out;
}

}  // namespace systole::layout
