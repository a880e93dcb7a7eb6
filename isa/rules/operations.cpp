// Operations: what each instruction asks of its operands beyond where they lie. One overload of `rules` per struct; the
// sources are hardware.md sections 1.2, 1.3, 2 and 6.
#include <algorithm>
#include <array>
#include <iterator>
#include <type_traits>

#include "isa/fields.hpp"
#include "isa/names.hpp"
#include "isa/rules/context.hpp"
#include "isa/transposition.hpp"

namespace systole::isa::rules {
namespace {

constexpr std::int64_t stats_elements_max = 512;
constexpr std::int64_t search_elements_min = 8;
constexpr std::int64_t search_elements_max = 16384;
constexpr std::uint8_t keep_lane = 255;

void same_partitions(Context& c, std::string_view name, const Access& access,
                     std::string_view other_name, const Access& other) {
  if (access.partitions != other.partitions) {
    c.report("{} covers {} partitions, {} covers {}", name, access.partitions, other_name,
             other.partitions);
  }
}

void same_shape(Context& c, std::string_view name, const Access& access,
                std::string_view other_name, const Access& other) {
  same_partitions(c, name, access, other_name, other);
  if (free_elements(access) != free_elements(other)) {
    c.report("{} has {} elements per partition, {} has {}", name, free_elements(access), other_name,
             free_elements(other));
  }
}

void free_size(Context& c, std::string_view name, const Access& access, std::int64_t low,
               std::int64_t high) {
  const std::int64_t n = free_elements(access);
  if (n < low || n > high) {
    if (low == high) {
      c.report("{} has {} elements per partition, {} are needed", name, n, low);
    } else {
      c.report("{} has {} elements per partition, allowed are {} to {}", name, n, low, high);
    }
  }
}

void not_both_in_psum(Context& c, std::string_view name, const Access& access,
                      std::string_view other_name, const Access& other) {
  if (access.space == Space::psum && other.space == Space::psum) {
    c.report("{} and {} both lie in PSUM", name, other_name);
  }
}

void expect_space(Context& c, std::string_view name, const Access& access, Space space) {
  if (access.space != space) {
    c.report("{} lies in {}, it must lie in {}", name, enum_name(access.space), enum_name(space));
  }
}

void expect_integers(Context& c, std::string_view name, const Access& access) {
  if (is_float(access.dtype)) {
    c.report("{} is {}, an integer type is needed", name, name_of(access.dtype));
  }
}

void scalar_operand(Context& c, std::string_view name, const Scalar& scalar, const Access& data) {
  if (scalar.per_partition) {
    same_partitions(c, name, scalar.access, "the data", data);
    free_size(c, name, scalar.access, 1, 1);
  }
}

bool works_on_bits(AluOp op) {
  return op == AluOp::bitwise_and || op == AluOp::bitwise_or || op == AluOp::bitwise_xor ||
         op == AluOp::shift_left || op == AluOp::shift_right;
}

void expect_reduction(Context& c, AluOp op) {
  if (op != AluOp::add && op != AluOp::max && op != AluOp::min && op != AluOp::multiply) {
    c.report("reduces by {}, allowed are add, max, min, multiply", enum_name(op));
  }
}

// ---- Tensor engine.

void tile_position(Context& c, std::string_view what, int start, int count, int extent) {
  if (start < 0 || start + count > extent) {
    c.report("{} {} to {} do not fit the array's {}", what, start, start + count, extent);
    return;
  }
  if (const int step = c.tile_step(count); start % step != 0) {
    c.report("{} {} of the array start at {}, but must at a multiple of {}", count, what, start,
             step);
  }
}

bool overlaps(const Loaded& a, const Loaded& b) {
  return a.row < b.row + b.rows && b.row < a.row + a.rows && a.column < b.column + b.columns &&
         b.column < a.column + a.columns;
}

bool covers(const Loaded& a, const Loaded& b) {
  return a.row <= b.row && b.row + b.rows <= a.row + a.rows && a.column <= b.column &&
         b.column + b.columns <= a.column + a.columns;
}

// Pairs in every element of the array: [K, 2, columns].
void double_row(Context& c, std::string_view name, const Access& access) {
  if (!c.machine.fp8_double_row) {
    c.report("double_row does not exist on machine \"{}\"", c.machine.name);
  }
  if (size_of(access.dtype) != 1) {
    c.report("{} is {}, double_row takes f8e4 and f8e5", name, name_of(access.dtype));
  }
  if (access.rank < 2 || access.dims[0].extent != 2) {
    c.report("{} has no outermost dim of extent 2, the pair of double_row", name);
  }
}

void first_column(Context& c, int column) {
  if (column != 0) {
    c.report("double_row excludes tiles of columns, the first one here is {}", column);
  }
}

void rules(Context& c, const LoadStationary& op) {
  expect_space(c, "stationary", op.stationary, Space::sbuf);
  if (!is_float(op.stationary.dtype)) {
    c.report("stationary is {}, the array multiplies floating types", name_of(op.stationary.dtype));
  }
  if (op.double_row) {
    double_row(c, "stationary", op.stationary);
    first_column(c, op.column);
  }
  const auto columns =
      static_cast<int>(std::min<std::int64_t>(columns_of(op), c.machine.array_columns + 1));
  tile_position(c, "rows", op.stationary.partition, op.stationary.partitions, c.machine.array_rows);
  tile_position(c, "columns", op.column, columns, c.machine.array_columns);
  const Loaded fresh{op.stationary.partition,
                     op.stationary.partitions,
                     op.column,
                     columns,
                     op.stationary.dtype,
                     op.double_row};
  auto& all = c.loaded;
  all.erase(std::remove_if(all.begin(), all.end(),
                           [&fresh](const Loaded& old) { return covers(fresh, old); }),
            all.end());
  all.push_back(fresh);
}

// Cuts what `piece` covers out of the rectangles in `open`.
void subtract(std::vector<Loaded>& open, const Loaded& piece) {
  std::vector<Loaded> rest;
  for (const Loaded& r : open) {
    if (!overlaps(r, piece)) {
      rest.push_back(r);
      continue;
    }
    const int top = std::max(r.row, piece.row);
    const int bottom = std::min(r.row + r.rows, piece.row + piece.rows);
    const int left = std::max(r.column, piece.column);
    const int right = std::min(r.column + r.columns, piece.column + piece.columns);
    const std::array<Loaded, 4> sides = {
        Loaded{r.row, top - r.row, r.column, r.columns, r.dtype, r.double_row},
        Loaded{bottom, r.row + r.rows - bottom, r.column, r.columns, r.dtype, r.double_row},
        Loaded{top, bottom - top, r.column, left - r.column, r.dtype, r.double_row},
        Loaded{top, bottom - top, right, r.column + r.columns - right, r.dtype, r.double_row}};
    std::copy_if(sides.begin(), sides.end(), std::back_inserter(rest),
                 [](const Loaded& side) { return side.rows > 0 && side.columns > 0; });
  }
  open = std::move(rest);
}

// The weights that a multiply uses, newest load first: every cell of it must be loaded, fp32 pairs with fp32 only.
void loaded_weights(Context& c, const Loaded& used) {
  std::vector<Loaded> open;
  const auto pair = [&](const Loaded& weights) {
    if ((weights.dtype == DType::f32) != (used.dtype == DType::f32)) {
      c.report("moving is {}, the loaded weights are {}: f32 pairs with f32 only",
               name_of(used.dtype), name_of(weights.dtype));
      return false;
    }
    if (weights.double_row != used.double_row) {
      c.report("multiplies {} double_row with weights loaded {} it",
               used.double_row ? "with" : "without", weights.double_row ? "with" : "without");
      return false;
    }
    return true;
  };
  for (auto weights = c.loaded.rbegin(); weights != c.loaded.rend(); ++weights) {
    if (open.empty() && covers(*weights, used)) {
      static_cast<void>(pair(*weights));
      return;
    }
    if (!overlaps(*weights, used)) {
      continue;
    }
    if (open.empty()) {
      open.push_back(used);
    }
    const auto hit = [&](const Loaded& r) { return overlaps(r, *weights); };
    if (std::any_of(open.begin(), open.end(), hit) && !pair(*weights)) {
      return;
    }
    subtract(open, *weights);
    if (open.empty()) {
      return;
    }
  }
  c.report("uses rows {} to {} and columns {} to {} of the array, not all of them loaded", used.row,
           used.row + used.rows, used.column, used.column + used.columns);
}

void rules(Context& c, const Multiply& op) {
  expect_space(c, "moving", op.moving, Space::sbuf);
  expect_space(c, "out", op.out, Space::psum);
  if (!is_float(op.moving.dtype)) {
    c.report("moving is {}, the array multiplies floating types", name_of(op.moving.dtype));
  }
  if (op.double_row) {
    double_row(c, "moving", op.moving);
    first_column(c, op.out.partition);
    if (op.transpose_mode) {
      c.report("double_row excludes transpose_mode");
    }
  }
  if (const std::int64_t n = columns_of(op); n < 1 || n > c.machine.moving_max) {
    c.report("moving has {} columns, allowed are 1 to {}", n, c.machine.moving_max);
  } else if (n != free_elements(op.out)) {
    c.report("moving has {} columns, out has {} elements per partition", n, free_elements(op.out));
  }
  tile_position(c, "rows", op.moving.partition, op.moving.partitions, c.machine.array_rows);
  tile_position(c, "columns", op.out.partition, op.out.partitions, c.machine.array_columns);
  const ByteRange bytes = byte_range(op.out);
  if (bytes.begin >= 0 &&
      bytes.begin / c.machine.psum_bank_bytes != (bytes.end - 1) / c.machine.psum_bank_bytes) {
    c.report("out touches bytes {} to {}, more than one PSUM bank of {} bytes", bytes.begin,
             bytes.end, c.machine.psum_bank_bytes);
  }
  if (op.transpose_mode && !c.machine.transpose_mode) {
    c.report("transpose_mode does not exist on machine \"{}\"", c.machine.name);
  }
  if (op.transpose_mode && op.accumulate) {
    c.report("transpose_mode passes values through, it cannot accumulate");
  }
  const bool narrow = op.transpose_mode && is_float(op.out.dtype) && size_of(op.out.dtype) == 2;
  if (op.out.dtype != DType::f32 && !narrow) {
    c.report("out is {}, the array writes f32{}", name_of(op.out.dtype),
             op.transpose_mode ? " or a floating type of 2 bytes" : "");
  }
  loaded_weights(c, {op.moving.partition, op.moving.partitions, op.out.partition, op.out.partitions,
                     op.moving.dtype, op.double_row});
}

// ---- Vector engine.

void rules(Context& c, const TensorTensor& op) {
  same_shape(c, "a", op.a, "out", op.out);
  same_shape(c, "b", op.b, "out", op.out);
  not_both_in_psum(c, "a", op.a, "b", op.b);
  if (works_on_bits(op.op)) {
    expect_integers(c, "a", op.a);
    expect_integers(c, "b", op.b);
    expect_integers(c, "out", op.out);
  }
}

void rules(Context& c, const TensorScalar& op) {
  same_shape(c, "in", op.in, "out", op.out);
  scalar_operand(c, "s0", op.s0, op.in);
  scalar_operand(c, "s1", op.s1, op.in);
  if (works_on_bits(op.op0) || works_on_bits(op.op1)) {
    expect_integers(c, "in", op.in);
    expect_integers(c, "out", op.out);
  }
}

void rules(Context& c, const ScalarTensorTensor& op) {
  same_shape(c, "in", op.in, "out", op.out);
  same_shape(c, "other", op.other, "out", op.out);
  not_both_in_psum(c, "in", op.in, "other", op.other);
  scalar_operand(c, "scalar", op.scalar, op.in);
  if (works_on_bits(op.op0) || works_on_bits(op.op1)) {
    expect_integers(c, "in", op.in);
    expect_integers(c, "other", op.other);
    expect_integers(c, "out", op.out);
  }
}

void rules(Context& c, const TensorReduce& op) {
  expect_reduction(c, op.op);
  same_partitions(c, "in", op.in, "out", op.out);
  if (op.axes < 1 || op.axes > op.in.rank) {
    c.report("reduces {} dims, in has {}", op.axes, op.in.rank);
    return;
  }
  std::int64_t kept = 1;
  for (int d = 0; d < op.in.rank - op.axes; ++d) {
    kept *= op.in.dims[static_cast<std::size_t>(d)].extent;
  }
  free_size(c, "out", op.out, kept, kept);
}

void rules(Context& c, const TensorScan& op) {
  same_shape(c, "a", op.a, "out", op.out);
  same_shape(c, "b", op.b, "out", op.out);
  not_both_in_psum(c, "a", op.a, "b", op.b);
  scalar_operand(c, "initial", op.initial, op.a);
}

void rules(Context& c, const Copy& op) {
  same_shape(c, "in", op.in, "out", op.out);
}

void rules(Context& c, const CopyPredicated& op) {
  same_shape(c, "in", op.in, "out", op.out);
  same_shape(c, "predicate", op.predicate, "out", op.out);
  not_both_in_psum(c, "predicate", op.predicate, "in", op.in);
  expect_integers(c, "predicate", op.predicate);
}

void rules(Context&, const Memset&) {}

void rules(Context& c, const Reciprocal& op) {
  same_shape(c, "in", op.in, "out", op.out);
}

void rules(Context& c, const Transpose32& op) {
  const int lanes = c.machine.partition_quantum;
  if (op.in.partitions > lanes || op.out.partitions > lanes) {
    c.report("a block spans up to {} partitions, in covers {} and out {}", lanes, op.in.partitions,
             op.out.partitions);
  }
  if (free_elements(op.in) != op.out.partitions || free_elements(op.out) != op.in.partitions) {
    c.report("in is {} x {}, so out must be {} x {}, not {} x {}", op.in.partitions,
             free_elements(op.in), free_elements(op.in), op.in.partitions, op.out.partitions,
             free_elements(op.out));
  }
}

void rules(Context& c, const Shuffle32& op) {
  same_shape(c, "in", op.in, "out", op.out);
  if (op.in.dtype != op.out.dtype) {
    c.report("in is {}, out is {}: a shuffle does not convert", name_of(op.in.dtype),
             name_of(op.out.dtype));
  }
  const int quantum = c.machine.partition_quantum;
  const int count = op.in.partitions;
  for (int first = 0; first < count; first += quantum) {
    // Quadrants before the last are full: only the first and the last can differ in what they allow.
    if (first != 0 && first + quantum < count) {
      continue;
    }
    const int lanes = std::min(quantum, count - first);
    for (int i = 0; i < std::min<int>(lanes, static_cast<int>(op.mask.size())); ++i) {
      const std::uint8_t from = op.mask[static_cast<std::size_t>(i)];
      if (from != keep_lane && from >= lanes) {
        c.report("mask takes lane {} from lane {} of a quadrant with {} lanes in use", i, from,
                 lanes);
        return;
      }
    }
  }
}

void rules(Context& c, const BatchNormStats& op) {
  same_partitions(c, "in", op.in, "out", op.out);
  free_size(c, "in", op.in, 1, stats_elements_max);
  free_size(c, "out", op.out, 6, 6);
}

void rules(Context& c, const BatchNormAggregate& op) {
  same_partitions(c, "in", op.in, "out", op.out);
  if (free_elements(op.in) % 3 != 0) {
    c.report("in has {} elements per partition, no multiple of 3", free_elements(op.in));
  }
  free_size(c, "out", op.out, 2, 2);
}

void rules(Context& c, const Max8& op) {
  same_partitions(c, "in", op.in, "out", op.out);
  free_size(c, "in", op.in, search_elements_min, search_elements_max);
  free_size(c, "out", op.out, 8, 8);
}

void rules(Context& c, const FindIndex8& op) {
  same_partitions(c, "values", op.values, "in", op.in);
  same_partitions(c, "in", op.in, "out", op.out);
  free_size(c, "values", op.values, 8, 8);
  free_size(c, "in", op.in, search_elements_min, search_elements_max);
  free_size(c, "out", op.out, 8, 8);
  if (op.out.dtype != DType::u32) {
    c.report("out is {}, indices are u32", name_of(op.out.dtype));
  }
}

void rules(Context& c, const MatchReplace8& op) {
  same_partitions(c, "values", op.values, "in", op.in);
  same_shape(c, "in", op.in, "out", op.out);
  free_size(c, "values", op.values, 8, 8);
  free_size(c, "in", op.in, 1, search_elements_max);
}

// ---- Scalar engine.

void rules(Context& c, const Activation& op) {
  same_shape(c, "in", op.in, "out", op.out);
  scalar_operand(c, "scale", op.scale, op.in);
  scalar_operand(c, "bias", op.bias, op.in);
  if (op.with_reduce) {
    same_partitions(c, "reduce", op.reduce, "in", op.in);
    free_size(c, "reduce", op.reduce, 1, 1);
  }
}

// ---- GpSimd engine.

void rules(Context& c, const Iota& op) {
  if (op.out.dtype != DType::i32 && !is_float(op.out.dtype)) {
    c.report("out is {}, iota writes i32 or a floating type", name_of(op.out.dtype));
  }
}

void rules(Context& c, const AffineSelect& op) {
  same_shape(c, "in", op.in, "out", op.out);
}

void rules(Context& c, const PartitionReduce& op) {
  expect_reduction(c, op.op);
  if (op.out.partitions != 1) {
    c.report("out covers {} partitions, the result has one", op.out.partitions);
  }
  if (free_elements(op.in) != free_elements(op.out)) {
    c.report("in has {} elements per partition, out has {}", free_elements(op.in),
             free_elements(op.out));
  }
}

void rules(Context& c, const LocalGather& op) {
  same_partitions(c, "in", op.in, "out", op.out);
  same_shape(c, "index", op.index, "out", op.out);
  if (op.index.dtype != DType::u16 && op.index.dtype != DType::i32 &&
      op.index.dtype != DType::u32) {
    c.report("index is {}, allowed are u16, i32, u32", name_of(op.index.dtype));
  }
}

// ---- DMA and control.

void check_ring(Context& c, int ring) {
  if (ring >= c.machine.dma_rings) {
    c.report("ring {}, the machine has {}", ring, c.machine.dma_rings);
  }
}

void range_if_hbm(Context& c, std::string_view name, const DmaAccess& side) {
  if (side.space == Space::hbm) {
    check_tensor_range(c, name, side, 0);
  }
}

void rules(Context& c, const Dma& op) {
  check_ring(c, op.ring);
  range_if_hbm(c, "source", op.source);
  range_if_hbm(c, "destination", op.destination);
  if (elements(op.source) != elements(op.destination)) {
    c.report("source enumerates {} elements, destination {}", elements(op.source),
             elements(op.destination));
  }
  if (op.transpose && (size_of(op.source.dtype) != 2 || op.source.dtype != op.destination.dtype)) {
    c.report("a transposing transfer moves one type of 2 bytes, not {} to {}",
             name_of(op.source.dtype), name_of(op.destination.dtype));
  }
  if (op.transpose && op.accumulate) {
    c.report("a transfer transposes or accumulates, not both");
  }
  if (op.transpose && op.destination.space != Space::sbuf) {
    c.report("a transposing transfer ends in sbuf, not in {}", enum_name(op.destination.space));
  } else if (op.transpose && !transposition_of(op.source, op.destination)) {
    c.report(
        "the patterns are no transposition: neighbours at the source must become neighbouring "
        "partitions, and neighbours at the destination come from other partitions or from hbm");
  }
}

void indirect_rows(Context& c, const DmaIndirect& op) {
  const std::int64_t indices = elements(op.index);
  if (op.rows_side.rank < 1 || op.rows_side.dims[0].extent != indices) {
    c.report("rows_side enumerates {} rows, index has {}",
             op.rows_side.rank < 1 ? 0 : op.rows_side.dims[0].extent, indices);
    return;
  }
  if (elements(op.rows_side) / indices != elements(op.table)) {
    c.report("a row of rows_side has {} elements, a row of table {}",
             elements(op.rows_side) / indices, elements(op.table));
  }
}

void rules(Context& c, const DmaIndirect& op) {
  check_ring(c, op.ring);
  range_if_hbm(c, "rows_side", op.rows_side);
  expect_space(c, "index", op.index, Space::sbuf);
  if (op.index.dtype != DType::i32) {
    c.report("index is {}, it must be i32", name_of(op.index.dtype));
  }
  if (op.index.partitions > 1 && free_elements(op.index) > 1) {
    c.report("index is {} x {}: one per partition, or all in one partition", op.index.partitions,
             free_elements(op.index));
  }
  indirect_rows(c, op);
  if (op.table.space != Space::hbm) {
    c.report("table lies in {}, it must lie in hbm", enum_name(op.table.space));
    return;
  }
  std::int64_t last = 0;
  if (op.bound < 1 || __builtin_mul_overflow(op.bound - 1, op.row_stride, &last)) {
    c.report("bound {} with row_stride {} describes no table", op.bound, op.row_stride);
    return;
  }
  check_tensor_range(c, "table", op.table, 0);
  check_tensor_range(c, "table", op.table, last);
}

void rules(Context&, const Nop&) {}
void rules(Context& c, const LoadTable& op) {
  if (op.function == Function::copy) {
    c.report("copy needs no table");
  }
}

// ---- All operands by the field table, then the rules above.

template <class S, class T>
bool check_member(Context& c, const S& op, const Member<S, T>& member) {
  const auto& value = op.*(member.member);
  if constexpr (std::is_same_v<T, Access>) {
    if constexpr (std::is_same_v<S, Activation>) {
      if (!op.with_reduce && member.member == &Activation::reduce) {
        return true;
      }
    }
    const bool is_write = member.name == "out" || member.name == "reduce";
    return check_access(c, member.name, value, is_write);
  } else if constexpr (std::is_same_v<T, Scalar>) {
    return !value.per_partition || check_access(c, member.name, value.access, false);
  } else if constexpr (std::is_same_v<T, DmaAccess>) {
    bool is_write = member.name == "destination";
    if constexpr (std::is_same_v<S, DmaIndirect>) {
      is_write = op.scatter == (member.name == "table");
    }
    return check_side(c, member.name, value, is_write);
  } else {
    return true;
  }
}

}  // namespace

void check_operation(Context& context, const Operation& operation) {
  visit(
      [&context](const auto& op) {
        using S = std::remove_cvref_t<decltype(op)>;
        bool sound = true;
        for_each_member<S>(
            [&](const auto& member) { sound = check_member(context, op, member) && sound; });
        if (sound) {
          rules(context, op);
        }
      },
      operation);
}

}  // namespace systole::isa::rules
