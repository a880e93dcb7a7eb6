#include "compiler/lower/kernels/map_reducer.hpp"

#include <algorithm>

#include "compiler/lower/kernels/map_chain.hpp"
#include "compiler/lower/pieces.hpp"
#include "isa/base/error.hpp"

namespace systole::lower {
namespace {

isa::AluOp alu_of(graph::ReduceFunction function) {
  return function == graph::ReduceFunction::max   ? isa::AluOp::max
         : function == graph::ReduceFunction::min ? isa::AluOp::min
                                                  : isa::AluOp::add;
}

}  // namespace

MapReducer::MapReducer(Builder& builder, graph::NodeId node, const Operand& value)
    : b_(builder),
      node_(node),
      value_(value),
      output_(operand_of(builder, builder.laid().graph.nodes[node].output)),
      source_(builder.add_source(source_name(builder.laid(), node), isa::SourceKind::operation)) {
  const auto& op = std::get<graph::Reduce>(builder.laid().graph.nodes[node].op);
  op_ = alu_of(op.function);
  const std::vector<std::int64_t> extents = extents_of(value, value.free_axes);
  for (std::size_t i = 0; i < extents.size(); ++i) {
    const bool reduced = std::ranges::find(op.axes, value.free_axes[i]) != op.axes.end();
    kept_ = extents[i] != 1 && !reduced ? i + 1 : kept_;
  }
  const auto inner = extents.begin() + static_cast<std::ptrdiff_t>(kept_);
  if (op.function == graph::ReduceFunction::mean) {
    scale_ = 1.0F / static_cast<float>(product({inner, extents.end()}));
  }
  const std::int64_t partitions = builder.machine().partitions;
  const std::int64_t blocks = (value.partitions + partitions - 1) / partitions;
  std::vector<std::int64_t> numbers{blocks};
  numbers.insert(numbers.end(), extents.begin(), inner);
  totals_ = b_.scratch(static_cast<int>(std::min(value.partitions, partitions)), numbers,
                       adds() ? isa::DType::f32 : value.dtype, "totals");
}

std::int64_t MapReducer::row_elements() const {
  constexpr std::int64_t least = 128;
  const std::vector<std::int64_t> extents = extents_of(value_, value_.free_axes);
  const std::int64_t row =
      product({extents.begin() + static_cast<std::ptrdiff_t>(kept_), extents.end()});
  return adds() && kept_ > 0 && row >= least ? row : 0;
}

bool MapReducer::is_first(const MapChunk& chunk) const {
  return std::all_of(chunk.free.begin() + static_cast<std::ptrdiff_t>(kept_), chunk.free.end(),
                     [](const Span& span) { return span.begin == 0; });
}

Tile MapReducer::partial(const Tile& total) {
  std::vector<std::int64_t> extents;
  for (const isa::Dim& dim : total.dims) {
    extents.push_back(dim.extent);
  }
  return b_.scratch(total.partitions, extents, total.dtype, "partial");
}

Tile MapReducer::totals_of(const MapChunk& chunk) const {
  const std::int64_t partitions = b_.machine().partitions;
  const std::int64_t first = chunk.partitions.begin / partitions;
  Tile part = totals_;
  for (std::size_t i = 0; i < kept_; ++i) {
    part = slice(part, static_cast<int>(i) + 1, chunk.free[i].begin, chunk.free[i].extent);
  }
  if (chunk.by_blocks) {
    return slice(part, 0, first, chunk.partitions.extent / partitions);
  }
  return slice_partitions(drop_dim(part, 0, first), 0, static_cast<int>(chunk.partitions.extent));
}

// All numbers of the chunk's partitions with the dims of a tile of the result.
Tile MapReducer::totals_like(const Tile& out, MapChunk chunk) const {
  for (const std::int64_t extent : extents_of(value_, value_.free_axes)) {
    chunk.free.push_back({0, extent});
  }
  Tile total = totals_of(chunk);
  const std::size_t blocks = chunk.by_blocks ? 1 : 0;
  std::vector<isa::Dim> dims(total.dims.begin(),
                             total.dims.begin() + static_cast<std::ptrdiff_t>(blocks));
  std::size_t next = blocks;
  for (std::size_t i = blocks; i < out.dims.size(); ++i) {
    if (out.dims[i].extent == 1) {
      dims.push_back({1, 1});
      continue;
    }
    while (total.dims[next].extent == 1) {
      ++next;
    }
    dims.push_back(total.dims[next++]);
  }
  total.dims = std::move(dims);
  return total;
}

std::optional<Tile> MapReducer::sum_of(const MapChunk& chunk) {
  const Tile total = totals_of(chunk);
  if (!adds() || chunk.by_blocks || free_elements(total) > 1) {
    return std::nullopt;
  }
  return is_first(chunk) ? total : partial(total);
}

void MapReducer::add(const MapChunk& chunk, const Tile& values, const std::optional<Tile>& sum) {
  const isa::SourceId before = b_.charge(source_);
  const Tile total = totals_of(chunk);
  const bool first = is_first(chunk);
  const Tile part = sum ? *sum : first ? total : partial(total);
  if (!sum) {
    // All dims but the blocks and those that are kept are one row.
    Tile rows = values;
    const std::size_t kept = kept_ + (chunk.by_blocks ? 1 : 0);
    if (rows.dims.size() == kept) {
      rows.dims.push_back({1, 1});
    }
    b_.reduce(op_, part, rows, static_cast<int>(rows.dims.size() - kept));
  }
  if (!first) {
    b_.tensor_tensor(op_, total, total, part);
  }
  (void)b_.charge(before);
}

void MapReducer::finish() {
  const isa::SourceId before = b_.charge(source_);
  const std::vector<graph::NodeId>& followers = b_.followers(node_);
  if (!followers.empty()) {
    b_.attach(output_.tensor, make_epilogue(b_, followers, output_.tensor));
  }
  // In a few parts, so that what reads the first blocks' numbers need not wait for the last block's; all at once if the
  // numbers take little time to make.
  constexpr std::int64_t parts = 4;
  constexpr std::int64_t long_row = 128;
  const std::int64_t partitions = b_.machine().partitions;
  const std::int64_t blocks = (value_.partitions + partitions - 1) / partitions;
  const bool long_rows = product(extents_of(value_, value_.free_axes)) >= long_row;
  const std::int64_t at_once = long_rows ? (blocks + parts - 1) / parts : blocks;
  for_each_partition_range(
      value_.partitions, partitions, std::max<std::int64_t>(1, at_once),
      [&](Span range, bool by_blocks) {
        Region region{range, {}, by_blocks};
        for (const std::int64_t extent : extents_of(output_, output_.free_axes)) {
          region.free.push_back({0, extent});
        }
        const Tile out = b_.write(output_.tensor, region);
        const Tile total = totals_like(out, {range, by_blocks, {}});
        if (scale_ == 1.0F) {
          b_.copy(out, total);
        } else {
          b_.tensor_scalar(out, total, isa::AluOp::multiply, scale_);
        }
        b_.finish(output_.tensor, region, out);
      });
  b_.detach(output_.tensor);
  (void)b_.charge(before);
}

}  // namespace systole::lower
