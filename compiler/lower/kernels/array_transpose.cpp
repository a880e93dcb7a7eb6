#include "compiler/lower/kernels/array_transpose.hpp"

#include <algorithm>
#include <optional>

#include "compiler/lower/pieces.hpp"
#include "isa/base/error.hpp"

namespace systole::lower {
namespace {

using isa::DType;

// Of rows in HBM that tiles share: as long as the DMA engines merge.
constexpr std::int64_t shared_row_bytes = 2048;

std::size_t at(int axis) {
  return static_cast<std::size_t>(axis);
}

class ArrayTranspose {
 public:
  ArrayTranspose(Builder& builder, const Operand& from, const Operand& to)
      : b_(builder), from_(from), to_(to) {}

  void run() {
    const isa::Machine& machine = b_.machine();
    to_cut_ = cut_of(to_, is_run_in(from_, to_.partition_axes));
    std::int64_t columns = std::min(machine.array_columns, machine.partitions);
    columns = to_.resident ? tile_limit(to_cut_.extents, columns) : columns;
    from_cut_ = cut_of(from_, is_run_in(to_, from_.partition_axes) && writes_in_place(columns));
    std::int64_t rows = std::min({machine.array_rows, machine.partitions, machine.moving_max});
    rows = from_.resident ? tile_limit(from_cut_.extents, rows) : rows;
    std::vector<int> rest;  // free on both sides, in the order of the output
    for (const int axis : to_.free_axes) {
      if (position_of(from_.free_axes, axis) >= 0) {
        rest.push_back(axis);
      }
    }
    const std::int64_t bank = machine.psum_bank_bytes / 4;
    const std::vector<std::vector<Span>> a_tiles =
        tiles_of(from_cut_.extents, std::min(rows, bank));
    const std::vector<std::vector<Span>> b_tiles = tiles_of(to_cut_.extents, columns);
    std::int64_t a_width = std::max(rows, piece_width(from_, to_));
    a_width = from_.resident && to_.resident ? std::max(a_width, bank) : a_width;
    std::int64_t b_width = std::max(columns, piece_width(to_, from_));
    while (piece_bytes(a_width, b_width, rows) > b_.staging_bytes() &&
           (a_width > rows || b_width > columns)) {
      a_width = std::max(rows, a_width / 2);
      b_width = std::max(columns, b_width / 2);
    }
    for (const Group& a : grouped(a_tiles, a_width)) {
      for (const Group& b : grouped(b_tiles, b_width)) {
        const std::int64_t bytes = piece_bytes(elements_of(a.hull), elements_of(b.hull), rows);
        const std::int64_t limit =
            bytes == 0 ? product(extents_of(to_, rest)) : b_.staging_bytes() / bytes;
        for_each_chunk(extents_of(to_, rest), limit,
                       [&](const std::vector<Span>& r) { transpose_piece(a, b, rest, r); });
      }
    }
  }

 private:
  // First index of a chunk in the row-major order of the partition axes.
  [[nodiscard]] static Span linear(const std::vector<std::int64_t>& extents,
                                   const std::vector<Span>& chunk) {
    Span out{0, elements_of(chunk)};
    for (std::size_t i = 0; i < extents.size(); ++i) {
      out.begin = out.begin * extents[i] + chunk[i].begin;
    }
    return out;
  }

  // Whether chunks of at most `limit` of these partition axes all lie in one block each, where their size may start.
  [[nodiscard]] bool all_legal(const std::vector<std::int64_t>& extents, std::int64_t limit) const {
    const isa::Machine& machine = b_.machine();
    bool legal = true;
    for_each_chunk(
        extents, limit,
        [&](const std::vector<Span>& chunk) {
          const Span range = linear(extents, chunk);
          const std::int64_t start = range.begin % machine.partitions;
          legal = legal && start + range.extent <= machine.partitions &&
                  start % isa::start_step(machine, static_cast<int>(range.extent)) == 0;
        },
        false);
    return legal;
  }

  // Illegal tiles go by DMA: smaller ones that lie well are taken instead. Three heads of 64 in 128 partitions, say.
  [[nodiscard]] std::int64_t tile_limit(const std::vector<std::int64_t>& extents,
                                        std::int64_t most) const {
    for (std::int64_t limit = most; limit >= b_.machine().partition_quantum; limit /= 2) {
      if (all_legal(extents, limit)) {
        return limit;
      }
    }
    return most;
  }

  // Chunks of a side's partition axes, each one tile of the array, that together are a box too.
  struct Group {
    std::vector<Span> hull;
    std::vector<std::vector<Span>> tiles;
  };

