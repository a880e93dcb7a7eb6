// Gather, GatherElements, ScatterND.
//
// Gather and ScatterND move slabs of an HBM table by indirect DMA, one index per slab. GatherElements stays inside the
// partitions: a local gather over the elements of one partition, with indices made linear first. Negative indices count
// from the end and are lifted by the machine; an index out of range stops it.
#include <algorithm>
#include <optional>

#include "compiler/lower/kernels/chunks.hpp"
#include "compiler/lower/kernels/map_operands.hpp"
#include "compiler/lower/pieces.hpp"
#include "isa/base/error.hpp"

namespace systole::lower {
namespace {

using isa::AluOp;
using isa::DType;

std::size_t at(int axis) {
  return static_cast<std::size_t>(axis);
}

// to = x * factor for whole numbers that fp32 may not hold: in two steps then.
void scale(Builder& b, const Tile& to, const Tile& x, std::int64_t factor) {
  const auto narrow = static_cast<float>(factor);
  if (static_cast<std::int64_t>(narrow) == factor) {
    b.tensor_scalar(to, x, AluOp::multiply, narrow);
    return;
  }
  std::vector<std::int64_t> extents;
  for (const isa::Dim& dim : x.dims) {
    extents.push_back(dim.extent);
  }
  const Tile high = b.scratch(x.partitions, extents, DType::i32, "scaled index", x.partition);
  const Tile low = b.scratch(x.partitions, extents, DType::i32, "scaled index", x.partition);
  b.tensor_scalar(low, x, AluOp::multiply, static_cast<float>(factor % 65536));
  b.tensor_scalar(high, x, AluOp::multiply, static_cast<float>(factor / 65536), AluOp::multiply,
                  65536.0F);
  b.tensor_tensor(AluOp::add, to, high, low);
}

std::vector<std::int64_t> extents_of_tile(const Tile& tile) {
  std::vector<std::int64_t> out;
  for (const isa::Dim& dim : tile.dims) {
    out.push_back(dim.extent);
  }
  return out;
}

// Indices as non-negative i32: index + (index < 0) * extent.
Tile lifted(Builder& b, const Tile& index, std::int64_t extent) {
  std::vector<std::int64_t> extents;
  for (const isa::Dim& dim : index.dims) {
    extents.push_back(dim.extent);
  }
  const Tile negative =
      b.scratch(index.partitions, extents, DType::i32, "negative indices", index.partition);
  const Tile out = b.scratch(index.partitions, extents, DType::i32, "indices", index.partition);
  b.tensor_scalar(negative, index, AluOp::less, 0.0F);
  scale(b, negative, negative, extent);
  b.tensor_tensor(AluOp::add, out, index, negative);
  return out;
}

// The HBM side of an indirect transfer: rows of `dims` at `offset` elements, one row per index.
struct Table {
  isa::TensorId tensor;
  DType dtype = DType::f32;
  std::int64_t offset = 0;
  std::int64_t row_stride = 0;
  std::int64_t bound = 0;
};

// Moves one slab piece per partition of `rows` (dims = the piece's extents) between table and tile. The piece is
// contiguous in the table.
void indirect(Builder& b, const Table& table, const Tile& index, const Tile& rows, bool scatter) {
  isa::DmaIndirect op;
  op.table.space = isa::Space::hbm;
  op.table.dtype = table.dtype;
  op.table.tensor = table.tensor;
  op.table.offset = table.offset;
  op.table.rank = 1;
  op.table.dims[0] = {1, static_cast<std::int32_t>(free_elements(rows)), false};
  op.index = access(index);
  op.rows_side.space = isa::Space::sbuf;
  op.rows_side.dtype = rows.dtype;
  op.rows_side.partition = static_cast<std::int16_t>(rows.partition);
  op.rows_side.offset = rows.offset;
  const std::vector<isa::Dim> dims = merged(rows.dims);
  check(dims.size() < isa::DmaAccess::max_rank,
        "a row of an indirect transfer has at most five dims");
  op.rows_side.rank = static_cast<std::int8_t>(dims.size() + 1);
  op.rows_side.dims[0] = {1, rows.partitions, true};
  for (std::size_t d = 0; d < dims.size(); ++d) {
    op.rows_side.dims[d + 1] = {dims[d].stride, dims[d].extent, false};
  }
  op.row_stride = table.row_stride;
  op.bound = table.bound;
  op.scatter = scatter;
  b.emit(op, isa::Engine::gpsimd, {index.buffer, rows.buffer});
}

void gather_slabs(Builder& b, const graph::Node& node, int axis) {
  const Operand data = operand_of(b, node.inputs[0]);
  const Operand indices = operand_of(b, node.inputs[1]);
  const Operand output = operand_of(b, node.output);
  const std::int64_t slab = product(extents_of(output, output.free_axes));
  const std::int64_t rows = output.partitions;
  const std::int64_t limit = chunk_elements(b, isa::size_of(output.dtype));
  const std::int64_t extent = data.shape[at(axis)];
  for_each_partition_range(rows, b.machine().partitions, 1, [&](Span range, bool) {
    Region index_region{range, std::vector<Span>(indices.free_axes.size(), Span{0, 1}), false};
    const Tile index = lifted(b, b.read(indices.tensor, index_region), extent);
    std::int64_t offset = 0;
    for_each_chunk(extents_of(output, output.free_axes), limit, [&](const std::vector<Span>& free) {
      const Region region{range, free, false};
      const Tile out = b.write(output.tensor, region);
      indirect(b, {b.hbm(data.tensor), data.dtype, offset, slab, extent}, index, out, false);
      b.finish(output.tensor, region, out);
      offset += elements_of(free);
    });
  });
}

// ---- GatherElements

class ElementGather {
 public:
  ElementGather(Builder& builder, const graph::Node& node, int axis)
      : b_(builder),
        axis_(axis),
        data_(operand_of(builder, node.inputs[0])),
        indices_(operand_of(builder, node.inputs[1])),
        output_(operand_of(builder, node.output)) {}

