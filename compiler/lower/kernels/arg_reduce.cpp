// Index of the largest or smallest element along a free axis. Per chunk: the extreme value, a mask of the elements
// equal to it, the masked positions, and their smallest (largest for `last`); a running best over the chunks. Works for
// any length, any element type, and exactly, since positions are integers.
#include <algorithm>
#include <optional>

#include "compiler/lower/kernels/chunks.hpp"
#include "compiler/lower/pieces.hpp"
#include "isa/base/error.hpp"

namespace systole::lower {
namespace {

using isa::AluOp;
using isa::DType;

class ArgReduction {
 public:
  ArgReduction(Builder& builder, graph::NodeId node)
      : b_(builder),
        op_(std::get<graph::ArgReduce>(builder.laid().graph.nodes[node].op)),
        input_(operand_of(builder, builder.laid().graph.nodes[node].inputs[0])),
        output_(operand_of(builder, builder.laid().graph.nodes[node].output)),
        length_(input_.shape[static_cast<std::size_t>(op_.axis)]) {
    for (const int axis : input_.free_axes) {
      if (axis != op_.axis) {
        kept_.push_back(axis);
      }
    }
  }

  void run() {
    // Per element: the value if streamed, its mask and its masked position.
    const std::int64_t bytes = (input_.resident ? 0 : isa::size_of(input_.dtype)) + 1 + 4;
    const std::int64_t limit = chunk_elements(b_, bytes);
    const std::int64_t along = std::min(limit, length_);
    for_each_chunk(extents_of(input_, kept_), std::max<std::int64_t>(1, limit / along),
                   [&](const std::vector<Span>& k) {
                     for_each_partition_range(
                         input_.partitions, b_.machine().partitions, 1, [&](Span range, bool) {
                           const Region region = output_region(range, k);
                           const Tile out = b_.write(output_.tensor, region);
                           const Tile best = best_index(range, k, along);
                           Tile target = out;
                           target.dims.clear();
                           for (const int axis : kept_) {
                             const int place = position_of(output_.free_axes, output_axis(axis));
                             target.dims.push_back(place < 0
                                                       ? isa::Dim{1, 1}
                                                       : out.dims[static_cast<std::size_t>(place)]);
                           }
                           b_.copy(target, best);
                           b_.finish(output_.tensor, region, out);
                         });
                   });
  }

 private:
  [[nodiscard]] int output_axis(int axis) const {
    return op_.keep || axis < op_.axis ? axis : axis - 1;
  }

  [[nodiscard]] Region output_region(Span partitions, const std::vector<Span>& kept) const {
    Region out{partitions, std::vector<Span>(output_.free_axes.size(), Span{0, 1}), false};
    for (std::size_t i = 0; i < kept_.size(); ++i) {
      if (const int place = position_of(output_.free_axes, output_axis(kept_[i])); place >= 0) {
        out.free[static_cast<std::size_t>(place)] = kept[i];
      }
    }
    return out;
  }

  // The input's piece with dims kept..., axis.
  [[nodiscard]] Tile input_tile(Span partitions, const std::vector<Span>& kept, Span along) {
    Region region{partitions, {}, false};
    std::vector<int> order;
    for (const int axis : input_.free_axes) {
      const int k = position_of(kept_, axis);
      region.free.push_back(k < 0 ? along : kept[static_cast<std::size_t>(k)]);
    }
    for (const int axis : kept_) {
      order.push_back(position_of(input_.free_axes, axis));
    }
    if (const int place = position_of(input_.free_axes, op_.axis); place >= 0) {
      order.push_back(place);
    }
    Tile out = permute(b_.read(input_.tensor, region), order);
    if (out.dims.size() == kept_.size()) {
      out.dims.push_back({1, 1});  // an axis of one element that lies among the partitions
    }
    return out;
  }

  [[nodiscard]] Tile scratch_of(const std::vector<Span>& kept, std::int64_t along, int partitions,
                                DType dtype, const std::string& name) {
    std::vector<std::int64_t> extents;
    for (const Span& span : kept) {
      extents.push_back(span.extent);
    }
    if (along > 0) {
      extents.push_back(along);
    }
    return b_.scratch(partitions, extents, dtype, name);
  }

  // Positions begin, begin + 1, ... along the last dim of `like`, the same for all kept elements.
  [[nodiscard]] Tile positions(const Tile& like, Span along) {
    if (!row_ || along.extent != length_) {
      row_ = b_.scratch(b_.machine().partitions, {along.extent}, DType::i32, "positions");
      isa::Iota iota;
      iota.out = access(*row_);
      iota.base = along.begin;
      iota.steps[0] = 1;
      b_.emit(iota, isa::Engine::gpsimd, {row_->buffer});
    }
    Tile out = slice_partitions(*row_, 0, like.partitions);
    for (std::size_t d = like.dims.size() - 1; d-- > 0;) {
      out = broadcast_dim(out, 0, like.dims[d].extent);
    }
    return out;
  }

  [[nodiscard]] Tile best_index(Span range, const std::vector<Span>& kept, std::int64_t along) {
    const AluOp better = op_.largest ? AluOp::max : AluOp::min;
    const auto partitions = static_cast<int>(range.extent);
    const DType value_type = isa::is_float(input_.dtype) ? DType::f32 : input_.dtype;
    const AluOp replaces = op_.largest ? (op_.last ? AluOp::greater_equal : AluOp::greater)
                                       : (op_.last ? AluOp::less_equal : AluOp::less);
    std::optional<Tile> best;
    std::optional<Tile> value;
    for (std::int64_t begin = 0; begin < length_; begin += along) {
      const Span span{begin, std::min(along, length_ - begin)};
      const Tile in = input_tile(range, kept, span);
      const Tile extreme = scratch_of(kept, 0, partitions, value_type, "extreme");
      b_.reduce(better, extreme, in, 1);
      const Tile index = scratch_of(kept, 0, partitions, DType::i32, "index");
      index_of(in, extreme, span, kept, index);
      if (!best) {
        best = index;
        value = extreme;
        continue;
      }
      const Tile take = scratch_of(kept, 0, partitions, DType::u8, "take");
      b_.tensor_tensor(replaces, take, extreme, *value);
      b_.copy_predicated(*best, index, take);
      b_.tensor_tensor(better, *value, *value, extreme);
    }
    return *best;
  }

  // index = smallest (largest) position where in equals extreme; the last (first) position if there is none, which
  // happens only if an element is NaN.
  void index_of(const Tile& in, const Tile& extreme, Span span, const std::vector<Span>& kept,
                const Tile& index) {
    const Tile mask = scratch_of(kept, span.extent, in.partitions, DType::u8, "mask");
    const Tile masked =
        scratch_of(kept, span.extent, in.partitions, DType::i32, "masked positions");
    b_.tensor_tensor(AluOp::equal, mask, in,
                     broadcast_dim(extreme, static_cast<int>(kept.size()), span.extent));
    b_.memset(masked, op_.last ? 0.0F : static_cast<float>(length_ - 1));
    b_.copy_predicated(masked, positions(masked, span), mask);
    b_.reduce(op_.last ? AluOp::max : AluOp::min, index, masked, 1);
  }

  Builder& b_;
  graph::ArgReduce op_;
  Operand input_;
  Operand output_;
  std::int64_t length_;
  std::vector<int> kept_;
  std::optional<Tile> row_;  // positions; shared by all pieces if one covers the axis
};

}  // namespace

void lower_arg_reduce(Builder& builder, graph::NodeId node) {
  ArgReduction(builder, node).run();
}

}  // namespace systole::lower