  // The hull of two boxes that touch along one axis and agree in the others.
  [[nodiscard]] static std::optional<std::vector<Span>> joined(const std::vector<Span>& a,
                                                               const std::vector<Span>& b) {
    std::optional<std::vector<Span>> hull;
    for (std::size_t axis = 0; axis < a.size(); ++axis) {
      if (a[axis].begin == b[axis].begin && a[axis].extent == b[axis].extent) {
        continue;
      }
      if (hull || a[axis].begin + a[axis].extent != b[axis].begin) {
        return std::nullopt;
      }
      hull = a;
      (*hull)[axis].extent += b[axis].extent;
    }
    return hull;
  }

  // Neighbours in groups of at most `limit` elements; a tile alone may have more.
  [[nodiscard]] static std::vector<Group> grouped(const std::vector<std::vector<Span>>& tiles,
                                                  std::int64_t limit) {
    std::vector<Group> out;
    for (const std::vector<Span>& tile : tiles) {
      const std::optional<std::vector<Span>> hull =
          out.empty() ? std::nullopt : joined(out.back().hull, tile);
      if (hull && elements_of(*hull) <= limit) {
        out.back().hull = *hull;
        out.back().tiles.push_back(tile);
      } else {
        out.push_back({tile, {tile}});
      }
    }
    return out;
  }

  [[nodiscard]] static std::vector<std::vector<Span>> tiles_of(
      const std::vector<std::int64_t>& extents, std::int64_t limit) {
    std::vector<std::vector<Span>> out;
    for_each_chunk(
        extents, limit, [&](const std::vector<Span>& tile) { out.push_back(tile); }, false);
    return out;
  }

  // Elements of a side's partition axes per piece that make long rows of the other side, where they lie in a row: rows
  // of several tiles cost the DMA engines a part of what rows of one tile would.
  [[nodiscard]] std::int64_t piece_width(const Operand& side, const Operand& other) const {
    if (other.resident) {
      return 1;
    }
    std::int64_t row = isa::size_of(other.dtype);
    for (std::size_t i = other.free_axes.size(); i-- > 0;) {
      const int axis = other.free_axes[i];
      if (position_of(side.free_axes, axis) < 0) {
        break;
      }
      row *= other.shape[at(axis)];  // free on both sides, and innermost
    }
    return std::max<std::int64_t>(1, shared_row_bytes / row);
  }

  // Bytes per partition of a piece with that many elements of either side's partition axes, beside those of the next one.
  [[nodiscard]] std::int64_t piece_bytes(std::int64_t a, std::int64_t b, std::int64_t tile) const {
    const std::int64_t size = isa::size_of(from_.dtype);
    const std::int64_t in = from_.resident ? 0 : (a + tile - 1) / tile * b * size;
    const std::int64_t out = to_.resident ? 0 : a * size;
    return 2 * (in + out);
  }

  // Whether these axes lie next to each other in the free axes of a resident, in this order: then any stretch of their
  // linear index is one dim there.
  [[nodiscard]] bool is_run_in(const Operand& operand, const std::vector<int>& axes) const {
    const std::vector<int> own = long_axes(operand.shape, axes);
    const std::vector<int> free = long_axes(operand.shape, operand.free_axes);
    return own.size() > 1 && operand.resident && !std::ranges::search(free, own).empty() &&
           lies_in_a_run(operand, own);
  }

  // Not so in a window of a larger resident.
  [[nodiscard]] bool lies_in_a_run(const Operand& operand, const std::vector<int>& axes) const {
    Region region{
        {0, std::min<std::int64_t>(operand.partitions, b_.machine().partitions)}, {}, false};
    for (const int axis : operand.free_axes) {
      region.free.push_back({0, operand.shape[at(axis)]});
    }
    if (!b_.writes_in_place(operand.tensor, region)) {
      return true;
    }
    const Tile tile = b_.read(operand.tensor, region);
    std::int64_t stride = 0;
    for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
      const isa::Dim& dim = tile.dims[at(position_of(operand.free_axes, *axis))];
      if (stride != 0 && dim.stride != stride) {
        return false;
      }
      stride = dim.stride * std::int64_t{dim.extent};
    }
    return true;
  }

  // A side's partition axes as they are cut: each for itself, or their linear index.
  struct Cut {
    std::vector<std::int64_t> extents;
    bool linear = false;
  };
  [[nodiscard]] static Cut cut_of(const Operand& side, bool linear) {
    const std::vector<std::int64_t> extents = extents_of(side, side.partition_axes);
    return {linear ? std::vector<std::int64_t>{product(extents)} : extents, linear};
  }

