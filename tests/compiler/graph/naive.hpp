// Independent references for the operator tests: plain loops over multi-indices, no shared code
// with compiler/graph/ops.
#pragma once

#include <functional>
#include <initializer_list>
#include <string>
#include <vector>

#include "compiler/graph/evaluate.hpp"
#include "compiler/graph/graph.hpp"
#include "isa/base/error.hpp"
#include "isa/base/random.hpp"

namespace systole::graph::naive {

using Index = std::vector<std::int64_t>;

inline void for_each_index(const Shape& shape, const std::function<void(const Index&)>& visit) {
  Index index(shape.size(), 0);
  const std::function<void(std::size_t)> descend = [&](std::size_t axis) {
    if (axis == shape.size()) {
      visit(index);
      return;
    }
    for (std::int64_t i = 0; i < shape[axis]; ++i) {
      index[axis] = i;
      descend(axis + 1);
    }
  };
  descend(0);
}

inline std::int64_t linear(const Shape& shape, const Index& index) {
  std::int64_t at = 0;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    at = at * shape[i] + index[i];
  }
  return at;
}

inline double at(const Array& array, const Index& index) {
  return get(array, linear(array.shape, index));
}

inline Array real(Shape shape, std::initializer_list<double> values,
                  ElementType type = ElementType::f32) {
  Array array = make_array(type, std::move(shape));
  std::int64_t i = 0;
  for (const double value : values) {
    set(array, i++, value);
  }
  return array;
}

inline Array whole(Shape shape, std::initializer_list<std::int64_t> values,
                   ElementType type = ElementType::i64) {
  Array array = make_array(type, std::move(shape));
  std::int64_t i = 0;
  for (const std::int64_t value : values) {
    set_integer(array, i++, value);
  }
  return array;
}

// Small whole numbers as floats: sums of their products are exact in every order of summation.
inline Array random_whole(Random& random, Shape shape, ElementType type = ElementType::f32) {
  Array array = make_array(type, std::move(shape));
  for (std::int64_t i = 0; i < elements(array.shape); ++i) {
    set_integer(array, i, random.integer(-4, 4));
  }
  return array;
}

// Builds a graph of one node whose operands are constants and evaluates it.
inline Array run(const Op& op, const std::vector<Array>& operands,
                 const TensorType* requested = nullptr) {
  Graph graph;
  std::vector<TensorId> inputs;
  for (const Array& operand : operands) {
    inputs.push_back(add_constant(graph, "operand", operand));
  }
  const TensorId output = requested == nullptr ? add_node(graph, "node", op, inputs)
                                               : add_node(graph, "node", op, inputs, *requested);
  graph.outputs = {output};
  graph.output_names = {"y"};
  return evaluate(graph, std::map<std::string, Array>{}).front();
}

// The message with which the operator refuses operands of these types; empty if it accepts them.
inline std::string refusal(const Op& op, const std::vector<TensorType>& operands,
                           const TensorType& requested = {}) {
  try {
    (void)infer(op, "Origin_1", operands, requested);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

inline TensorType f32(Shape shape) {
  return {ElementType::f32, std::move(shape)};
}
inline TensorType i64(Shape shape) {
  return {ElementType::i64, std::move(shape)};
}

inline std::vector<double> values(const Array& array) {
  std::vector<double> result;
  for (std::int64_t i = 0; i < elements(array.shape); ++i) {
    result.push_back(get(array, i));
  }
  return result;
}
using Values = std::vector<double>;

}  // namespace systole::graph::naive
