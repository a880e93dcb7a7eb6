// Tensor engine: values of the stationary operand lie in the array as fp32 (exact for every
// narrower type); the moving operand is packed into panels for the kernel.
#include <algorithm>
#include <cstring>

#include "sim/instructions/execute.hpp"
#include "sim/instructions/multiply_kernel.hpp"

namespace systole::sim {
namespace {

void pack_moving(const isa::Access& moving, Context& context) {
  Reader<float> reader(context, moving, 0);
  const std::int64_t k = moving.partitions;
  const std::int64_t n = reader.size();
  const std::int64_t panels = (n + panel_columns - 1) / panel_columns;
  auto& packed = context.scratch.moving;
  const auto size = static_cast<std::size_t>(panels * panel_columns * k);
  if (packed.size() < size) {
    packed.resize(size);
  }
  for (int row = 0; row < moving.partitions; ++row) {
    const float* values = reader.row(row);
    for (std::int64_t panel = 0; panel < panels; ++panel) {
      float* to = packed.data() + (panel * k + row) * panel_columns;
      const std::int64_t count = std::min(panel_columns, n - panel * panel_columns);
      std::memcpy(to, values + panel * panel_columns,
                  static_cast<std::size_t>(count) * sizeof(float));
      std::fill(to + count, to + panel_columns, 0.0F);
    }
  }
}

const float* weights_of(const isa::Multiply& op, const Context& context) {
  return context.array.weights.data() + op.moving.partition * context.array.columns +
         op.out.partition;
}

// out[m, n] = weight[k(n), m] where the moving operand's column n is 1 in row k(n): nothing is
// multiplied.
void pass_through(const isa::Multiply& op, Context& context) {
  Reader<float> reader(context, op.moving, 0);
  std::vector<std::int64_t> from(static_cast<std::size_t>(reader.size()), -1);
  for (int k = 0; k < op.moving.partitions; ++k) {
    const float* row = reader.row(k);
    for (std::size_t n = 0; n < from.size(); ++n) {
      if (row[n] != 0.0F) {
        from[n] = k;
      }
    }
  }
  const float* weights = weights_of(op, context);
  Writer<float> out(context, op.out, 1);
  for (int m = 0; m < op.out.partitions; ++m) {
    for (std::size_t n = 0; n < from.size(); ++n) {
      out.buffer()[n] = from[n] < 0 ? 0.0F : weights[from[n] * context.array.columns + m];
    }
    out.commit(m);
  }
}

}  // namespace

void execute(const isa::LoadStationary& op, Context& context) {
  Reader<float> reader(context, op.stationary, 0);
  for (int k = 0; k < op.stationary.partitions; ++k) {
    const float* values = reader.row(k);
    float* to = context.array.weights.data() +
                (op.stationary.partition + k) * context.array.columns + op.column;
    std::copy(values, values + reader.size(), to);
  }
}

void execute(const isa::Multiply& op, Context& context) {
  if (op.transpose_mode) {
    pass_through(op, context);
    return;
  }
  pack_moving(op.moving, context);
  const MultiplyShape shape{op.moving.partitions, op.out.partitions, isa::free_elements(op.moving)};
  const float* weights = weights_of(op, context);
  const Walk walk = walk_of(op.out);
  if (walk.dense() && op.out.dtype == isa::DType::f32 && walk.offset % 4 == 0) {
    std::byte* first = context.memory.partition(op.out.space, op.out.partition) + walk.offset;
    multiply_panels(shape, weights, context.array.columns, context.scratch.moving.data(),
                    reinterpret_cast<float*>(first), context.memory.pitch(op.out.space) / 4,
                    op.accumulate);
    return;
  }
  const auto size = static_cast<std::size_t>(shape.m * shape.n);
  if (context.scratch.product.size() < size) {
    context.scratch.product.resize(size);
  }
  float* product = context.scratch.product.data();
  multiply_panels(shape, weights, context.array.columns, context.scratch.moving.data(), product,
                  shape.n, false);
  Reader<float> old(context, op.out, 0);
  Writer<float> out(context, op.out, 1);
  for (int m = 0; m < op.out.partitions; ++m) {
    const float* row = product + m * shape.n;
    std::copy(row, row + shape.n, out.buffer());
    if (op.accumulate) {
      const float* before = old.row(m);
      for (std::int64_t n = 0; n < shape.n; ++n) {
        out.buffer()[n] += before[n];
      }
    }
    out.commit(m);
  }
}

}  // namespace systole::sim
