// Inside tests/support only: the state of random_graph and one function per family.
#pragma once

#include <optional>

#include "isa/base/random.hpp"
#include "tests/support/random_graph.hpp"

namespace systole::test {

struct RandomBuilder {
  const RandomGraphOptions& options;
  Random random;
  graph::Graph graph;

  bool chance(int percent) { return random.integer(1, 100) <= percent; }
  template <class T>
  const T& one_of(const std::vector<T>& items) {
    return items[static_cast<std::size_t>(
        random.integer(0, static_cast<std::int64_t>(items.size()) - 1))];
  }
  template <class T>
  void shuffle(std::vector<T>& items) {
    for (std::size_t i = items.size(); i > 1; --i) {
      std::swap(
          items[i - 1],
          items[static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(i) - 1))]);
    }
  }
  bool fits(const graph::Shape& shape) const;
  graph::Shape shape(int rank);
  std::string name(const std::string& stem) { return stem + std::to_string(graph.nodes.size()); }

  graph::TensorId input(graph::Shape shape, graph::ElementType type = graph::ElementType::f32);
  graph::TensorId constant(graph::Shape shape, double scale = 1.0);
  graph::TensorId indices(graph::Shape shape, std::int64_t low, std::int64_t high);
  // A constant, sometimes an input.
  graph::TensorId operand(graph::Shape shape, double scale = 1.0);
  // An existing tensor of this type and a rank in [low, high]; recent ones are likelier.
  std::optional<graph::TensorId> pick(int low, int high,
                                      graph::ElementType type = graph::ElementType::f32);
  const graph::Shape& shape_of(graph::TensorId id) const { return graph.tensors[id].shape; }
  int rank_of(graph::TensorId id) const { return static_cast<int>(shape_of(id).size()); }

  graph::TensorId map(graph::MapFunction function, std::vector<graph::TensorId> inputs,
                      double alpha = 0.0, double beta = 0.0);
};

// Each adds at least one node and returns true, or finds no operand and returns false.
bool add_family(RandomBuilder& b, Family family);
bool add_elementwise(RandomBuilder& b, Family family);
bool add_movement(RandomBuilder& b, Family family);
bool add_arithmetic(RandomBuilder& b, Family family);

}  // namespace systole::test
