// Moving and selecting values: copies, fills, 32-lane transposes and shuffles, and the eight-value
// searches.
#include <algorithm>
#include <cstring>
#include <functional>

#include "sim/instructions/execute.hpp"

namespace systole::sim {
namespace {

// The operand's row p as dense bytes: in place, or gathered into scratch slot `slot`.
const std::byte* dense_row(Context& context, const isa::Access& access, const Walk& walk, int p,
                           std::size_t slot) {
  const std::byte* base = context.memory.partition(access.space, access.partition + p);
  if (walk.dense()) {
    return base + walk.offset;
  }
  std::byte* row = context.scratch.row_bytes(slot, walk.elements * walk.element_size);
  gather(walk, base, row);
  return row;
}

std::span<const std::byte> span_of(const std::byte* bytes, const Walk& walk) {
  return {bytes, static_cast<std::size_t>(walk.elements * walk.element_size)};
}

// Converts dense bytes into row p of `to`.
void put_row(Context& context, isa::DType dtype, std::span<const std::byte> from,
             const isa::Access& to, const Walk& walk, int p) {
  std::byte* base = context.memory.partition(to.space, to.partition + p);
  const auto bytes = static_cast<std::size_t>(walk.elements * walk.element_size);
  if (walk.dense() && dtype == to.dtype) {
    std::memmove(base + walk.offset, from.data(), bytes);
  } else if (walk.dense()) {
    isa::convert(dtype, from, to.dtype, {base + walk.offset, bytes});
  } else if (dtype == to.dtype) {
    scatter(walk, from.data(), base);
  } else {
    std::byte* row = context.scratch.row_bytes(1, walk.elements * walk.element_size);
    isa::convert(dtype, from, to.dtype, {row, bytes});
    scatter(walk, row, base);
  }
}

// Element size for one value of each row.
std::byte* element_at(Context& context, const isa::Access& access, const Walk& walk, int p,
                      std::int64_t index) {
  std::byte* at = context.memory.partition(access.space, access.partition + p) + walk.offset;
  for (int d = walk.rank - 1; d >= 0; --d) {
    const auto i = static_cast<std::size_t>(d);
    at += index % walk.extent[i] * walk.stride[i];
    index /= walk.extent[i];
  }
  return at;
}

}  // namespace

void execute(const isa::Copy& op, Context& context) {
  const Walk in = walk_of(op.in);
  const Walk out = walk_of(op.out);
  for (int p = 0; p < op.in.partitions; ++p) {
    put_row(context, op.in.dtype, span_of(dense_row(context, op.in, in, p, 0), in), op.out, out, p);
  }
}

void execute(const isa::CopyPredicated& op, Context& context) {
  const Walk in = walk_of(op.in);
  const Walk out = walk_of(op.out);
  const auto size = static_cast<std::size_t>(out.element_size);
  Reader<std::int64_t> predicate(context, op.predicate, 0);
  for (int p = 0; p < op.in.partitions; ++p) {
    const std::int64_t* chosen = predicate.row(p);
    const std::byte* from = dense_row(context, op.in, in, p, 0);
    std::byte* converted = context.scratch.row_bytes(1, out.elements * out.element_size);
    isa::convert(op.in.dtype, span_of(from, in), op.out.dtype,
                 {converted, static_cast<std::size_t>(out.elements) * size});
    for (std::int64_t i = 0; i < out.elements; ++i) {
      if (chosen[i] != 0) {
        std::memcpy(element_at(context, op.out, out, p, i),
                    converted + static_cast<std::size_t>(i) * size, size);
      }
    }
  }
}

void execute(const isa::Memset& op, Context& context) {
  Writer<float> out(context, op.out, 0);
  std::fill(out.buffer(), out.buffer() + out.size(), op.value);
  for (int p = 0; p < op.out.partitions; ++p) {
    out.commit(p);
  }
}

void execute(const isa::Transpose32& op, Context& context) {
  const Walk in = walk_of(op.in);
  const Walk out = walk_of(op.out);
  // The block is read before any of it is written: input and output may be the same.
  std::vector<std::byte> block(
      static_cast<std::size_t>(op.in.partitions * in.elements * in.element_size));
  std::byte* to = block.data();
  for (int p = 0; p < op.in.partitions; ++p) {
    gather(in, context.memory.partition(op.in.space, op.in.partition + p), to);
    to += in.elements * in.element_size;
  }
  const auto from_size = static_cast<std::size_t>(in.element_size);
  const auto to_size = static_cast<std::size_t>(out.element_size);
  for (int p = 0; p < op.in.partitions; ++p) {
    for (std::int64_t f = 0; f < in.elements; ++f) {
      const std::byte* from =
          block.data() + static_cast<std::size_t>(p * in.elements + f) * from_size;
      isa::convert(op.in.dtype, {from, from_size}, op.out.dtype,
                   {element_at(context, op.out, out, static_cast<int>(f), p), to_size});
    }
  }
}

void execute(const isa::Shuffle32& op, Context& context) {
  const Walk in = walk_of(op.in);
  const Walk out = walk_of(op.out);
  const int lanes = std::min(32, context.machine.partition_quantum);
  const std::int64_t row_bytes = in.elements * in.element_size;
  std::vector<std::byte> quadrant(static_cast<std::size_t>(row_bytes * lanes));
  for (int first = 0; first < op.in.partitions; first += lanes) {
    const int count = std::min(lanes, op.in.partitions - first);
    for (int lane = 0; lane < count; ++lane) {
      gather(in, context.memory.partition(op.in.space, op.in.partition + first + lane),
             quadrant.data() + lane * row_bytes);
    }
    for (int lane = 0; lane < count; ++lane) {
      const int from = op.mask[static_cast<std::size_t>(lane)];
      if (from != 255 && from < count) {
        put_row(context, op.in.dtype, span_of(quadrant.data() + from * row_bytes, in), op.out, out,
                first + lane);
      }
    }
  }
}

void execute(const isa::Max8& op, Context& context) {
  Reader<float> in(context, op.in, 0);
  Writer<float> out(context, op.out, 1);
  float* sorted = context.scratch.row<float>(2, in.size());
  for (int p = 0; p < op.in.partitions; ++p) {
    const float* row = in.row(p);
    std::copy(row, row + in.size(), sorted);
    const std::int64_t count = std::min(out.size(), in.size());
    std::partial_sort(sorted, sorted + count, sorted + in.size(), std::greater<>());
    std::copy(sorted, sorted + count, out.buffer());
    out.commit(p);
  }
}

void execute(const isa::FindIndex8& op, Context& context) {
  Reader<float> values(context, op.values, 0);
  Reader<float> in(context, op.in, 1);
  Writer<std::int64_t> out(context, op.out, 2);
  std::vector<bool> used(static_cast<std::size_t>(in.size()));
  for (int p = 0; p < op.in.partitions; ++p) {
    const float* wanted = values.row(p);
    const float* row = in.row(p);
    std::fill(used.begin(), used.end(), false);
    for (std::int64_t v = 0; v < values.size(); ++v) {
      std::int64_t i = 0;
      while (i < in.size() && (row[i] != wanted[v] || used[static_cast<std::size_t>(i)])) {
        ++i;
      }
      if (i < in.size()) {
        used[static_cast<std::size_t>(i)] = true;
      }
      out.buffer()[v] = i;
    }
    out.commit(p);
  }
}

void execute(const isa::MatchReplace8& op, Context& context) {
  Reader<float> values(context, op.values, 0);
  Reader<float> in(context, op.in, 1);
  Writer<float> out(context, op.out, 2);
  for (int p = 0; p < op.in.partitions; ++p) {
    const float* wanted = values.row(p);
    const float* row = in.row(p);
    std::vector<bool> used(static_cast<std::size_t>(in.size()));
    std::copy(row, row + in.size(), out.buffer());
    for (std::int64_t v = 0; v < values.size(); ++v) {
      for (std::int64_t i = 0; i < in.size(); ++i) {
        if (row[i] == wanted[v] && !used[static_cast<std::size_t>(i)]) {
          used[static_cast<std::size_t>(i)] = true;
          out.buffer()[i] = op.value;
          break;
        }
      }
    }
    out.commit(p);
  }
}

}  // namespace systole::sim
