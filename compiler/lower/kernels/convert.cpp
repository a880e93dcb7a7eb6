// Conversions between layouts.
//
// reorder: every element stays in its partition; copies with the source's dims permuted. Partition
// axes may come or go if they only choose between blocks of whole partitions.
// array_transpose, vector_transpose, dma_transpose: see the headers of these names. dma: one walk over all axes, any layout to any
// other.
#include <algorithm>
#include <optional>

#include "compiler/layout/layout.hpp"
#include "compiler/lower/kernels/array_transpose.hpp"
#include "compiler/lower/kernels/chunks.hpp"
#include "compiler/lower/kernels/dma_transpose.hpp"
#include "compiler/lower/kernels/movement.hpp"
#include "compiler/lower/kernels/vector_transpose.hpp"
#include "compiler/lower/pieces.hpp"
#include "isa/base/error.hpp"

namespace systole::lower {
namespace {

std::size_t at(int axis) {
  return static_cast<std::size_t>(axis);
}

class Conversion {
 public:
  Conversion(Builder& builder, graph::NodeId node)
      : b_(builder),
        from_(operand_of(builder, builder.laid().graph.nodes[node].inputs[0])),
        to_(operand_of(builder, builder.laid().graph.nodes[node].output)) {}

  void run(layout::Mechanism mechanism) {
    // Of a strip neither may be possible that was for the whole tensor.
    const std::optional<std::size_t> kept =
        layout::kept_partition_axes(b_.laid().layouts[from_.tensor], b_.laid().layouts[to_.tensor],
                                    from_.shape, b_.machine().partitions);
    const bool in_blocks = mechanism == layout::Mechanism::vector_transpose;
    if (mechanism == layout::Mechanism::reorder && kept) {
      reorder(*kept);
    } else if (in_blocks && vector_turns(b_, from_, to_)) {
      turn_by_vector(b_, from_, to_);
    } else if ((in_blocks || mechanism == layout::Mechanism::array_transpose) &&
               array_turns(from_, to_)) {
      turn_by_array(b_, from_, to_);
    } else if (mechanism == layout::Mechanism::dma_transpose && dma_turns(b_, from_, to_)) {
      turn_by_dma(b_, from_, to_);
    } else {
      by_dma();
    }
  }

 private:
  // Elements of the longest rows that both layouts have in common, innermost.
  [[nodiscard]] std::int64_t common_row() const {
    const std::vector<int> a = long_axes(from_.shape, from_.free_axes);
    const std::vector<int> b = long_axes(to_.shape, to_.free_axes);
    std::int64_t row = 1;
    for (std::size_t i = 1; i <= std::min(a.size(), b.size()) && a[a.size() - i] == b[b.size() - i];
         ++i) {
      row *= from_.shape[at(a[a.size() - i])];
    }
    return row;
  }

  // Transfers are spread over the engines by the partitions they reach: many short rows into few partitions would
  // queue at one engine. They are first put in order in HBM, then read in rows.
  [[nodiscard]] bool into_few_partitions() const {
    constexpr std::int64_t short_row_bytes = 512;
    constexpr std::int64_t few_rows = 64;
    const std::int64_t machine = b_.machine().partitions;
    const std::int64_t target = std::min(to_.partitions, machine);
    const std::int64_t source = from_.resident ? std::min(from_.partitions, machine) : machine;
    const std::int64_t row = common_row();
    return to_.resident && 4 * target <= source &&
           row * isa::size_of(to_.dtype) < short_row_bytes && product(to_.shape) / row > few_rows;
  }

  void by_dma() {
    if (into_few_partitions()) {
      b_.move_through_hbm(from_.tensor, to_.tensor);
      return;
    }
    if (from_.resident == to_.resident) {
      move_part(-1, {});
      return;
    }
    // In pieces along the outermost free axis of the side in SBUF, so that its maker or its readers work meanwhile.
    constexpr std::int64_t least_piece_bytes = 128 * 1024;
    const std::vector<int> free = long_axes(to_.shape, (to_.resident ? to_ : from_).free_axes);
    const std::int64_t pieces = product(to_.shape) * isa::size_of(to_.dtype) / least_piece_bytes;
    if (free.size() < 2 || pieces < 2) {
      move_part(-1, {});
      return;
    }
    const std::int64_t extent = to_.shape[at(free.front())];
    const std::int64_t step = std::max<std::int64_t>(1, (extent + pieces - 1) / pieces);
    for (std::int64_t begin = 0; begin < extent; begin += step) {
      move_part(free.front(), {begin, std::min(step, extent - begin)});
    }
  }

  // All elements, or those in a span of one axis.
  void move_part(int part, Span span) {
    MoveBox box;
    box.source_begin.assign(from_.shape.size(), 0);
    box.destination_begin.assign(from_.shape.size(), 0);
    for (std::size_t axis = 0; axis < from_.shape.size(); ++axis) {
      const auto a = static_cast<int>(axis);
      const bool cut = a == part;
      box.source_begin[axis] = box.destination_begin[axis] = cut ? span.begin : 0;
      box.steps.push_back({a, 1, a, 1, cut ? span.extent : from_.shape[axis]});
    }
    move_box(b_, from_.tensor, to_.tensor, box);
  }

