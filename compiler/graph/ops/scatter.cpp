// Writing slabs by index. Repeated indices: `assign` keeps the last update, the other modes combine
// all of them.
#include <fmt/format.h>

#include "compiler/graph/ops/combine.hpp"
#include "compiler/graph/ops/indices.hpp"
#include "compiler/graph/ops/ops.hpp"
#include "compiler/graph/ops/walk.hpp"

namespace systole::graph::ops {
namespace {

template <class W>
W update_with(ScatterMode mode, W old, W update) {
  switch (mode) {
    case ScatterMode::assign:
      return update;
    case ScatterMode::add:
      return wrapping_add(old, update);
    case ScatterMode::multiply:
      return wrapping_multiply(old, update);
    case ScatterMode::max:
      return larger(old, update);
    case ScatterMode::min:
      return smaller(old, update);
  }
  return old;
}

// First element of each update's slab in the data.
std::vector<std::int64_t> slab_starts(const ComputeCall& call, const Array& data,
                                      const Array& indices) {
  const std::int64_t depth = indices.shape.back();
  const Strides strides = strides_of(data.shape);
  const Shape outer(indices.shape.begin(), indices.shape.end() - 1);
  const std::int64_t count = elements(outer);
  const std::vector<std::int64_t> flat = load<std::int64_t>(indices);
  std::vector<std::int64_t> starts;
  for (std::int64_t u = 0; u < count; ++u) {
    std::int64_t start = 0;
    for (std::int64_t r = 0; r < depth; ++r) {
      const auto axis = static_cast<std::size_t>(r);
      start += checked_index(call, "scatter", flat[static_cast<std::size_t>(u * depth + r)],
                             data.shape[axis]) *
               strides[axis];
    }
    starts.push_back(start);
  }
  return starts;
}

}  // namespace

TensorType infer(const ScatterND&, const InferCall& call) {
  require_operands(call, "scatter", 3);
  const Shape& data = call.inputs[0].shape;
  const Shape& indices = call.inputs[1].shape;
  require_indices(call, "scatter", call.inputs[1]);
  if (call.inputs[0].type != call.inputs[2].type) {
    refuse(call, "scatter", "data and updates differ in element type",
           "cast them to one type first");
  }
  if (indices.empty() || indices.back() < 0 ||
      indices.back() > static_cast<std::int64_t>(data.size())) {
    refuse(call, "scatter", "the last axis of the indices must count leading axes of the data",
           fmt::format("give indices of shape [..., r] with r from 0 to {}", data.size()));
  }
  Shape expected(indices.begin(), indices.end() - 1);
  expected.insert(expected.end(), data.begin() + indices.back(), data.end());
  if (call.inputs[2].shape != expected) {
    refuse(call, "scatter", "updates should have shape " + to_string(expected),
           "reshape the updates");
  }
  return call.inputs[0];
}

Array compute(const ScatterND& op, const ComputeCall& call) {
  const Array& data = *call.inputs[0];
  const Array& updates = *call.inputs[2];
  const std::vector<std::int64_t> starts = slab_starts(call, data, *call.inputs[1]);
  const Shape slab_shape(data.shape.begin() + call.inputs[1]->shape.back(), data.shape.end());
  const auto slab = static_cast<std::size_t>(elements(slab_shape));
  return in_domain(data.type, [&](auto zero) {
    using W = decltype(zero);
    std::vector<W> values = load<W>(data);
    const std::vector<W> news = load<W>(updates);
    for (std::size_t u = 0; u < starts.size(); ++u) {
      for (std::size_t i = 0; i < slab; ++i) {
        W& value = values[static_cast<std::size_t>(starts[u]) + i];
        value = update_with(op.mode, value, news[u * slab + i]);
      }
    }
    return store(call.output, values);
  });
}

}  // namespace systole::graph::ops
