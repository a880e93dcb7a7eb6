#include "compiler/layout/hints.hpp"

#include <map>
#include <numeric>

#include "compiler/layout/iteration_space.hpp"

namespace systole::layout {

namespace {

using graph::TensorId;

class Groups {
 public:
  explicit Groups(const graph::Graph& graph) : first_(graph.tensors.size()) {
    std::size_t count = 0;
    for (const TensorId tensor : graph.tensors.ids()) {
      first_[tensor] = count;
      count += graph.tensors[tensor].shape.size();
    }
    parent_.resize(count);
    std::iota(parent_.begin(), parent_.end(), std::size_t{0});
  }

  [[nodiscard]] std::size_t axis(TensorId tensor, std::size_t i) const {
    return first_[tensor] + i;
  }

  std::size_t find(std::size_t axis) {
    while (parent_[axis] != axis) {
      parent_[axis] = parent_[parent_[axis]];
      axis = parent_[axis];
    }
    return axis;
  }

  void join(std::size_t a, std::size_t b) { parent_[find(b)] = find(a); }

 private:
  IdVector<TensorId, std::size_t> first_;
  std::vector<std::size_t> parent_;
};

// Cuts both shapes into the smallest parts of equal products and joins the outermost axes of each.
void join_reshape(Groups& groups, const graph::Graph& graph, const graph::Node& node) {
  const graph::Shape& from = graph.tensors[node.inputs[0]].shape;
  const graph::Shape& to = graph.tensors[node.output].shape;
  std::size_t i = 0;
  std::size_t j = 0;
  const auto skip_ones = [](const graph::Shape& shape, std::size_t& at) {
    while (at < shape.size() && shape[at] == 1) {
      ++at;
    }
  };
  while (true) {
    skip_ones(from, i);
    skip_ones(to, j);
    if (i == from.size() || j == to.size()) {
      return;
    }
    groups.join(groups.axis(node.inputs[0], i), groups.axis(node.output, j));
    std::int64_t a = from[i++];
    std::int64_t b = to[j++];
    while (a != b && (a < b ? i < from.size() : j < to.size())) {
      if (a < b) {
        a *= from[i++];
      } else {
        b *= to[j++];
      }
    }
    if (a != b) {
      return;  // empty tensors
    }
  }
}

void join_iterators(Groups& groups, const graph::Graph& graph, const graph::Node& node) {
  const IterationSpace space = iteration_space(graph, node);
  std::map<int, std::size_t> seen;
  for (std::size_t position = 0; position < space.operands.size(); ++position) {
    const TensorId tensor = position < node.inputs.size() ? node.inputs[position] : node.output;
    const graph::Shape& shape = graph.tensors[tensor].shape;
    for (std::size_t i = 0; i < shape.size(); ++i) {
      if (shape[i] != 1) {
        const auto [entry, fresh] =
            seen.try_emplace(space.operands[position][i], groups.axis(tensor, i));
        if (!fresh) {
          groups.join(entry->second, groups.axis(tensor, i));
        }
      }
    }
  }
}

}  // namespace

IdVector<TensorId, std::vector<int>> dimension_groups(const graph::Graph& graph) {
  Groups groups(graph);
  for (const graph::Node& node : graph.nodes) {
    if (std::holds_alternative<graph::Reshape>(node.op)) {
      join_reshape(groups, graph, node);
    } else {
      join_iterators(groups, graph, node);
    }
  }
  std::map<std::size_t, int> numbers;
  IdVector<TensorId, std::vector<int>> result(graph.tensors.size());
  for (const TensorId tensor : graph.tensors.ids()) {
    const graph::Shape& shape = graph.tensors[tensor].shape;
    for (std::size_t i = 0; i < shape.size(); ++i) {
      const std::size_t root = groups.find(groups.axis(tensor, i));
      result[tensor].push_back(
          shape[i] == 1
              ? -1
              : numbers.try_emplace(root, static_cast<int>(numbers.size())).first->second);
    }
  }
  return result;
}

int group_of(const Layout& layout, const std::vector<int>& axis_groups) {
  return layout.split == 0 ? -1 : axis_groups[static_cast<std::size_t>(layout.order[0])];
}

}  // namespace systole::layout
