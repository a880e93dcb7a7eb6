// Tensor engine: values of the stationary operand lie in the array as fp32 (exact for every
// narrower type); the moving operand is packed into panels for the kernel.
#include <algorithm>
#include <cstring>

#include "sim/instructions/execute.hpp"
#include "sim/instructions/multiply_kernel.hpp"

namespace systole::sim {
namespace {

// Rows of the contraction, in its order: a partition's pair, then the next partition's.
void pack_moving(const isa::Multiply& op, Context& context) {
  Reader<float> reader(context, op.moving, 0);
  const int pairs = op.double_row ? 2 : 1;
  const std::int64_t k = std::int64_t{op.moving.partitions} * pairs;
  const std::int64_t n = reader.size() / pairs;
  const std::int64_t panels = (n + panel_columns - 1) / panel_columns;
  auto& packed = context.scratch.moving;
  const auto size = static_cast<std::size_t>(panels * panel_columns * k);
  if (packed.size() < size) {
    packed.resize(size);
  }
  const float* values = nullptr;
  for (std::int64_t row = 0; row < k; ++row) {
    values = row % pairs == 0 ? reader.row(static_cast<int>(row / pairs)) : values + n;
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
  return context.array.weights.data() +
         op.moving.partition * context.array.pairs * context.array.columns + op.out.partition;
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
      out.buffer()[n] =
          from[n] < 0 ? 0.0F : weights[from[n] * context.array.pairs * context.array.columns + m];
    }
    out.commit(m);
  }
}

}  // namespace

void execute(const isa::LoadStationary& op, Context& context) {
  Reader<float> reader(context, op.stationary, 0);
  Array& array = context.array;
  const std::int64_t columns = isa::columns_of(op);
  for (int k = 0; k < op.stationary.partitions; ++k) {
    const float* values = reader.row(k);
    float* to = array.weights.data() + (op.stationary.partition + k) * array.pairs * array.columns +
                op.column;
    std::copy(values, values + columns, to);
    if (op.double_row) {
      std::copy(values + columns, values + 2 * columns, to + array.columns);
    }
  }
}

void execute(const isa::Multiply& op, Context& context) {
  if (op.transpose_mode) {
    pass_through(op, context);
    return;
  }
  pack_moving(op, context);
  const int pairs = op.double_row ? 2 : 1;
  const MultiplyShape shape{op.moving.partitions * pairs, op.out.partitions, isa::columns_of(op)};
  const float* weights = weights_of(op, context);
  const int pitch = context.array.columns * context.array.pairs / pairs;
  const Walk walk = walk_of(op.out);
  if (walk.dense() && op.out.dtype == isa::DType::f32 && walk.offset % 4 == 0) {
    std::byte* first = context.memory.partition(op.out.space, op.out.partition) + walk.offset;
    multiply_panels(shape, weights, pitch, context.scratch.moving.data(),
                    reinterpret_cast<float*>(first), context.memory.pitch(op.out.space) / 4,
                    op.accumulate);
    return;
  }
  const auto size = static_cast<std::size_t>(shape.m * shape.n);
  if (context.scratch.product.size() < size) {
    context.scratch.product.resize(size);
  }
  float* product = context.scratch.product.data();
  multiply_panels(shape, weights, pitch, context.scratch.moving.data(), product, shape.n, false);
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