  void run() {
    std::vector<int> others;
    for (const int axis : output_.free_axes) {
      if (axis != axis_) {
        others.push_back(axis);
      }
    }
    // Per element of the output: five tiles of indices and the values; a window of the data's axis beside them.
    const std::int64_t along = output_.shape[at(axis_)];
    const std::int64_t value = isa::size_of(data_.dtype);
    const std::int64_t room = b_.staging_bytes() / 2;
    const std::int64_t per_index = 2 * value + 20;
    window_ = std::clamp<std::int64_t>(room / 2 / value, 1, data_.shape[at(axis_)]);
    const std::int64_t other_limit =
        std::max<std::int64_t>(1, room / (window_ * value + along * per_index));
    const std::int64_t along_limit =
        std::clamp<std::int64_t>((room - window_ * value) / per_index, 1, along);
    for_each_chunk(extents_of(output_, others), other_limit, [&](const std::vector<Span>& other) {
      for (std::int64_t begin = 0; begin < along; begin += along_limit) {
        std::vector<Span> free;
        for (const int axis : output_.free_axes) {
          const int place = position_of(others, axis);
          free.push_back(place < 0 ? Span{begin, std::min(along_limit, along - begin)}
                                   : other[at(place)]);
        }
        for_each_partition_range(output_.partitions, b_.machine().partitions, 1,
                                 [&](Span range, bool) { piece(range, free); });
      }
    });
  }

 private:
  void piece(Span range, const std::vector<Span>& free) {
    const std::int64_t length = data_.shape[at(axis_)];
    const Tile index = lifted(b_, in_output_order(indices_, range, free), length);
    const Region region{range, free, false};
    const Tile out = b_.write(output_.tensor, region);
    if (window_ == length) {
      from_window(range, free, {0, length}, index, out);
    }
    for (std::int64_t begin = 0; window_ < length && begin < length; begin += window_) {
      const Span window{begin, std::min(window_, length - begin)};
      // What lies in this window: where moving the index into it changes nothing.
      const Tile shifted = copy_of(index, false);
      const Tile inside = copy_of(index, false);
      const Tile mask =
          b_.scratch(index.partitions, extents_of_tile(index), DType::u8, "mask", index.partition);
      b_.tensor_scalar(shifted, index, AluOp::subtract, static_cast<float>(begin));
      b_.tensor_scalar(inside, shifted, AluOp::max, 0.0F, AluOp::min,
                       static_cast<float>(window.extent - 1));
      b_.tensor_tensor(AluOp::equal, mask, shifted, inside);
      const Tile values = copy_of(out, false);
      from_window(range, free, window, inside, values);
      if (begin == 0) {
        b_.copy(out, values);
      } else {
        b_.copy_predicated(out, values, mask);
      }
    }
    b_.finish(output_.tensor, region, out);
  }

