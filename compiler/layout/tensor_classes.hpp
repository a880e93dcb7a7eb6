// Classes of tensors that share something: union and find over the tensors of a graph.
#pragma once

#include <numeric>
#include <vector>

#include "compiler/graph/graph.hpp"

namespace systole::layout {

class TensorClasses {
 public:
  explicit TensorClasses(std::size_t tensors) : parent_(tensors) {
    std::iota(parent_.begin(), parent_.end(), std::size_t{0});
  }
  // The number of the tensor's class, below the number of tensors.
  std::size_t find(graph::TensorId tensor) {
    std::size_t i = tensor.index();
    while (parent_[i] != i) {
      parent_[i] = parent_[parent_[i]];
      i = parent_[i];
    }
    return i;
  }
  void join(graph::TensorId a, graph::TensorId b) { parent_[find(a)] = find(b); }

 private:
  std::vector<std::size_t> parent_;
};

}  // namespace systole::layout
