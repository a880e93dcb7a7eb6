// GpSimd engine: index patterns, reductions across partitions, gathers.
#include <fmt/format.h>

#include <algorithm>

#include "sim/instructions/arithmetic.hpp"
#include "sim/instructions/execute.hpp"

namespace systole::sim {
namespace {

// base + sum of steps[d] * i_d over the access's free dims, in enumeration order.
std::vector<std::int64_t> affine_row(const isa::Access& access, std::int64_t base,
                                     const std::array<std::int32_t, isa::Access::max_rank>& steps) {
  std::vector<std::int64_t> row{base};
  for (int d = 0; d < access.rank; ++d) {
    const auto i = static_cast<std::size_t>(d);
    std::vector<std::int64_t> next;
    next.reserve(row.size() * static_cast<std::size_t>(access.dims[i].extent));
    for (const std::int64_t value : row) {
      for (std::int32_t k = 0; k < access.dims[i].extent; ++k) {
        next.push_back(value + std::int64_t{steps[i]} * k);
      }
    }
    row = std::move(next);
  }
  return row;
}

bool holds(isa::Comparison comparison, std::int64_t value) {
  switch (comparison) {
    case isa::Comparison::equal:
      return value == 0;
    case isa::Comparison::not_equal:
      return value != 0;
    case isa::Comparison::less:
      return value < 0;
    case isa::Comparison::less_equal:
      return value <= 0;
    case isa::Comparison::greater:
      return value > 0;
    case isa::Comparison::greater_equal:
      return value >= 0;
  }
  return false;
}

}  // namespace

void execute(const isa::Iota& op, Context& context) {
  const std::vector<std::int64_t> row = affine_row(op.out, op.base, op.steps);
  Writer<std::int64_t> out(context, op.out, 0);
  for (int p = 0; p < op.out.partitions; ++p) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      out.buffer()[i] = row[i] + std::int64_t{op.partition_step} * p;
    }
    out.commit(p);
  }
}

void execute(const isa::AffineSelect& op, Context& context) {
  const std::vector<std::int64_t> row = affine_row(op.in, op.base, op.steps);
  with_value_type(
      [&](auto zero) {
        using T = decltype(zero);
        Reader<T> in(context, op.in, 0);
        Writer<T> out(context, op.out, 1);
        for (int p = 0; p < op.in.partitions; ++p) {
          const T* values = in.row(p);
          for (std::size_t i = 0; i < row.size(); ++i) {
            const bool keep = holds(op.comparison, row[i] + std::int64_t{op.partition_step} * p);
            out.buffer()[i] = keep ? values[i] : static_cast<T>(op.fill);
          }
          out.commit(p);
        }
      },
      op.in, op.out);
}

void execute(const isa::PartitionReduce& op, Context& context) {
  with_value_type(
      [&](auto zero) {
        using T = decltype(zero);
        Reader<T> in(context, op.in, 0);
        Writer<T> out(context, op.out, 1);
        for (int p = 0; p < op.in.partitions; ++p) {
          const T* row = in.row(p);
          if (p == 0) {
            std::copy(row, row + in.size(), out.buffer());
          } else {
            alu_row<T>(op.op, {out.buffer(), T{}}, {row, T{}}, out.buffer(), in.size());
          }
        }
        out.commit(0);
      },
      op.in, op.out);
}

void execute(const isa::LocalGather& op, Context& context) {
  Reader<std::int64_t> index(context, op.index, 0);
  with_value_type(
      [&](auto zero) {
        using T = decltype(zero);
        Reader<T> in(context, op.in, 1);
        Writer<T> out(context, op.out, 2);
        for (int p = 0; p < op.out.partitions; ++p) {
          const std::int64_t* chosen = index.row(p);
          const T* values = in.row(p);
          for (std::int64_t i = 0; i < out.size(); ++i) {
            if (chosen[i] < 0 || chosen[i] >= in.size()) {
              context.fault =
                  fmt::format("index {} of element {} in partition {} is outside [0, {})",
                              chosen[i], i, op.index.partition + p, in.size());
              return;
            }
            out.buffer()[i] = values[chosen[i]];
          }
          out.commit(p);
        }
      },
      op.in, op.out);
}

}  // namespace systole::sim
