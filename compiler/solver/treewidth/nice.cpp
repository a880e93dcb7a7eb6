#include "compiler/solver/treewidth/nice.hpp"

#include <algorithm>

namespace systole::solver::treewidth {
namespace {

class NiceBuilder {
 public:
  explicit NiceBuilder(const Decomposition& decomposition) : decomposition_(decomposition) {}

  // Bag i belongs to the i-th eliminated vertex, so children come before parents and the only vertex that a bag does
  // not share with its parent is its own.
  std::vector<NiceNode> build(const std::vector<int>& order) {
    std::vector<std::vector<int>> waiting(order.size());  // finished subtrees per bag
    std::vector<int> roots;
    std::vector<int> parent(order.size(), -1);
    for (const auto& [a, b] : decomposition_.edges) {
      parent[static_cast<std::size_t>(a)] = b;
    }
    for (std::size_t i = 0; i < order.size(); ++i) {
      const std::vector<int>& bag = decomposition_.bags[i];
      int node = -1;
      for (const int subtree : waiting[i]) {
        const int lifted = introduce_all(subtree, bag);
        node = node < 0 ? lifted : join(node, lifted);
      }
      if (node < 0) {
        node = introduce_all(add({NiceKind::leaf, -1, {}, -1, -1}), bag);
      }
      node = forget(node, order[i]);
      if (bag.size() == 1) {
        roots.push_back(node);
      } else {
        waiting[static_cast<std::size_t>(parent[i])].push_back(node);
      }
    }
    int root = roots.empty() ? add({NiceKind::leaf, -1, {}, -1, -1}) : roots.front();
    for (std::size_t i = 1; i < roots.size(); ++i) {
      root = join(root, roots[i]);
    }
    return std::move(nodes_);
  }

 private:
  int add(NiceNode node) {
    nodes_.push_back(std::move(node));
    return static_cast<int>(nodes_.size()) - 1;
  }

  int introduce_all(int node, const std::vector<int>& bag) {
    for (const int v : bag) {
      std::vector<int> present = nodes_[static_cast<std::size_t>(node)].bag;
      const auto place = std::lower_bound(present.begin(), present.end(), v);
      if (place == present.end() || *place != v) {
        present.insert(place, v);
        node = add({NiceKind::introduce, v, std::move(present), node, -1});
      }
    }
    return node;
  }

  int forget(int node, int v) {
    std::vector<int> present = nodes_[static_cast<std::size_t>(node)].bag;
    present.erase(std::find(present.begin(), present.end(), v));
    return add({NiceKind::forget, v, std::move(present), node, -1});
  }

  int join(int left, int right) {
    return add({NiceKind::join, -1, nodes_[static_cast<std::size_t>(left)].bag, left, right});
  }

  const Decomposition& decomposition_;
  std::vector<NiceNode> nodes_;
};

}  // namespace

std::vector<NiceNode> nice_decomposition(const Graph& graph, const std::vector<int>& order) {
  const Decomposition decomposition = decomposition_of(graph, order);
  return NiceBuilder(decomposition).build(order);
}

}  // namespace systole::solver::treewidth
