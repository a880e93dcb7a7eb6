// A machine and prices of small primes, and operators whose tensors are not tied to HBM: for sums done by hand.
#pragma once

#include <map>

#include "compiler/layout/cost_model.hpp"
#include "compiler/layout/text.hpp"

namespace systole::layout::by_hand {

using graph::ElementType;
using graph::Graph;
using graph::NodeId;
using graph::Shape;
using graph::TensorId;
using isa::DType;

inline isa::Machine machine() {
  isa::Machine m;
  m.name = "hand";
  m.sbuf_bytes = 180224;
  return m;
}

inline CostModel model() {
  CostModel c;
  c.machine = "hand";
  c.column = 2;
  c.column_fp32 = 8;
  c.stationary_load = 13;
  c.stationary_column = 1;
  c.vector_element = 3;
  c.scalar_element = 5;
  c.gpsimd_element = 7;
  c.instruction = 11;
  c.short_row = 100;
  c.long_byte = 0.5;
  c.transfer = 1000;
  c.handover = 10;
  return c;
}

inline Layout lay(const char* text) {
  return *parse_layout(text);
}

inline double count(const Features& features, Feature feature) {
  return features[static_cast<std::size_t>(feature)];
}

// One node between an input-like copy and another copy, so that none of its tensors is tied to HBM.
struct Inner {
  Graph g;
  IdVector<TensorId, DType> storage;
  Inner() = default;
  TensorId source(const Shape& shape, DType type) {
    const TensorId x = graph::add_input(g, "x", ElementType::f32, shape);
    const TensorId y =
        graph::add_node(g, "copy", graph::Map{.function = graph::MapFunction::relu}, {x});
    types[y.index()] = type;
    return y;
  }
  Features features(TensorId out, DType type, const Configuration& configuration) {
    storage.resize(g.tensors.size(), type);
    for (const auto& [index, dtype] : types) {
      storage[TensorId(index)] = dtype;
    }
    const auto boundary = standings(g);
    const CostModel c = model();
    const isa::Machine m = machine();
    return NodePricer(g, storage, boundary, g.tensors[out].producer, c, m).features(configuration);
  }
  std::map<std::size_t, DType> types;
};

}  // namespace systole::layout::by_hand