  // Dims of a run of axes, the first `count`, as the one of their linear index: a stretch of it.
  [[nodiscard]] static Tile stretch(Tile tile, std::size_t count, const Span& span) {
    std::int64_t extent = 1;
    std::int64_t stride = 1;
    for (std::size_t d = count; d-- > 0;) {
      const isa::Dim& dim = tile.dims[d];
      if (dim.extent > 1) {
        check(extent == 1 || dim.stride == stride * extent, "a run of axes is contiguous");
        stride = extent == 1 ? dim.stride : stride;
        extent *= dim.extent;
      }
    }
    tile.dims.erase(tile.dims.begin(), tile.dims.begin() + static_cast<std::ptrdiff_t>(count));
    tile.dims.insert(tile.dims.begin(), make_dim(stride, extent));
    return slice(tile, 0, span.begin, span.extent);
  }

  // Whether all pieces of the result may be written where they belong: what is staged is stored whole, not by stretches.
  [[nodiscard]] bool writes_in_place(std::int64_t columns) const {
    return std::ranges::all_of(tiles_of(to_cut_.extents, columns), [&](const auto& tile) {
      Region region{linear(to_cut_.extents, tile), {}, false};
      for (const int axis : to_.free_axes) {
        region.free.push_back({0, to_.shape[at(axis)]});
      }
      return b_.writes_in_place(to_.tensor, region);
    });
  }

  void transpose_piece(const Group& a, const Group& b, const std::vector<int>& rest,
                       const std::vector<Span>& r) {
    std::vector<Span> spans(from_.shape.size(), Span{0, 1});
    const auto place = [&](const std::vector<int>& axes, const std::vector<Span>& chunk,
                           bool linear) {
      for (std::size_t i = 0; i < axes.size(); ++i) {
        spans[at(axes[i])] = linear ? Span{0, from_.shape[at(axes[i])]} : chunk[i];
      }
    };
    // Dims of both sides by role: the other side's partition axes, then the rest.
    std::vector<int> in_order;
    std::vector<int> out_order;
    for (const int axis : to_.partition_axes) {
      in_order.push_back(position_of(from_.free_axes, axis));
    }
    for (const int axis : from_.partition_axes) {
      out_order.push_back(position_of(to_.free_axes, axis));
    }
    for (const int axis : rest) {
      in_order.push_back(position_of(from_.free_axes, axis));
      out_order.push_back(position_of(to_.free_axes, axis));
    }
    place(rest, r, false);
    place(to_.partition_axes, b.hull, to_cut_.linear);
    std::vector<Tile> inputs;
    for (const std::vector<Span>& tile : a.tiles) {
      place(from_.partition_axes, tile, from_cut_.linear);
      Builder::ReadOptions first;
      first.partition = 0;  // the array's rows are the partitions of the stationary operand
      const Span range = linear(from_cut_.extents, tile);
      const Tile input =
          by_role(b_.read(from_.tensor, region_of(from_, range, spans, false), first), in_order);
      inputs.push_back(to_cut_.linear ? stretch(input, to_.partition_axes.size(), b.hull[0])
                                      : input);
    }
    place(from_.partition_axes, a.hull, from_cut_.linear);
    for (const std::vector<Span>& tile : b.tiles) {
      place(to_.partition_axes, tile, to_cut_.linear);
      const Span range = linear(to_cut_.extents, tile);
      const Region target = region_of(to_, range, spans, false);
      const Tile written = b_.write(to_.tensor, target);
      std::vector<Tile> sources;
      for (const Tile& input : inputs) {
        sources.push_back(part_of(input, b.hull, tile));
      }
      const Tile out = by_role(written, out_order);
      transpose_tiles(a, sources,
                      from_cut_.linear ? stretch(out, from_.partition_axes.size(), a.hull[0]) : out,
                      b.hull.size(), r);
      b_.finish(to_.tensor, target, written);
    }
  }

  // The tile's box of a piece whose first dims are the hull's.
  [[nodiscard]] static Tile part_of(Tile piece, const std::vector<Span>& hull,
                                    const std::vector<Span>& tile) {
    for (std::size_t d = 0; d < hull.size(); ++d) {
      piece = slice(piece, static_cast<int>(d), tile[d].begin - hull[d].begin, tile[d].extent);
    }
    return piece;
  }

  // The inputs of a group, one tile of the array wide, into one output. As many as share a PSUM bank are evicted at once.
  void transpose_tiles(const Group& a, const std::vector<Tile>& sources, const Tile& out,
                       std::size_t b_rank, const std::vector<Span>& r) {
    auto source = sources.begin();
    for (const Group& wide : grouped(a.tiles, b_.machine().psum_bank_bytes / 4)) {
      const auto next = source + static_cast<std::ptrdiff_t>(wide.tiles.size());
      banks({source, next}, part_of(out, a.hull, wide.hull), b_rank, wide.hull.size(), r);
      source = next;
    }
  }

