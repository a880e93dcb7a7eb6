#include "compiler/lower/kernels/dma_transpose.hpp"

#include <algorithm>

#include "compiler/layout/layout.hpp"

namespace systole::lower {
namespace {

std::size_t at(int axis) {
  return static_cast<std::size_t>(axis);
}

class DmaTranspose {
 public:
  DmaTranspose(Builder& builder, const Operand& from, const Operand& to)
      : b_(builder), from_(from), to_(to) {}

  void run() {
    if (to_.resident) {
      in_place();
    } else {
      staged();
    }
  }

 private:
  // In pieces along the outermost free axis. If that is the only one, whole blocks of the source's partitions.
  void in_place() {
    constexpr std::int64_t least_piece_bytes = 128 * 1024;
    const std::vector<int> free = long_axes(to_.shape, to_.free_axes);
    const std::int64_t extent = to_.shape[at(free.front())];
    const std::int64_t unit = free.size() == 1 ? b_.machine().partitions : 1;
    const std::int64_t pieces =
        std::max<std::int64_t>(1, product(to_.shape) * isa::size_of(to_.dtype) / least_piece_bytes);
    const std::int64_t step = ((extent + pieces - 1) / pieces + unit - 1) / unit * unit;
    for (std::int64_t begin = 0; begin < extent; begin += step) {
      std::vector<Span> spans;
      for (const std::int64_t whole : to_.shape) {
        spans.push_back({0, whole});
      }
      spans[at(free.front())] = {begin, std::min(step, extent - begin)};
      Builder::Walk walk;
      for (std::size_t axis = 0; axis < spans.size(); ++axis) {
        walk.begin.push_back(spans[axis].begin);
        walk.free.push_back({static_cast<int>(axis), 1, spans[axis].extent});
      }
      walk.transpose = true;
      b_.move(from_.tensor, walk, to_.tensor, walk);
    }
  }

  // One tile per box of the partition axes and chunk of the free ones.
  void staged() {
    const std::vector<std::int64_t> across = extents_of(to_, to_.partition_axes);
    const std::vector<std::int64_t> along = extents_of(to_, to_.free_axes);
    const std::int64_t engines = b_.machine().dma_engines;  // rows of a block of the path
    const std::int64_t room = chunk_elements(b_, isa::size_of(to_.dtype));
    const std::int64_t limit = room < engines ? room : room / engines * engines;
    std::int64_t first = 0;  // in the linear partition index
    for_each_chunk(
        across, b_.machine().partitions,
        [&](const std::vector<Span>& box) {
          const Span range{first, elements_of(box)};
          first += range.extent;
          for_each_chunk(
              along, limit, [&](const std::vector<Span>& chunk) { stage(range, box, chunk); },
              false);
        },
        false);
  }

  void stage(Span range, const std::vector<Span>& box, const std::vector<Span>& chunk) {
    std::vector<Span> spans(to_.shape.size(), Span{0, 1});
    Builder::Walk walk;
    for (std::size_t i = 0; i < box.size(); ++i) {
      spans[at(to_.partition_axes[i])] = box[i];
      walk.partitions.push_back({to_.partition_axes[i], 1, box[i].extent});
    }
    for (std::size_t i = 0; i < chunk.size(); ++i) {
      spans[at(to_.free_axes[i])] = chunk[i];
      walk.free.push_back({to_.free_axes[i], 1, chunk[i].extent});
    }
    for (const Span& span : spans) {
      walk.begin.push_back(span.begin);
    }
    walk.transpose = true;
    const Region region = region_of(to_, range, spans, false);
    const Tile tile = b_.write(to_.tensor, region);
    b_.load(tile, from_.tensor, walk);
    b_.finish(to_.tensor, region, tile);
  }

  Builder& b_;
  const Operand& from_;
  const Operand& to_;
};

}  // namespace

bool dma_turns(const Builder& builder, const Operand& from, const Operand& to) {
  const layout::LaidGraph& laid = builder.laid();
  return builder.machine().dma_transpose && isa::size_of(to.dtype) == 2 && from.dtype == to.dtype &&
         layout::transposition_of(laid.layouts[from.tensor], laid.layouts[to.tensor], to.shape)
             .has_value();
}

void turn_by_dma(Builder& builder, const Operand& from, const Operand& to) {
  DmaTranspose(builder, from, to).run();
}

}  // namespace systole::lower
