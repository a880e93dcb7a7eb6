#include "compiler/lower/kernels/contraction_turn.hpp"

#include <algorithm>

namespace systole::lower {
namespace {

// Bytes of a row at which transfers reach their full rate.
constexpr std::int64_t row_bytes = 2048;
constexpr std::int64_t narrowest = 2;  // bytes of an element

std::int64_t bank_elements(const isa::Machine& machine) {
  return machine.psum_bank_bytes / isa::size_of(isa::DType::f32);
}

// The axis of extent other than 1 among `axes`.
int long_axis(const graph::Shape& shape, const std::vector<int>& axes) {
  const auto found = std::ranges::find_if(
      axes, [&shape](int axis) { return shape[static_cast<std::size_t>(axis)] != 1; });
  check(found != axes.end(), "a turned operand has two long axes");
  return *found;
}

}  // namespace

std::int64_t turned_row(const isa::Machine& machine, std::int64_t contracted) {
  const std::int64_t unit = bank_elements(machine) / machine.partitions * machine.partitions;
  return std::min(contracted, (row_bytes / narrowest + unit - 1) / unit * unit);
}

std::optional<Turner> Turner::of(Builder& builder, const Space& space, const Placed& to,
                                 isa::DType dtype, std::int64_t blocks) {
  if (builder.is_stored(to.tensor)) {
    return std::nullopt;
  }
  return Turner(builder, space, to, dtype, blocks);
}

Turner::Turner(Builder& builder, const Space& space, const Placed& to, isa::DType dtype,
               std::int64_t blocks)
    : builder_(builder), dtype_(dtype), blocks_(blocks) {
  const layout::LaidGraph& laid = builder.laid();
  const graph::NodeId node = laid.graph.tensors[to.tensor].producer;
  from_ = laid.graph.nodes[node].inputs[0];
  charged_ = builder.add_source(source_name(laid, node), isa::SourceKind::conversion);
  const layout::Layout& from = laid.layouts[from_];
  from_free_.assign(from.order.begin() + from.split, from.order.end());
  const graph::Shape& shape = laid.graph.tensors[from_].shape;
  contracted_axis_ = long_axis(shape, from_free_);
  contracted_ = to.partitions;
  const auto own = std::ranges::find_if(to.free_labels, [&space](int label) {
    return space.extents[static_cast<std::size_t>(label)] != 1;
  });
  check(own != to.free_labels.end(), "a turned operand has a free axis");
  own_label_ = *own;
}

std::int64_t Turner::rows_of_block(std::int64_t block) const {
  const std::int64_t partitions = builder_.machine().partitions;
  return std::min(partitions, contracted_ - block * partitions);
}

// Rows `own` of the source, from `begin` on at least `extent` of their elements: read in long rows,
// the last ones kept.
Tile Turner::source(const Span& own, std::int64_t begin, std::int64_t extent) {
  Piece& piece = pieces_[own.begin];
  const bool held = piece.begin >= 0 && piece.tile.partitions == own.extent &&
                    piece.begin <= begin && begin + extent <= piece.begin + piece.extent;
  if (!held) {
    const isa::Machine& machine = builder_.machine();
    const std::int64_t row =
        std::min(turned_row(machine, contracted_), blocks_ * machine.partitions);
    piece.begin = begin;
    piece.extent = std::max(extent, std::min(row, contracted_ - begin));
    Region region{own, {}, false};
    for (const int axis : from_free_) {
      region.free.push_back(axis == contracted_axis_ ? Span{piece.begin, piece.extent}
                                                     : Span{0, 1});
    }
    const Tile read = builder_.read(from_, region, {dtype_, false, 0});
    piece.tile = read;
    const auto place = std::ranges::find(from_free_, contracted_axis_) - from_free_.begin();
    piece.tile.dims = {read.dims[static_cast<std::size_t>(place)]};
  }
  return slice(piece.tile, 0, begin - piece.begin, extent);
}

Tile Turner::turn(std::int64_t first_block, std::int64_t blocks, const Span& own) {
  const std::int64_t partitions = builder_.machine().partitions;
  const auto rows = static_cast<int>(rows_of_block(first_block));
  const std::int64_t begin = first_block * partitions;
  const std::int64_t extent = (blocks - 1) * partitions + rows;
  const Tile sums = builder_.psum(rows, {blocks, own.extent}, "turned");
  for (std::int64_t at = own.begin; at < own.begin + own.extent;) {
    const std::int64_t end = std::min(own.begin + own.extent, (at / partitions + 1) * partitions);
    const Span chunk{at, end - at};
    const Tile data = source(chunk, begin, extent);
    const Tile moving =
        slice(slice_partitions(builder_.identity(dtype_), 0, data.partitions), 0, 0, chunk.extent);
    for (std::int64_t block = 0; block < blocks; ++block) {
      builder_.load_stationary(slice(data, 0, block * partitions, rows), 0);
      const Tile out = drop_dim(sums, 0, block);
      builder_.multiply(moving, slice(out, 0, at - own.begin, chunk.extent), false, true);
    }
    at = end;
  }
  const Tile out = builder_.scratch(rows, {blocks, own.extent}, dtype_, "turned operand");
  builder_.copy(out, sums);
  return out;
}

Turner::Unit& Turner::unit(std::int64_t block, const Span& own) {
  const std::int64_t partitions = builder_.machine().partitions;
  const std::int64_t whole_blocks = contracted_ / partitions;
  std::int64_t first = block;
  std::int64_t blocks = 1;  // an incomplete block goes alone
  if (block < whole_blocks) {
    const std::int64_t most = std::clamp<std::int64_t>(
        bank_elements(builder_.machine()) / own.extent, 1, std::max<std::int64_t>(1, blocks_));
    first = block / most * most;
    blocks = std::min(most, whole_blocks - first);
  }
  const Key key{own.begin, first};
  const auto found = units_.find(key);
  if (found != units_.end() && found->second.tile.dims[1].extent == own.extent &&
      block < found->second.first_block + found->second.tile.dims[0].extent) {
    return found->second;
  }
  const isa::SourceId before = builder_.charge(charged_);
  const Tile tile = turn(first, blocks, own);
  (void)builder_.charge(before);
  Unit& made = units_[key];
  made = {first, tile, false};
  return made;
}

Tile Turner::get(std::int64_t block, const Ranges& box, const Labels& labels) {
  Unit& found = unit(block, box[static_cast<std::size_t>(own_label_)]);
  found.used = true;
  Tile out = drop_dim(found.tile, 0, block - found.first_block);
  const isa::Dim own = out.dims[0];
  out.dims.assign(labels.size(), isa::Dim{0, 1});
  const auto place = std::ranges::find(labels, own_label_);
  check(place != labels.end(), "the own label of a turned operand is used");
  out.dims[static_cast<std::size_t>(place - labels.begin())] = own;
  return out;
}

void Turner::prepare(std::int64_t block, const Ranges& box) {
  (void)unit(block, box[static_cast<std::size_t>(own_label_)]);
}

void Turner::forget() {
  std::erase_if(units_, [](const auto& entry) { return entry.second.used; });
  pieces_.clear();
}

}  // namespace systole::lower
