// Reductions. standard: the reduced axes are free, partitions stay; the Vector engine reduces chunks, running
// accumulators (fp32, or 32-bit integers) combine them. ones_matmul: the reduced axes lie across the partitions; free
// reduced axes are summed first, then a product with ones adds up the partitions. Integers take GpSimd's exact reduction
// across partitions instead, since the array works in floating point.
#include <algorithm>
#include <limits>
#include <optional>

#include "compiler/lower/kernels/chunks.hpp"
#include "compiler/lower/pieces.hpp"
#include "isa/base/error.hpp"

namespace systole::lower {
namespace {

using graph::ReduceFunction;
using isa::AluOp;
using isa::DType;

AluOp alu_of(ReduceFunction function) {
  switch (function) {
    case ReduceFunction::sum:
    case ReduceFunction::mean:
      return AluOp::add;
    case ReduceFunction::max:
      return AluOp::max;
    case ReduceFunction::min:
      return AluOp::min;
    case ReduceFunction::product:
      return AluOp::multiply;
  }
  return AluOp::add;
}

float identity_of(ReduceFunction function) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  switch (function) {
    case ReduceFunction::sum:
      return 0.0F;
    case ReduceFunction::mean:
      return std::numeric_limits<float>::quiet_NaN();
    case ReduceFunction::max:
      return -infinity;
    case ReduceFunction::min:
      return infinity;
    case ReduceFunction::product:
      return 1.0F;
  }
  return 0.0F;
}

DType accumulator_type(DType dtype) {
  return isa::is_float(dtype) ? DType::f32 : dtype == DType::u32 ? DType::u32 : DType::i32;
}

class Reduction {
 public:
  Reduction(Builder& builder, graph::NodeId node)
      : b_(builder),
        op_(std::get<graph::Reduce>(builder.laid().graph.nodes[node].op)),
        input_(operand_of(builder, builder.laid().graph.nodes[node].inputs[0])),
        output_(operand_of(builder, builder.laid().graph.nodes[node].output)),
        accumulator_(accumulator_type(input_.dtype)) {
    for (const int axis : op_.axes) {
      reduced_count_ *= input_.shape[static_cast<std::size_t>(axis)];
    }
  }

  void run(layout::Mechanism mechanism) {
    if (reduced_count_ == 0) {
      fill_identity();
    } else if (mechanism == layout::Mechanism::ones_matmul) {
      across_partitions();
    } else {
      along_free();
    }
  }

 private:
  // The output's axis for a kept axis of the input.
  [[nodiscard]] int output_axis(int input_axis) const {
    if (op_.keep) {
      return input_axis;
    }
    const auto before =
        std::ranges::count_if(op_.axes, [&](int axis) { return axis < input_axis; });
    return input_axis - static_cast<int>(before);
  }
  [[nodiscard]] bool is_reduced(int axis) const {
    return std::ranges::find(op_.axes, axis) != op_.axes.end();
  }

  void fill_identity() {
    for_each_chunk(extents_of(output_, output_.free_axes),
                   chunk_elements(b_, isa::size_of(output_.dtype)),
                   [&](const std::vector<Span>& free) {
                     for_each_partition_range(output_.partitions, b_.machine().partitions, 1,
                                              [&](Span range, bool) {
                                                const Region region{range, free};
                                                const Tile out = b_.write(output_.tensor, region);
                                                b_.memset(out, identity_of(op_.function));
                                                b_.finish(output_.tensor, region, out);
                                              });
                   });
  }

  // Sorts the input's free axes into kept and reduced ones, in layout order. Only the innermost reduced axes, as many
  // as one instruction's pattern takes beside the kept ones, are taken in one piece.
  void classify() {
    for (const int axis : input_.free_axes) {
      (is_reduced(axis) ? reduced_ : kept_).push_back(axis);
    }
  }

  [[nodiscard]] Region output_region(Span partitions, bool by_blocks,
                                     const std::vector<Span>& kept) const {
    Region out{partitions, std::vector<Span>(output_.free_axes.size(), Span{0, 1}), by_blocks};
    for (std::size_t i = 0; i < kept_.size(); ++i) {
      const int place = position_of(output_.free_axes, output_axis(kept_[i]));
      if (place >= 0) {
        out.free[static_cast<std::size_t>(place)] = kept[i];
      } else {
        check(kept[i].extent == 1, "a kept axis of the input is free in the output");
      }
    }
    return out;
  }

