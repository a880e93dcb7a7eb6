#include "compiler/lower/kernels/vector_transpose.hpp"

#include <algorithm>
#include <optional>

#include "compiler/layout/block_turn.hpp"
#include "compiler/lower/pieces.hpp"

namespace systole::lower {
namespace {

using layout::BlockTurn;

std::size_t at(int axis) {
  return static_cast<std::size_t>(axis);
}

std::optional<BlockTurn> turn_of(const Builder& builder, const Operand& from, const Operand& to) {
  const layout::LaidGraph& laid = builder.laid();
  return layout::block_turn_of(laid.layouts[from.tensor], laid.layouts[to.tensor], from.shape,
                               builder.machine());
}

// Axes free on both sides, in the order of the result.
std::vector<int> rest_of(const Operand& from, const Operand& to) {
  std::vector<int> out = to.free_axes;
  std::erase_if(out, [&](int axis) { return position_of(from.free_axes, axis) < 0; });
  return out;
}

std::int64_t partition_blocks(const Operand& side, const isa::Machine& machine) {
  return (side.partitions + machine.partitions - 1) / machine.partitions;
}

// Bytes per partition that one index of the axes free on both is staged in: all partition blocks of the source, one of the
// result.
std::int64_t staged_bytes(const Builder& builder, const Operand& from, const Operand& to) {
  const std::int64_t rest = std::max<std::int64_t>(1, product(extents_of(to, rest_of(from, to))));
  const auto bytes = [rest](const Operand& side) {
    return side.resident
               ? 0
               : product(extents_of(side, side.free_axes)) / rest * isa::size_of(side.dtype);
  };
  return bytes(from) * partition_blocks(from, builder.machine()) + bytes(to);
}

class VectorTranspose {
 public:
  VectorTranspose(Builder& builder, const Operand& from, const Operand& to)
      : b_(builder), from_(from), to_(to), turn_(turn_of(builder, from, to).value()) {}

  void run() {
    from_chunks_ = chunks_of(from_, turn_.from);
    to_chunks_ = chunks_of(to_, turn_.to);
    rest_ = rest_of(from_, to_);
    const std::vector<std::int64_t> extents = extents_of(to_, rest_);
    const std::int64_t bytes = staged_bytes(b_, from_, to_);
    for_each_chunk(extents, bytes == 0 ? product(extents) : b_.staging_bytes() / (2 * bytes),
                   [&](const std::vector<Span>& r) { turn_piece(r); });
  }

 private:
  // Neighbouring partitions of a side that one quadrant holds: spans by logical axis, whole where free.
  struct Chunk {
    Span partitions;  // in the linear partition index
    std::vector<Span> spans;
  };

  [[nodiscard]] std::vector<Chunk> chunks_of(const Operand& side,
                                             const BlockTurn::Side& axes) const {
    std::vector<Chunk> out;
    Chunk chunk;
    for (const std::int64_t extent : side.shape) {
      chunk.spans.push_back({0, extent});
    }
    const auto place = [&chunk](const std::vector<int>& list, const std::vector<Span>& spans) {
      for (std::size_t i = 0; i < list.size(); ++i) {
        chunk.spans[at(list[i])] = spans[i];
      }
    };
    const auto add = [&](const std::vector<Span>& spans) {
      place(axes.cut, spans);
      chunk.partitions = {chunk.partitions.begin + chunk.partitions.extent, elements_of(spans)};
      out.push_back(chunk);
    };
    chunk.partitions = {0, 0};
    for_each_chunk(extents_of(side, axes.leads), 1, [&](const std::vector<Span>& index) {
      place(axes.leads, index);
      for_each_chunk(extents_of(side, axes.cut), layout::block_lanes(b_.machine()), add, false);
    });
    return out;
  }

  // Whether the chunks have elements in common: axes across the partitions of both go index by index.
  [[nodiscard]] bool meet(const Chunk& a, const Chunk& b) const {
    return std::ranges::all_of(turn_.from.leads, [&](int axis) {
      return position_of(turn_.to.leads, axis) < 0 ||
             a.spans[at(axis)].begin == b.spans[at(axis)].begin;
    });
  }

  [[nodiscard]] Region block_of(const Operand& side, std::int64_t block,
                                const std::vector<Span>& spans) const {
    const std::int64_t partitions = b_.machine().partitions;
    const std::int64_t begin = block * partitions;
    return region_of(side, {begin, std::min(partitions, side.partitions - begin)}, spans, false);
  }

