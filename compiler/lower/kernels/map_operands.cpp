#include "compiler/lower/kernels/map_operands.hpp"

#include <algorithm>
#include <cmath>

#include "compiler/lower/pieces.hpp"
#include "isa/base/error.hpp"

namespace systole::lower {
namespace {

std::size_t at(int axis) {
  return static_cast<std::size_t>(axis);
}

}  // namespace

std::optional<float> immediate_of(const layout::LaidGraph& laid, graph::TensorId tensor) {
  const graph::Tensor& t = laid.graph.tensors[tensor];
  if (t.kind != graph::TensorKind::constant || t.data == nullptr || graph::elements(t.shape) != 1) {
    return {};
  }
  const double value = graph::get(*t.data, 0);
  const auto narrow = static_cast<float>(value);
  const bool exact = isa::is_float(laid.storage[tensor]) || static_cast<double>(narrow) == value;
  return exact ? std::optional<float>(narrow) : std::nullopt;
}

void load_partition_range(Builder& builder, const Tile& tile, graph::TensorId input,
                          const Operand& output, const std::vector<int>& own, Span partitions,
                          const Builder::Walk& walk) {
  const std::vector<std::int64_t> extents = extents_of(output, output.partition_axes);
  for (const Box& box : boxes_of(extents, partitions.begin, partitions.extent)) {
    Builder::Walk part = walk;
    std::int64_t count = 1;
    for (std::size_t i = 0; i < extents.size(); ++i) {
      if (own[i] >= 0) {
        part.begin[at(own[i])] += box.spans[i].begin;
      }
      part.partitions.push_back({own[i], 1, box.spans[i].extent});
      count *= box.spans[i].extent;
    }
    builder.load(slice_partitions(tile, static_cast<int>(box.offset), static_cast<int>(count)),
                 input, part);
  }
}

MapReader::MapReader(Builder& builder, graph::TensorId input, const Operand& output)
    : builder_(builder),
      output_(output),
      input_(operand_of(builder, input)),
      immediate_(immediate_of(builder.laid(), input)) {
  std::vector<int> shared;  // the output's partition axes that the operand has too
  std::size_t longer = 0;
  for (const int axis : output_.partition_axes) {
    if (output_.shape[at(axis)] != 1) {
      ++longer;
      if (own_axis(axis) >= 0) {
        shared.push_back(own_axis(axis));
      }
    }
  }
  across_ = shared.empty() && longer > 0 ? Across::none
            : shared.size() == longer    ? Across::all
                                         : Across::some;
  // What the operand itself spreads over the partitions must be those axes in that order, else it is gathered.
  std::vector<int> spread;
  for (const int axis : input_.partition_axes) {
    if (input_.shape[at(axis)] != 1) {
      spread.push_back(axis);
    }
  }
  if (across_ == Across::all && spread != shared) {
    across_ = Across::some;
  }
  bool leads = false;  // an axis that the operand has, or one inside such an axis
  for (const int axis : output_.partition_axes) {
    leads = leads || own_axis(axis) >= 0;
    repeat_ *= leads ? output_.shape[at(axis)] : 1;
  }
}

int MapReader::own_axis(int output_axis) const {
  const int axis = output_axis - static_cast<int>(output_.shape.size() - input_.shape.size());
  return axis >= 0 && input_.shape[at(axis)] == output_.shape[at(output_axis)] &&
                 input_.shape[at(axis)] != 1
             ? axis
             : -1;
}

bool MapReader::may_be_scalar() const {
  return immediate_ ||
         std::ranges::all_of(output_.free_axes, [this](int axis) { return own_axis(axis) < 0; });
}

std::int64_t MapReader::row_elements() const {
  constexpr std::int64_t least = 128;  // then the instructions' fixed costs are made up for
  if (may_be_scalar() || !input_.resident || across_ != Across::all) {
    return 0;
  }
  std::int64_t out = 1;
  for (std::size_t i = output_.free_axes.size(); i-- > 0;) {
    if (own_axis(output_.free_axes[i]) >= 0) {
      break;
    }
    out *= output_.shape[at(output_.free_axes[i])];
  }
  return out >= least ? out : 0;
}

bool MapReader::is_scalar_in(const MapChunk& chunk) const {
  if (may_be_scalar()) {
    return true;
  }
  for (std::size_t i = 0; i < output_.free_axes.size(); ++i) {
    if (own_axis(output_.free_axes[i]) >= 0 && chunk.free[i].extent > 1) {
      return false;
    }
  }
  return row_elements() > 0;
}

std::int64_t MapReader::staged_bytes() const {
  if (immediate_ || (input_.resident && across_ == Across::all)) {
    return 0;
  }
  return isa::size_of(input_.dtype);
}

// Spans of the operand's own free axes.
std::vector<Span> MapReader::own_free(const MapChunk& chunk) const {
  std::vector<Span> spans(input_.free_axes.size(), Span{0, 1});
  for (std::size_t i = 0; i < output_.free_axes.size(); ++i) {
    const int own = own_axis(output_.free_axes[i]);
    const int place = own < 0 ? -1 : position_of(input_.free_axes, own);
    if (place >= 0) {
      spans[at(place)] = chunk.free[i];
    }
  }
  return spans;
}

// A row that was computed into one partition is waited for: a product with ones repeats it four times sooner than a
// transfer. A long one would keep the engines that empty PSUM.
bool MapReader::repeats_by_array(const std::vector<std::int64_t>& extents) const {
  const isa::Machine& machine = builder_.machine();
  const std::int64_t most = std::min<std::int64_t>(
      machine.moving_max, machine.psum_bank_bytes / isa::size_of(isa::DType::f32));
  return input_.resident && input_.partitions == 1 && isa::is_float(input_.dtype) &&
         builder_.laid().graph.tensors[input_.tensor].kind == graph::TensorKind::intermediate &&
         product(extents) <= most && machine.array_columns >= machine.partitions;
}

// tile: [count partitions, dims of the row].
void MapReader::repeat_row(const Tile& tile, const Tile& row) {
  std::vector<std::int64_t> extents;
  for (const isa::Dim& dim : row.dims) {
    extents.push_back(dim.extent);
  }
  Tile moving = row;
  if (!fits_access(builder_.machine(), row)) {
    moving = builder_.scratch(1, extents, row.dtype, "row", row.partition);
    builder_.copy(moving, row);
  }
  const Tile total = builder_.psum(tile.partitions, extents, "repeated row");
  const Tile ones = slice(slice_partitions(builder_.ones(row.dtype), 0, 1), 0, 0, tile.partitions);
  builder_.load_stationary(ones, 0);
  builder_.multiply(moving, total, false, true);
  builder_.copy(tile, total);
}

// The operand's piece with one dim per own free axis (and the blocks before, if it has them).
Tile MapReader::fetch(const MapChunk& chunk) {
  const std::vector<Span> free = own_free(chunk);
  if (across_ == Across::all && output_.partitions > 0) {
    Region region{chunk.partitions, free, chunk.by_blocks};
    if (input_.partitions == 1) {
      region.partitions = {0, 1};
    }
    return builder_.read(input_.tensor, region);
  }
  const auto count = static_cast<int>(
      std::min<std::int64_t>(chunk.partitions.extent, builder_.machine().partitions));
  Builder::Walk walk;
  walk.begin.assign(input_.shape.size(), 0);
  std::vector<std::int64_t> extents;
  const auto add = [&](int axis, const Span& span) {
    walk.begin[at(axis)] = span.begin;
    walk.free.push_back({axis, 1, span.extent});
    extents.push_back(span.extent);
  };
  for (std::size_t i = 0; i < free.size(); ++i) {
    add(input_.free_axes[i], free[i]);
  }
  const auto room = [&] {
    return builder_.scratch(count, extents, input_.dtype,
                            builder_.laid().graph.tensors[input_.tensor].name);
  };
  if (across_ == Across::none) {
    walk.partitions = {{-1, 1, count}};
    std::vector<std::int64_t> piece = walk.begin;
    piece.insert(piece.end(), extents.begin(), extents.end());
    piece.insert(piece.end(), {count, -1});
    if (repeats_by_array(extents)) {
      return builder_.kept(input_.tensor, std::move(piece), [&] {
        const Tile tile = room();
        Builder::ReadOptions options;
        options.partition = 0;
        repeat_row(tile, builder_.read(input_.tensor, {{0, 1}, free}, options));
        return tile;
      });
    }
    return builder_.held(input_.tensor, std::move(piece), [&] {
      const Tile tile = room();
      builder_.load(tile, input_.tensor, walk);
      return tile;
    });
  }
  const Tile tile = room();
  std::vector<int> own;
  for (const int axis : output_.partition_axes) {
    own.push_back(own_axis(axis));
  }
  load_partition_range(builder_, tile, input_.tensor, output_, own, chunk.partitions, walk);
  return tile;
}

// The same elements with the output's dims.
Tile MapReader::aligned(const Tile& tile, const MapChunk& chunk) const {
  Tile out = tile;
  out.dims.clear();
  std::size_t first = 0;
  if (chunk.by_blocks) {
    const std::int64_t blocks = chunk.partitions.extent / builder_.machine().partitions;
    const bool own_blocks = across_ == Across::all;
    out.dims.push_back(own_blocks ? tile.dims[0] : make_dim(0, blocks));
    first = own_blocks ? 1 : 0;
  }
  for (std::size_t i = 0; i < output_.free_axes.size(); ++i) {
    const int own = own_axis(output_.free_axes[i]);
    const int place = own < 0 ? -1 : position_of(input_.free_axes, own);
    out.dims.push_back(place < 0 ? make_dim(0, chunk.free[i].extent)
                                 : tile.dims[first + at(place)]);
  }
  return out;
}

MapInput MapReader::read(const MapChunk& chunk) {
  MapInput out;
  out.dtype = input_.dtype;
  if (immediate_) {
    out.form = MapInput::Form::immediate;
    out.value = *immediate_;
    return out;
  }
  const Tile& tile = remembered(chunk);
  if (free_elements(tile) == 1 && !chunk.by_blocks && elements_of(chunk.free) > 1) {
    out.form = MapInput::Form::per_partition;
    out.tile = tile;
    out.tile.dims.clear();
    return out;
  }
  out.tile = aligned(tile, chunk);
  return out;
}

std::optional<Tile> MapReader::negative_of(const MapChunk& chunk) {
  if (row_elements() == 0) {
    return std::nullopt;
  }
  const std::int64_t lanes = builder_.machine().partitions;
  std::vector<Span> all;
  for (const std::int64_t extent : extents_of(input_, input_.free_axes)) {
    all.push_back({0, extent});
  }
  if (negatives_.empty()) {
    for_each_partition_range(
        input_.partitions, lanes, input_.partitions, [&](Span range, bool by_blocks) {
          const Tile from = builder_.read(input_.tensor, {range, all, by_blocks});
          std::vector<std::int64_t> extents;
          for (const isa::Dim& dim : from.dims) {
            extents.push_back(dim.extent);
          }
          const Tile tile = builder_.scratch(from.partitions, extents, isa::DType::f32, "negative");
          builder_.tensor_scalar(tile, from, isa::AluOp::multiply, -1.0F);
          negatives_.push_back({range, by_blocks, tile});
        });
  }
  const auto found = std::ranges::find_if(negatives_, [&](const Negatives& known) {
    return chunk.partitions.begin < known.partitions.begin + known.partitions.extent;
  });
  const std::int64_t first = chunk.partitions.begin - found->partitions.begin;
  Tile out = found->by_blocks ? drop_dim(found->tile, 0, first / lanes) : found->tile;
  const std::vector<Span> own = own_free(chunk);
  for (std::size_t i = 0; i < own.size(); ++i) {
    out = slice(out, static_cast<int>(i), own[i].begin, own[i].extent);
  }
  out.dims.clear();
  return slice_partitions(out, static_cast<int>(first % lanes),
                          static_cast<int>(chunk.partitions.extent));
}

const Tile& MapReader::remembered(const MapChunk& chunk) {
  std::vector<Span> place = own_free(chunk);
  const bool anywhere = across_ == Across::none;
  Span range = chunk.partitions;
  if (across_ == Across::some) {
    range.begin %= repeat_;
  }
  place.push_back(anywhere ? Span{0, std::min<std::int64_t>(chunk.partitions.extent,
                                                            builder_.machine().partitions)}
                           : range);
  for (const Fetched& known : fetched_) {
    if (std::ranges::equal(place, known.place, [](const Span& a, const Span& b) {
          return a.begin == b.begin && a.extent == b.extent;
        })) {
      return known.tile;
    }
  }
  const Tile tile = fetch(chunk);
  const std::int64_t bytes =
      staged_bytes() == 0 ? 0 : free_elements(tile) * isa::size_of(tile.dtype);
  // The oldest are forgotten; the last one stays whatever its size.
  const std::int64_t budget = builder_.staging_bytes() / 16;
  std::int64_t total = bytes;
  for (const Fetched& known : fetched_) {
    total += known.bytes;
  }
  while (!fetched_.empty() && (total > budget || fetched_.size() > 64)) {
    total -= fetched_.front().bytes;
    fetched_.erase(fetched_.begin());
  }
  fetched_.push_back({std::move(place), tile, bytes});
  return fetched_.back().tile;
}

}  // namespace systole::lower