  // The input's piece with dims [blocks] kept... reduced...
  [[nodiscard]] Tile input_tile(Span partitions, bool by_blocks, const std::vector<Span>& kept,
                                const std::vector<Span>& reduced, int partition) {
    Region region{partitions, {}, by_blocks};
    std::vector<int> order;
    const int shift = by_blocks ? 1 : 0;
    if (by_blocks) {
      order.push_back(0);
    }
    for (const int axis : input_.free_axes) {
      const int k = position_of(kept_, axis);
      region.free.push_back(k >= 0
                                ? kept[static_cast<std::size_t>(k)]
                                : reduced[static_cast<std::size_t>(position_of(reduced_, axis))]);
    }
    for (const std::vector<int>& list : {kept_, reduced_}) {
      for (const int axis : list) {
        order.push_back(position_of(input_.free_axes, axis) + shift);
      }
    }
    Builder::ReadOptions options;
    options.partition = partition;
    Tile out = permute(b_.read(input_.tensor, region, options), order);
    if (reduced_.empty()) {
      out.dims.push_back({1, 1});
    }
    return out;
  }

  // The output's piece with dims [blocks] kept... instead of the output's own order.
  [[nodiscard]] Tile in_kept_order(const Tile& tile, bool by_blocks) const {
    Tile out = tile;
    out.dims.clear();
    const std::size_t shift = by_blocks ? 1 : 0;
    if (by_blocks) {
      out.dims.push_back(tile.dims[0]);
    }
    for (const int axis : kept_) {
      const int place = position_of(output_.free_axes, output_axis(axis));
      out.dims.push_back(place < 0 ? isa::Dim{1, 1}
                                   : tile.dims[static_cast<std::size_t>(place) + shift]);
    }
    return out;
  }

  void along_free() {
    classify();
    const std::int64_t input_bytes = input_.resident ? 0 : isa::size_of(input_.dtype);
    const std::int64_t limit = chunk_elements(b_, input_bytes);
    // Reduced elements of one chunk first, then as many kept ones as there is room for.
    const std::vector<std::int64_t> reduced = extents_of(input_, reduced_);
    const std::vector<std::int64_t> kept = extents_of(input_, kept_);
    const std::int64_t reduced_limit =
        std::min({product(reduced), limit, b_.machine().access_extent_max});
    const std::int64_t accumulators = b_.staging_bytes() / 16;
    const std::int64_t kept_limit = std::max<std::int64_t>(
        1, std::min(limit / std::max<std::int64_t>(reduced_limit, 1), accumulators));
    for_each_chunk(kept, kept_limit, [&](const std::vector<Span>& k) {
      const std::int64_t blocks = std::max<std::int64_t>(1, kept_limit / elements_of(k));
      for_each_partition_range(
          input_.partitions, b_.machine().partitions, blocks, [&](Span range, bool by_blocks) {
            const Region region = output_region(range, by_blocks, k);
            const Tile out = b_.write(output_.tensor, region);
            reduce_piece(in_kept_order(out, by_blocks), range, by_blocks, k, reduced_limit);
            b_.finish(output_.tensor, region, out);
          });
    });
  }

  [[nodiscard]] Tile like(const Tile& tile, DType dtype, const std::string& name) {
    std::vector<std::int64_t> extents;
    for (const isa::Dim& dim : tile.dims) {
      extents.push_back(dim.extent);
    }
    return b_.scratch(tile.partitions, extents, dtype, name, tile.partition);
  }

  // out[kept] = reduction of the input over all reduced axes.
  void reduce_piece(const Tile& out, Span partitions, bool by_blocks, const std::vector<Span>& kept,
                    std::int64_t limit) {
    // A pattern of four dims: the reduced ones of a piece are at most three.
    std::vector<std::int64_t> extents = extents_of(input_, reduced_);
    int long_axes = 0;
    std::vector<std::int64_t> outer(extents.size(), 1);
    for (std::size_t i = extents.size(); i-- > 0;) {
      long_axes += extents[i] > 1 ? 1 : 0;
      if (long_axes > isa::Access::max_rank - 1) {
        std::swap(outer[i], extents[i]);
      }
    }
    std::optional<Tile> total;
    for_each_chunk(outer, 1, [&](const std::vector<Span>& o) {
      for_each_chunk(extents, limit, [&](const std::vector<Span>& r) {
        std::vector<Span> spans = r;
        for (std::size_t i = 0; i < spans.size(); ++i) {
          spans[i].begin += o[i].begin;
        }
        const Tile in = input_tile(partitions, by_blocks, kept, spans, -1);
        const bool all = elements_of(r) == reduced_count_;
        const Tile part = all && direct(out) ? out : like(out, accumulator_, "partial");
        b_.reduce(alu_of(op_.function), part, in, std::max(1, static_cast<int>(reduced_.size())));
        if (total) {
          b_.tensor_tensor(alu_of(op_.function), *total, *total, part);
        } else {
          total = part;
        }
      });
    });
    finish_total(out, *total);
  }

