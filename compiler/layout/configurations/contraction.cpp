// Products on the tensor engine: the contracted iterator lies on the partitions of both operands,
// and the stationary operand's own iterators become the partitions of the result. Either operand
// may be the stationary one.
#include <algorithm>

#include "compiler/layout/configurations/rules.hpp"

namespace systole::layout {

namespace {

bool has(const Iterators& iterators, int iterator) {
  return std::ranges::find(iterators, iterator) != iterators.end();
}

// Labels by the operands that have them; extent-1 labels are of no class.
struct Classes {
  Iterators batch, m, n, k;
};

Classes classes_of(const graph::Contraction& op, const Site& site) {
  Classes classes;
  for (const int label : moving(*site.shapes[0], op.lhs)) {
    const bool right = has(op.rhs, label);
    const bool out = has(op.out, label);
    (right ? (out ? classes.batch : classes.k) : classes.m).push_back(label);
  }
  for (const int label : moving(*site.shapes[1], op.rhs)) {
    if (!has(op.lhs, label)) {
      classes.n.push_back(label);
    }
  }
  return classes;
}

Rule product(Mechanism mechanism, const PartitionRule& contracted, const PartitionRule& result) {
  Rule rule;
  rule.mechanism = mechanism;
  rule.operands.resize(3);
  rule.operands[0].partition = contracted;
  rule.operands[1].partition = contracted;
  rule.operands[2].partition = result;
  rule.links.push_back({0, 1, Link::Kind::same_partition});
  return rule;
}

PartitionRule exactly(Iterators iterators) {
  return {PartitionRule::Kind::exactly, std::move(iterators), {}, 1};
}

}  // namespace

std::vector<Rule> rules(const graph::Contraction& op, const Site& site) {
  const Classes classes = classes_of(op, site);
  const std::int64_t multiple = site.machine->row_tile_min;
  const PartitionRule k{PartitionRule::Kind::group, classes.k, classes.batch, multiple};
  const PartitionRule m{PartitionRule::Kind::group, classes.m, classes.batch, multiple};
  const PartitionRule n{PartitionRule::Kind::group, classes.n, classes.batch, multiple};
  return {product(Mechanism::lhs_stationary, k, m), product(Mechanism::rhs_stationary, k, n)};
}

// Kernel positions are accumulated in PSUM, so only channels lie on the partitions of image and
// weights.
std::vector<Rule> rules(const graph::Convolution& op, const Site& site) {
  const int c = 1;  // iterators, as iteration_space numbers them
  const int o = 2;
  const auto one_of = [&](std::size_t position, int iterator) {
    return exactly(has(moving(*site.shapes[position], site.space.operands[position]), iterator)
                       ? Iterators{iterator}
                       : Iterators{});
  };
  std::vector<Rule> result;
  Rule weights = product(Mechanism::rhs_stationary, one_of(0, c), one_of(2, o));
  weights.operands[1].partition = one_of(1, c);
  weights.links.clear();
  const std::int64_t channels = (*site.shapes[0])[1];
  if (op.groups > 1 && op.groups == channels) {  // depthwise: every channel by itself
    Rule depthwise = weights;
    depthwise.mechanism = Mechanism::standard;
    depthwise.operands[1].partition = one_of(1, o);
    result.push_back(depthwise);
  }
  result.push_back(weights);
  if (op.groups == 1) {
    Rule pixels = weights;
    pixels.mechanism = Mechanism::lhs_stationary;
    Iterators rows = moving(*site.shapes[2], site.space.operands[2]);
    std::erase(rows, o);
    pixels.operands[2].partition = {PartitionRule::Kind::one, rows, {}, 1};
    result.push_back(pixels);
  }
  return result;
}

}  // namespace systole::layout
