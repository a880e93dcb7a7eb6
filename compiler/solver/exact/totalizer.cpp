#include "compiler/solver/exact/totalizer.hpp"

#include <algorithm>

namespace systole::solver::exact {

Totalizer::Totalizer(std::vector<int> inputs) : size_(inputs.size()) {
  root_ = build(inputs, 0, inputs.size());
}

std::size_t Totalizer::build(const std::vector<int>& inputs, std::size_t begin, std::size_t end) {
  Node node;
  node.leaves = end - begin;
  if (end - begin == 1) {
    node.outputs.push_back(inputs[begin]);
  } else {
    const std::size_t middle = (begin + end) / 2;
    node.left = build(inputs, begin, middle);
    node.right = build(inputs, middle, end);
  }
  nodes_.push_back(std::move(node));
  return nodes_.size() - 1;
}

// a of the left and b of the right inputs true imply a + b outputs true; clauses for the new outputs only, plus those
// for old outputs that involve new outputs of a child.
void Totalizer::extend(std::size_t index, std::size_t count, const NewVariable& fresh,
                       const AddClause& add) {
  count = std::min(count, nodes_[index].leaves);
  const std::size_t before = nodes_[index].outputs.size();
  if (before >= count) {
    return;
  }
  const std::size_t left = nodes_[index].left;
  const std::size_t right = nodes_[index].right;
  extend(left, count, fresh, add);
  extend(right, count, fresh, add);
  for (std::size_t j = before; j < count; ++j) {
    nodes_[index].outputs.push_back(fresh());
  }
  const std::vector<int>& out = nodes_[index].outputs;
  const std::vector<int>& a = nodes_[left].outputs;
  const std::vector<int>& b = nodes_[right].outputs;
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i + j > before && i + j <= count) {
        std::vector<int> clause{out[i + j - 1]};
        if (i > 0) {
          clause.push_back(-a[i - 1]);
        }
        if (j > 0) {
          clause.push_back(-b[j - 1]);
        }
        add(clause);
      }
    }
  }
}

int Totalizer::at_least(std::size_t count, const NewVariable& fresh, const AddClause& add) {
  extend(root_, count, fresh, add);
  return nodes_[root_].outputs[count - 1];
}

}  // namespace systole::solver::exact