  // Whether one instruction may round straight to the output.
  [[nodiscard]] bool direct(const Tile& out) const {
    return op_.function != ReduceFunction::mean &&
           isa::is_float(out.dtype) == isa::is_float(accumulator_);
  }

  void finish_total(const Tile& out, const Tile& total) {
    if (op_.function == ReduceFunction::mean) {
      const auto count = static_cast<float>(reduced_count_);
      if (isa::is_float(out.dtype)) {
        b_.tensor_scalar(out, total, AluOp::multiply, 1.0F / count);
      } else {
        b_.tensor_scalar(out, total, AluOp::divide, count);
      }
    } else if (total.buffer != out.buffer) {
      b_.copy(out, total);
    }
  }

  // ---- over the partition axes

  void across_partitions() {
    classify();
    std::vector<int> spread;  // kept axes across the output's partitions
    for (const int axis : kept_) {
      const int place = position_of(output_.partition_axes, output_axis(axis));
      if (place >= 0 && input_.shape[static_cast<std::size_t>(axis)] > 1) {
        spread.push_back(axis);
      }
    }
    check(spread.size() <= 1, "at most one kept axis goes across the partitions");
    // The spread axis is the outermost kept one for what follows.
    if (!spread.empty()) {
      std::erase(kept_, spread[0]);
      kept_.insert(kept_.begin(), spread[0]);
    }
    const std::int64_t bank = b_.machine().psum_bank_bytes / 4;
    const std::int64_t columns =
        std::min<std::int64_t>({b_.machine().array_columns, b_.machine().partitions, bank});
    const std::int64_t moving = std::min<std::int64_t>(b_.machine().moving_max, bank);
    std::vector<std::int64_t> kept = extents_of(input_, kept_);
    const std::int64_t bytes = isa::size_of(input_.dtype) + (reduced_elements() > 1 ? 4 : 0);
    const std::int64_t limit = chunk_elements(b_, bytes);
    if (spread.empty()) {
      for_each_chunk(kept, std::min(moving, limit),
                     [&](const std::vector<Span>& k) { sum_to_row(k); });
      return;
    }
    const std::int64_t m = kept[0];
    kept.erase(kept.begin());
    for (std::int64_t begin = 0; begin < m; begin += columns) {
      const Span rows{begin, std::min(columns, m - begin)};
      for_each_chunk(kept, std::max<std::int64_t>(1, std::min(bank, limit / rows.extent)),
                     [&](std::vector<Span> k) {
                       k.insert(k.begin(), rows);
                       sum_to_column(k);
                     });
    }
  }

  [[nodiscard]] std::int64_t reduced_elements() const {
    return product(extents_of(input_, reduced_));
  }

  // Calls f with every range of partitions that one pass of the array (or one GpSimd reduction) covers.
  void for_each_pass(const std::function<void(Span range, bool first)>& f) {
    const std::int64_t rows = std::min(b_.machine().partitions, b_.machine().array_rows);
    for (std::int64_t begin = 0; begin < input_.partitions; begin += rows) {
      f({begin, std::min(rows, input_.partitions - begin)}, begin == 0);
    }
  }

  // Partitions' values with free reduced axes summed up: dims kept..., and a float type or an integer one.
  [[nodiscard]] Tile summed(Span range, const std::vector<Span>& kept) {
    std::vector<Span> reduced;
    for (const std::int64_t extent : extents_of(input_, reduced_)) {
      reduced.push_back({0, extent});
    }
    if (reduced_elements() == 1) {
      Tile in = input_tile(range, false, kept, reduced, 0);
      in.dims.resize(kept.size());
      return in;
    }
    std::vector<std::int64_t> extents;
    for (const Span& span : kept) {
      extents.push_back(span.extent);
    }
    const Tile out = b_.scratch(static_cast<int>(range.extent), extents, accumulator_, "partial");
    const std::int64_t room = chunk_elements(b_, isa::size_of(input_.dtype)) / elements_of(kept);
    const auto saved = reduced_count_;
    const ReduceFunction function = op_.function;
    reduced_count_ = reduced_elements();
    op_.function = ReduceFunction::sum;  // the mean's division comes at the end
    reduce_piece(out, range, false, kept, std::max<std::int64_t>(1, room));
    op_.function = function;
    reduced_count_ = saved;
    return out;
  }

  [[nodiscard]] bool exact() const { return !isa::is_float(input_.dtype); }

  // Output (|kept): one partition.
  void sum_to_row(const std::vector<Span>& kept) {
    const Region region = output_region({0, 1}, false, kept);
    const Tile out = b_.write(output_.tensor, region);
    finish_total(in_kept_order(out, false), exact() ? integer_row(kept) : product_row(kept));
    b_.finish(output_.tensor, region, out);
  }