  void turn_piece(const std::vector<Span>& r) {
    std::vector<Span> spans;
    for (const std::int64_t extent : from_.shape) {
      spans.push_back({0, extent});
    }
    for (std::size_t i = 0; i < rest_.size(); ++i) {
      spans[at(rest_[i])] = r[i];
    }
    std::vector<Tile> inputs;
    for (std::int64_t block = 0; block < partition_blocks(from_, b_.machine()); ++block) {
      inputs.push_back(b_.read(from_.tensor, block_of(from_, block, spans)));
    }
    const std::int64_t partitions = b_.machine().partitions;
    for (std::int64_t block = 0; block < partition_blocks(to_, b_.machine()); ++block) {
      const Region target = block_of(to_, block, spans);
      const Tile out = b_.write(to_.tensor, target);
      for (const Chunk& to : to_chunks_) {
        for (const Chunk& from : from_chunks_) {
          if (to.partitions.begin / partitions == block && meet(from, to)) {
            turn_chunks(inputs[static_cast<std::size_t>(from.partitions.begin / partitions)], from,
                        out, to, r);
          }
        }
      }
      b_.finish(to_.tensor, target, out);
    }
  }

  // The chunk's partitions of a tile, with one dim per axis of the other side's chunk, in the order of its partitions, at one
  // index of the rest.
  [[nodiscard]] Tile part_of(const Tile& tile, const Operand& side, const Chunk& own,
                             const Operand& other, const Chunk& others,
                             const std::vector<Span>& one) const {
    const std::int64_t first = own.partitions.begin % b_.machine().partitions;
    const Tile lanes =
        slice_partitions(tile, static_cast<int>(first), static_cast<int>(own.partitions.extent));
    Tile out = lanes;
    out.dims.clear();
    for (const int axis : other.partition_axes) {
      const int place = position_of(side.free_axes, axis);
      if (place >= 0) {
        const Span& span = others.spans[at(axis)];
        out.dims.push_back(lanes.dims[at(place)]);
        out = slice(out, static_cast<int>(out.dims.size()) - 1, span.begin, span.extent);
      }
    }
    for (std::size_t i = 0; i < rest_.size(); ++i) {
      out.dims.push_back(lanes.dims[at(position_of(side.free_axes, rest_[i]))]);
      out = drop_dim(out, static_cast<int>(out.dims.size()) - 1, one[i].begin);
    }
    return out;
  }

  void turn_chunks(const Tile& in, const Chunk& from, const Tile& out, const Chunk& to,
                   const std::vector<Span>& r) {
    std::vector<std::int64_t> extents;
    extents.reserve(r.size());
    for (const Span& span : r) {
      extents.push_back(span.extent);
    }
    for_each_chunk(extents, 1, [&](const std::vector<Span>& one) {
      turn(part_of(in, from_, from, to_, to, one), part_of(out, to_, to, from_, from, one));
    });
  }

  // What lies so far apart that no operand says it goes by way of a dense block.
  void turn(const Tile& in, const Tile& out) {
    Tile source = in;
    if (!fits_access(b_.machine(), in)) {
      source = dense(in, "block");
      b_.copy(source, in);
    }
    const bool fits = fits_access(b_.machine(), out);
    const Tile target = fits ? out : dense(out, "turned");
    b_.emit(isa::Transpose32{access(source), access(target)}, isa::Engine::vector,
            {source.buffer, target.buffer});
    if (!fits) {
      b_.copy(out, target);
    }
  }

  [[nodiscard]] Tile dense(const Tile& tile, const char* name) {
    std::vector<std::int64_t> extents;
    for (const isa::Dim& dim : tile.dims) {
      extents.push_back(dim.extent);
    }
    return b_.scratch(tile.partitions, extents, tile.dtype, name, tile.partition);
  }

  Builder& b_;
  const Operand& from_;
  const Operand& to_;
  BlockTurn turn_;
  std::vector<Chunk> from_chunks_;
  std::vector<Chunk> to_chunks_;
  std::vector<int> rest_;
};

}  // namespace

bool vector_turns(const Builder& builder, const Operand& from, const Operand& to) {
  return turn_of(builder, from, to).has_value() &&
         2 * staged_bytes(builder, from, to) <= builder.staging_bytes();
}

void turn_by_vector(Builder& builder, const Operand& from, const Operand& to) {
  VectorTranspose(builder, from, to).run();
}

}  // namespace systole::lower