  // A tile of `from` with its dims in the order of `to`'s free axes (both have these free, or of
  // extent 1).
  [[nodiscard]] Tile in_order_of(const Tile& tile, const Operand& from, const Operand& to,
                                 bool by_blocks) const {
    Tile out = tile;
    const std::size_t shift = by_blocks ? 1 : 0;
    out.dims.resize(shift);
    for (const int axis : to.free_axes) {
      const int place = position_of(from.free_axes, axis);
      out.dims.push_back(place < 0 ? isa::Dim{1, 1} : tile.dims[at(place) + shift]);
    }
    return out;
  }

  // Partition axes of a side before those that both share.
  [[nodiscard]] std::vector<int> leads_of(const Operand& operand, std::size_t kept) const {
    std::vector<int> axes = long_axes(operand.shape, operand.partition_axes);
    axes.resize(axes.size() - kept);
    return axes;
  }

  void reorder(std::size_t kept) {
    const std::vector<int> from_leads = leads_of(from_, kept);
    const std::vector<int> to_leads = leads_of(to_, kept);
    std::vector<int> both;  // leading on both sides: index by index
    std::vector<int> axes;
    for (const int axis : from_leads) {
      (position_of(to_leads, axis) >= 0 ? both : axes).push_back(axis);
    }
    for (const std::vector<int>& more : {to_leads, to_.free_axes}) {
      std::ranges::copy_if(more, std::back_inserter(axes),
                           [&](int axis) { return position_of(from_leads, axis) < 0; });
    }
    const std::int64_t inner = to_.partitions / product(extents_of(to_, to_leads));
    const std::int64_t size = isa::size_of(from_.dtype);
    const std::int64_t bytes = (from_.resident ? 0 : size) + (to_.resident ? 0 : size);
    const std::int64_t limit = chunk_elements(b_, bytes);
    std::vector<Span> whole;
    for (const std::int64_t extent : to_.shape) {
      whole.push_back({0, extent});
    }
    for_each_index(both, whole, [&](std::vector<Span> spans) {
      for_each_chunk(extents_of(to_, axes), limit, [&](const std::vector<Span>& chunk) {
        for (std::size_t i = 0; i < axes.size(); ++i) {
          spans[at(axes[i])] = chunk[i];
        }
        const std::int64_t blocks = std::max<std::int64_t>(1, limit / elements_of(chunk));
        for_each_partition_range(
            inner, b_.machine().partitions, blocks, [&](Span range, bool by_blocks) {
              reorder_piece(from_leads, to_leads, {spans, range, inner, by_blocks});
            });
      });
    });
  }

  struct Piece {
    std::vector<Span> spans;  // by axis; of partition axes that both sides share, of no meaning
    Span range;               // of the linear index over those
    std::int64_t inner = 1;   // its whole extent
    bool by_blocks = false;
  };

  // Calls f with the spans for every single index of these axes.
  template <class F>
  static void for_each_index(const std::vector<int>& axes, const std::vector<Span>& spans, F&& f) {
    std::vector<std::int64_t> extents;
    extents.reserve(axes.size());
    for (const int axis : axes) {
      extents.push_back(spans[at(axis)].extent);
    }
    for_each_chunk(extents, 1, [&](const std::vector<Span>& index) {
      std::vector<Span> one = spans;
      for (std::size_t i = 0; i < axes.size(); ++i) {
        one[at(axes[i])] = {spans[at(axes[i])].begin + index[i].begin, 1};
      }
      f(one);
    });
  }

  // The piece at one index of `leads`.
  [[nodiscard]] static Region region_at(const Operand& operand, const std::vector<int>& leads,
                                        const std::vector<Span>& spans, const Piece& piece) {
    std::int64_t index = 0;
    for (const int axis : leads) {
      index = index * operand.shape[at(axis)] + spans[at(axis)].begin;
    }
    return region_of(operand, {index * piece.inner + piece.range.begin, piece.range.extent}, spans,
                     piece.by_blocks);
  }

  // A tile of the piece at one index of these free axes.
  [[nodiscard]] static Tile at_one(Tile tile, const Operand& operand, const std::vector<int>& axes,
                                   const Piece& piece, const std::vector<Span>& one) {
    for (const int axis : axes) {
      const int place = position_of(operand.free_axes, axis);
      if (place >= 0) {
        tile = slice(tile, place + (piece.by_blocks ? 1 : 0),
                     one[at(axis)].begin - piece.spans[at(axis)].begin, 1);
      }
    }
    return tile;
  }

  // One tile per index of the partition axes that a side has alone; a copy for every pair of tiles.
  void reorder_piece(const std::vector<int>& from_leads, const std::vector<int>& to_leads,
                     const Piece& piece) {
    std::vector<Tile> sources;
    for_each_index(from_leads, piece.spans, [&](const std::vector<Span>& spans) {
      sources.push_back(b_.read(from_.tensor, region_at(from_, from_leads, spans, piece)));
    });
    for_each_index(to_leads, piece.spans, [&](const std::vector<Span>& spans) {
      const Region target = region_at(to_, to_leads, spans, piece);
      const Tile out = b_.write(to_.tensor, target);
      auto source = sources.begin();
      for_each_index(from_leads, piece.spans, [&](const std::vector<Span>& one) {
        const Tile in = at_one(*source++, from_, to_leads, piece, spans);
        b_.copy(at_one(out, to_, from_leads, piece, one),
                in_order_of(in, from_, to_, piece.by_blocks));
      });
      b_.finish(to_.tensor, target, out);
    });
  }

  Builder& b_;
  Operand from_;
  Operand to_;
};

}  // namespace

void lower_convert(Builder& builder, graph::NodeId node) {
  Conversion(builder, node).run(builder.laid().mechanisms[node]);
}

}  // namespace systole::lower