  // out = data[.., window.begin + index, ..]; the index tile is overwritten.
  void from_window(Span range, std::vector<Span> free, Span window, const Tile& index,
                   const Tile& out) {
    const auto along = static_cast<std::size_t>(position_of(output_.free_axes, axis_));
    free[along] = window;
    const Tile data = in_output_order(data_, range, free);
    // The element's number in the enumeration of the data tile: index * stride of the axis + the other axes' part.
    std::vector<std::int64_t> strides(data.dims.size());
    std::int64_t stride = 1;
    for (std::size_t d = data.dims.size(); d-- > 0;) {
      strides[d] = stride;
      stride *= data.dims[d].extent;
    }
    if (strides[along] != 1) {
      scale(b_, index, index, strides[along]);
    }
    if (free_elements(data) != data.dims[along].extent) {
      b_.tensor_tensor(AluOp::add, index, index, other_part(index, along, strides));
    }
    const Tile dense = fits_access(b_.machine(), data) ? data : copy_of(data);
    const bool direct = fits_access(b_.machine(), out);
    const Tile values = direct ? out : copy_of(out, false);
    b_.emit(isa::LocalGather{access(dense), access(index), access(values)}, isa::Engine::gpsimd,
            {dense.buffer, index.buffer, values.buffer});
    if (!direct) {
      b_.copy(out, values);
    }
  }

  [[nodiscard]] Tile copy_of(const Tile& tile, bool fill = true) {
    const Tile out =
        b_.scratch(tile.partitions, extents_of_tile(tile), tile.dtype, "dense", tile.partition);
    if (fill) {
      b_.copy(out, tile);
    }
    return out;
  }

  // A piece of the data or the indices with dims in the output's order. The operand may be longer than the output in
  // any axis, also across the partitions.
  [[nodiscard]] Tile in_output_order(const Operand& operand, Span range,
                                     const std::vector<Span>& free) {
    bool same = operand.partitions == output_.partitions &&
                operand.partition_axes == output_.partition_axes;
    for (const int axis : output_.partition_axes) {
      same = same && operand.shape[at(axis)] == output_.shape[at(axis)];
    }
    if (same && operand.free_axes == output_.free_axes) {
      return b_.read(operand.tensor, {range, free, false});
    }
    Builder::Walk walk;
    walk.begin.assign(operand.shape.size(), 0);
    std::vector<std::int64_t> extents;
    for (std::size_t i = 0; i < free.size(); ++i) {
      walk.begin[at(output_.free_axes[i])] = free[i].begin;
      walk.free.push_back({output_.free_axes[i], 1, free[i].extent});
      extents.push_back(free[i].extent);
    }
    const Tile out =
        b_.scratch(static_cast<int>(range.extent), extents, operand.dtype, "gathered operand");
    load_partition_range(b_, out, operand.tensor, output_, output_.partition_axes, range, walk);
    return out;
  }

  [[nodiscard]] Tile other_part(const Tile& like, std::size_t along,
                                const std::vector<std::int64_t>& strides) {
    // Made dim by dim: a pattern has four steps at most, and zero along the gathered axis.
    std::optional<Tile> total;
    for (std::size_t d = 0; d < like.dims.size(); ++d) {
      if (d == along || like.dims[d].extent == 1) {
        continue;
      }
      const Tile row = b_.scratch(like.partitions, {like.dims[d].extent}, DType::i32, "positions",
                                  like.partition);
      isa::Iota iota;
      iota.out = access(row);
      iota.steps[0] = static_cast<std::int32_t>(strides[d]);
      b_.emit(iota, isa::Engine::gpsimd, {row.buffer});
      Tile spread = row;
      spread.dims.assign(like.dims.size(), {});
      for (std::size_t i = 0; i < like.dims.size(); ++i) {
        spread.dims[i] = make_dim(i == d ? 1 : 0, like.dims[i].extent);
      }
      if (!total) {
        total = spread;
        continue;
      }
      const Tile sum = copy_of(like, false);
      b_.tensor_tensor(AluOp::add, sum, *total, spread);
      total = sum;
    }
    return *total;
  }

  Builder& b_;
  int axis_;
  std::int64_t window_ = 1;  // elements of the data's axis taken at once
  Operand data_;
  Operand indices_;
  Operand output_;
};

// ---- ScatterND

class SlabScatter {
 public:
  SlabScatter(Builder& builder, const graph::Node& node, graph::ScatterMode mode)
      : b_(builder),
        mode_(mode),
        data_(operand_of(builder, node.inputs[0])),
        indices_(operand_of(builder, node.inputs[1])),
        updates_(operand_of(builder, node.inputs[2])),
        output_(operand_of(builder, node.output)) {}