  [[nodiscard]] Tile product_row(const std::vector<Span>& kept) {
    std::vector<std::int64_t> extents;
    for (const Span& span : kept) {
      extents.push_back(span.extent);
    }
    const Tile total = b_.psum(1, extents, "column sums");
    for_each_pass([&](Span range, bool first) {
      const Tile in = summed(range, kept);
      const Tile ones = b_.ones(in.dtype);
      b_.load_stationary(slice(slice_partitions(ones, 0, in.partitions), 0, 0, 1), 0);
      b_.multiply(dense(in), total, !first, true);
    });
    return total;
  }

  [[nodiscard]] Tile integer_row(const std::vector<Span>& kept) {
    std::optional<Tile> total;
    for_each_pass([&](Span range, bool) {
      const Tile in = dense(summed(range, kept));
      const Tile row = like(slice_partitions(in, 0, 1), accumulator_, "column sums");
      b_.emit(isa::PartitionReduce{access(in), access(row), AluOp::add}, isa::Engine::gpsimd,
              {in.buffer, row.buffer});
      if (total) {
        b_.tensor_tensor(AluOp::add, *total, *total, row);
      } else {
        total = row;
      }
    });
    return *total;
  }

  // At most four dims, as one operand takes: a copy if there are more.
  [[nodiscard]] Tile dense(const Tile& tile) {
    if (fits_access(b_.machine(), tile)) {
      return tile;
    }
    const Tile out = like(tile, tile.dtype, "moving");
    b_.copy(out, tile);
    return out;
  }

  // Output (m|rest): kept[0] goes across the partitions.
  void sum_to_column(const std::vector<Span>& kept) {
    const Span rows = kept[0];
    std::vector<Span> rest(kept.begin() + 1, kept.end());
    std::vector<Span> spans = kept;
    spans[0] = {0, 1};
    if (exact()) {
      integer_column(kept);
      return;
    }
    const Region region = output_region(rows, false, spans);
    const Tile out = b_.write(output_.tensor, region);
    Tile target = in_kept_order(out, false);
    target.dims.erase(target.dims.begin());
    std::vector<std::int64_t> extents;
    for (const Span& span : rest) {
      extents.push_back(span.extent);
    }
    const Tile total = b_.psum(static_cast<int>(rows.extent), {elements_of(rest)}, "row sums");
    for_each_pass([&](Span range, bool first) {
      const Tile in = summed(range, kept);
      const Tile ones = slice(slice_partitions(b_.ones(in.dtype), 0, in.partitions), 0, 0, 1);
      std::int64_t column = 0;
      for_each_chunk(extents, 1, [&](const std::vector<Span>& at) {
        Tile stationary = in;
        for (std::size_t d = at.size(); d-- > 0;) {
          stationary = drop_dim(stationary, static_cast<int>(d) + 1, at[d].begin);
        }
        b_.load_stationary(stationary, 0);
        b_.multiply(ones, slice(total, 0, column++, 1), !first, true);
      });
    });
    Tile shaped = target;
    shaped.buffer = total.buffer;
    shaped.space = total.space;
    shaped.dtype = total.dtype;
    shaped.partition = total.partition;
    shaped.offset = total.offset;
    std::int64_t stride = 1;
    for (std::size_t d = extents.size(); d-- > 0;) {
      shaped.dims[d] = make_dim(stride, extents[d]);
      stride *= extents[d];
    }
    finish_total(target, shaped);
    b_.finish(output_.tensor, region, out);
  }

  // The row of sums, scaled, then spread over the partitions by DMA.
  void integer_column(const std::vector<Span>& kept) {
    const Tile sums = integer_row(kept);
    const Tile row = like(sums, output_.dtype, "row sums");
    finish_total(row, sums);
    Builder::Walk walk;
    walk.begin.assign(output_.shape.size(), 0);
    for (std::size_t i = 0; i < kept_.size(); ++i) {
      const int axis = output_axis(kept_[i]);
      walk.begin[static_cast<std::size_t>(axis)] = kept[i].begin;
      walk.free.push_back({axis, 1, kept[i].extent});
    }
    b_.scatter(row, output_.tensor, walk);
  }

  Builder& b_;
  graph::Reduce op_;
  Operand input_;
  Operand output_;
  DType accumulator_;
  std::int64_t reduced_count_ = 1;
  std::vector<int> kept_;  // free axes of the input, layout order
  std::vector<int> reduced_;
};

}  // namespace

void lower_reduce(Builder& builder, graph::NodeId node) {
  Reduction(builder, node).run(builder.laid().mechanisms[node]);
}

}  // namespace systole::lower