  // Dims picked by position; -1 (an axis of extent 1 that lies elsewhere) is one element.
  [[nodiscard]] static Tile by_role(const Tile& tile, const std::vector<int>& order) {
    Tile out = tile;
    out.dims.clear();
    for (const int place : order) {
      out.dims.push_back(place < 0 ? isa::Dim{1, 1} : tile.dims[at(place)]);
    }
    return out;
  }

  // in: partitions a, dims b... rest..., side by side; out: partitions b, dims a... rest... One PSUM bank holds several
  // rest elements.
  void banks(const std::vector<Tile>& in, const Tile& out, std::size_t b_rank, std::size_t a_rank,
             const std::vector<Span>& r) {
    const std::int64_t bank = b_.machine().psum_bank_bytes / 4;
    std::vector<std::int64_t> rest;
    rest.reserve(r.size());
    for (const Span& span : r) {
      rest.push_back(span.extent);
    }
    std::int64_t width = 0;
    for (const Tile& tile : in) {
      width += tile.partitions;
    }
    for_each_chunk(rest, bank / width, [&](const std::vector<Span>& group) {
      const Tile total = b_.psum(out.partitions, {elements_of(group), width}, "transposed");
      std::vector<std::int64_t> extents;
      extents.reserve(group.size());
      for (const Span& span : group) {
        extents.push_back(span.extent);
      }
      std::int64_t n = 0;
      for_each_chunk(extents, 1, [&](const std::vector<Span>& one) {
        const Tile row = drop_dim(total, 0, n++);
        std::int64_t begin = 0;
        for (const Tile& tile : in) {
          Tile stationary = tile;
          for (std::size_t d = one.size(); d-- > 0;) {
            stationary =
                drop_dim(stationary, static_cast<int>(b_rank + d), group[d].begin + one[d].begin);
          }
          turn(stationary, slice(row, 0, begin, tile.partitions));
          begin += tile.partitions;
        }
      });
      evict(out, total, a_rank, group);
    });
  }

  void turn(const Tile& stationary, const Tile& total) {
    const int width = stationary.partitions;
    const Tile identity = b_.identity(stationary.dtype);
    b_.load_stationary(pattern(stationary), 0);
    b_.multiply(slice(slice_partitions(identity, 0, width), 0, 0, width), total, false, true);
  }

  // At most four dims, as the stationary operand takes.
  [[nodiscard]] Tile pattern(const Tile& tile) {
    if (fits_access(b_.machine(), tile)) {
      return tile;
    }
    std::vector<std::int64_t> extents;
    for (const isa::Dim& dim : tile.dims) {
      extents.push_back(dim.extent);
    }
    Tile out = b_.scratch(tile.partitions, extents, tile.dtype, "stationary", tile.partition);
    b_.copy(out, tile);
    return out;
  }

  // PSUM [b][group][a] to the output's [b] a... rest..., enumerated as the output lies, so that it
  // is written in rows.
  void evict(const Tile& out, const Tile& total, std::size_t a_rank,
             const std::vector<Span>& group) {
    Tile target = out;
    for (std::size_t d = 0; d < group.size(); ++d) {
      target = slice(target, static_cast<int>(a_rank + d), group[d].begin, group[d].extent);
    }
    Tile source = total;
    source.dims.assign(target.dims.size(), {});
    std::int64_t stride = 1;
    for (std::size_t d = a_rank; d-- > 0;) {
      source.dims[d] = make_dim(stride, target.dims[d].extent);
      stride *= target.dims[d].extent;
    }
    for (std::size_t d = target.dims.size(); d-- > a_rank;) {
      source.dims[d] = make_dim(stride, target.dims[d].extent);
      stride *= target.dims[d].extent;
    }
    std::vector<int> order(target.dims.size());
    for (std::size_t d = 0; d < order.size(); ++d) {
      order[d] = static_cast<int>(d);
    }
    std::ranges::stable_sort(
        order, [&](int x, int y) { return target.dims[at(x)].stride > target.dims[at(y)].stride; });
    b_.copy(permute(target, order), permute(source, order));
  }

  Builder& b_;
  const Operand& from_;
  const Operand& to_;
  Cut from_cut_;
  Cut to_cut_;
};

}  // namespace

bool array_turns(const Operand& from, const Operand& to) {
  const bool exact =
      from.dtype == DType::f32 || from.dtype == DType::bf16 || from.dtype == DType::f16;
  const std::vector<int> a = long_axes(from.shape, from.partition_axes);
  const std::vector<int> b = long_axes(to.shape, to.partition_axes);
  const bool disjoint =
      std::ranges::none_of(a, [&](int axis) { return position_of(b, axis) >= 0; });
  return exact && disjoint && !(a.empty() && b.empty());
}

void turn_by_array(Builder& builder, const Operand& from, const Operand& to) {
  ArrayTranspose(builder, from, to).run();
}

}  // namespace systole::lower
