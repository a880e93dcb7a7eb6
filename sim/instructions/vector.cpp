// Vector engine: elementwise arithmetic, reductions and scans.
#include <algorithm>

#include "sim/instructions/arithmetic.hpp"
#include "sim/instructions/execute.hpp"

namespace systole::sim {
namespace {

// out = a op b, or b op a if reversed, b one value.
template <class T>
void scalar_step(isa::AluOp op, bool reverse, const T* a, T value, T* out, std::int64_t n) {
  const RowOperand<T> data{a, T{}};
  const RowOperand<T> scalar{nullptr, value};
  alu_row<T>(op, reverse && op != isa::AluOp::bypass ? scalar : data,
             reverse && op != isa::AluOp::bypass ? data : scalar, out, n);
}

// Immediate scalars of an integer instruction must be whole numbers to compute in integers.
bool whole(const isa::Scalar& scalar) {
  if (scalar.per_partition) {
    return !isa::is_float(scalar.access.dtype);
  }
  return scalar.value == static_cast<float>(static_cast<std::int64_t>(scalar.value));
}

template <class T>
void tensor_scalar(const isa::TensorScalar& op, Context& context) {
  Reader<T> in(context, op.in, 0);
  Writer<T> out(context, op.out, 1);
  for (int p = 0; p < op.in.partitions; ++p) {
    const T* row = in.row(p);
    scalar_step(op.op0, op.reverse0, row, scalar_value<T>(context, op.s0, p), out.buffer(),
                in.size());
    if (op.op1 != isa::AluOp::bypass) {
      scalar_step(op.op1, op.reverse1, out.buffer(), scalar_value<T>(context, op.s1, p),
                  out.buffer(), in.size());
    }
    out.commit(p);
  }
}

template <class T>
void scalar_tensor_tensor(const isa::ScalarTensorTensor& op, Context& context) {
  Reader<T> in(context, op.in, 0);
  Reader<T> other(context, op.other, 1);
  Writer<T> out(context, op.out, 2);
  for (int p = 0; p < op.in.partitions; ++p) {
    scalar_step(op.op0, false, in.row(p), scalar_value<T>(context, op.scalar, p), out.buffer(),
                in.size());
    alu_row<T>(op.op1, {out.buffer(), T{}}, {other.row(p), T{}}, out.buffer(), in.size());
    out.commit(p);
  }
}

}  // namespace

void execute(const isa::TensorTensor& op, Context& context) {
  with_value_type(
      [&](auto zero) {
        using T = decltype(zero);
        Reader<T> a(context, op.a, 0);
        Reader<T> b(context, op.b, 1);
        Writer<T> out(context, op.out, 2);
        for (int p = 0; p < op.out.partitions; ++p) {
          alu_row<T>(op.op, {a.row(p), T{}}, {b.row(p), T{}}, out.buffer(), out.size());
          out.commit(p);
        }
      },
      op.a, op.b, op.out);
}

void execute(const isa::TensorScalar& op, Context& context) {
  const bool integers = !isa::is_float(op.in.dtype) && !isa::is_float(op.out.dtype);
  if (integers && whole(op.s0) && whole(op.s1)) {
    tensor_scalar<std::int64_t>(op, context);
  } else {
    tensor_scalar<float>(op, context);
  }
}

void execute(const isa::ScalarTensorTensor& op, Context& context) {
  const bool integers =
      !isa::is_float(op.in.dtype) && !isa::is_float(op.other.dtype) && !isa::is_float(op.out.dtype);
  if (integers && whole(op.scalar)) {
    scalar_tensor_tensor<std::int64_t>(op, context);
  } else {
    scalar_tensor_tensor<float>(op, context);
  }
}

void execute(const isa::TensorReduce& op, Context& context) {
  std::int64_t inner = 1;
  for (int i = std::max(0, op.in.rank - op.axes); i < op.in.rank; ++i) {
    inner *= op.in.dims[static_cast<std::size_t>(i)].extent;
  }
  with_value_type(
      [&](auto zero) {
        using T = decltype(zero);
        Reader<T> in(context, op.in, 0);
        Writer<T> out(context, op.out, 1);
        for (int p = 0; p < op.out.partitions; ++p) {
          const T* row = in.row(p);
          for (std::int64_t i = 0; i < out.size(); ++i) {
            const T value = reduce_row<T>(op.op, row + i * inner, inner);
            out.buffer()[i] = op.negate ? -value : value;
          }
          out.commit(p);
        }
      },
      op.in, op.out);
}

void execute(const isa::TensorScan& op, Context& context) {
  Reader<float> a(context, op.a, 0);
  Reader<float> b(context, op.b, 1);
  Writer<float> out(context, op.out, 2);
  for (int p = 0; p < op.out.partitions; ++p) {
    const float* row_a = a.row(p);
    const float* row_b = b.row(p);
    auto state = scalar_value<float>(context, op.initial, p);
    const bool usual = op.op0 == isa::AluOp::multiply && op.op1 == isa::AluOp::add;
    for (std::int64_t i = 0; i < out.size(); ++i) {
      state = usual ? row_a[i] * state + row_b[i]
                    : alu_value<float>(op.op1, alu_value<float>(op.op0, row_a[i], state), row_b[i]);
      out.buffer()[i] = state;
    }
    out.commit(p);
  }
}

void execute(const isa::Reciprocal& op, Context& context) {
  Reader<float> in(context, op.in, 0);
  Writer<float> out(context, op.out, 1);
  for (int p = 0; p < op.out.partitions; ++p) {
    alu_row<float>(isa::AluOp::divide, {nullptr, 1.0F}, {in.row(p), 0.0F}, out.buffer(),
                   out.size());
    out.commit(p);
  }
}

void execute(const isa::BatchNormStats& op, Context& context) {
  Reader<float> in(context, op.in, 0);
  Writer<float> out(context, op.out, 1);
  for (int p = 0; p < op.in.partitions; ++p) {
    const float* row = in.row(p);
    for (std::int64_t half = 0; half < 2; ++half) {
      float count = 0.0F;
      float mean = 0.0F;
      float m2 = 0.0F;
      for (std::int64_t i = half; i < in.size(); i += 2) {
        count += 1.0F;
        const float delta = row[i] - mean;
        mean += delta / count;
        m2 += delta * (row[i] - mean);
      }
      out.buffer()[half * 3] = count;
      out.buffer()[half * 3 + 1] = mean;
      out.buffer()[half * 3 + 2] = m2;
    }
    out.commit(p);
  }
}

void execute(const isa::BatchNormAggregate& op, Context& context) {
  Reader<float> in(context, op.in, 0);
  Writer<float> out(context, op.out, 1);
  for (int p = 0; p < op.in.partitions; ++p) {
    const float* row = in.row(p);
    float count = 0.0F;
    float mean = 0.0F;
    float m2 = 0.0F;
    for (std::int64_t i = 0; i + 2 < in.size(); i += 3) {
      const float added = row[i];
      const float total = count + added;
      if (total == 0.0F) {
        continue;
      }
      const float delta = row[i + 1] - mean;
      mean += delta * added / total;
      m2 += row[i + 2] + delta * delta * count * added / total;
      count = total;
    }
    out.buffer()[0] = mean;
    out.buffer()[1] = count == 0.0F ? 0.0F : m2 / count;
    out.commit(p);
  }
}

}  // namespace systole::sim