  void run() {
    b_.relabel(data_.tensor, output_.tensor);
    const std::int64_t rows = updates_.partitions;
    if (rows == 0 || product(updates_.shape) == 0) {
      return;
    }
    // Rows that combine must see one another's results: one at a time. Assignments keep their order inside a transfer.
    const std::int64_t at_once = mode_ == graph::ScatterMode::assign ? b_.machine().partitions : 1;
    for (std::int64_t begin = 0; begin < rows; begin += at_once) {
      const Span range{begin, std::min(at_once, rows - begin)};
      const Tile index = linear_index(range);
      std::int64_t offset = 0;
      for_each_chunk(extents_of(updates_, updates_.free_axes),
                     chunk_elements(b_, 2 * isa::size_of(output_.dtype)),
                     [&](const std::vector<Span>& free) {
                       piece(range, free, index, offset);
                       offset += elements_of(free);
                     });
    }
  }

 private:
  void piece(Span range, const std::vector<Span>& free, const Tile& index, std::int64_t offset) {
    Builder::ReadOptions options;
    options.dtype = output_.dtype;
    options.any_dtype = false;
    const Tile update = b_.read(updates_.tensor, {range, free, false}, options);
    const std::int64_t slab = product(extents_of(updates_, updates_.free_axes));
    const Table table{b_.hbm(output_.tensor), output_.dtype, offset, slab,
                      product(output_.shape) / slab};
    if (mode_ == graph::ScatterMode::assign) {
      indirect(b_, table, index, update, true);
      return;
    }
    std::vector<std::int64_t> extents;
    for (const Span& span : free) {
      extents.push_back(span.extent);
    }
    const Tile current =
        b_.scratch(static_cast<int>(range.extent), extents, output_.dtype, "current");
    indirect(b_, table, index, current, false);
    b_.tensor_tensor(alu(), current, current, update);
    indirect(b_, table, index, current, true);
  }

  [[nodiscard]] AluOp alu() const {
    switch (mode_) {
      case graph::ScatterMode::assign:
        return AluOp::bypass;
      case graph::ScatterMode::add:
        return AluOp::add;
      case graph::ScatterMode::multiply:
        return AluOp::multiply;
      case graph::ScatterMode::max:
        return AluOp::max;
      case graph::ScatterMode::min:
        return AluOp::min;
    }
    return AluOp::bypass;
  }

  // Number of the slab: the index components, each lifted, as digits of the output's leading axes.
  [[nodiscard]] Tile linear_index(Span range) {
    const std::int64_t depth = indices_.shape.back();
    Region region{range, {}, false};
    for (const int axis : indices_.free_axes) {
      region.free.push_back({0, indices_.shape[at(axis)]});
    }
    Tile all = b_.read(indices_.tensor, region);
    all.dims = {isa::Dim{1, static_cast<std::int32_t>(depth)}};
    const Tile out = b_.scratch(static_cast<int>(range.extent), {}, DType::i32, "slab numbers");
    b_.memset(out, 0.0F);
    for (std::int64_t k = 0; k < depth; ++k) {
      const std::int64_t extent = output_.shape[static_cast<std::size_t>(k)];
      const Tile digit = lifted(b_, drop_dim(all, 0, k), extent);
      if (k > 0) {
        scale(b_, out, out, extent);
      }
      b_.tensor_tensor(AluOp::add, out, out, digit);
    }
    return out;
  }

  Builder& b_;
  graph::ScatterMode mode_;
  Operand data_;
  Operand indices_;
  Operand updates_;
  Operand output_;
};

}  // namespace

void lower_gather(Builder& builder, graph::NodeId node_id) {
  const graph::Node& node = builder.laid().graph.nodes[node_id];
  if (const auto* gather = std::get_if<graph::Gather>(&node.op)) {
    gather_slabs(builder, node, gather->axis);
  } else if (const auto* elements = std::get_if<graph::GatherElements>(&node.op)) {
    ElementGather(builder, node, elements->axis).run();
  } else if (const auto* scatter = std::get_if<graph::ScatterND>(&node.op)) {
    SlabScatter(builder, node, scatter->mode).run();
  } else {
    check(false, "not a gather or scatter");
  }
}

}  // namespace systole::lower
