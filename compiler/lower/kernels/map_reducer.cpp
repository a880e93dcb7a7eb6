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

// The chunks of one range of partitions start with the first free elements.
bool is_first(const MapChunk& chunk) {
  return std::ranges::all_of(chunk.free, [](const Span& span) { return span.begin == 0; });
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
  if (op.function == graph::ReduceFunction::mean) {
    scale_ = 1.0F / static_cast<float>(product(extents_of(value, value.free_axes)));
  }
  const std::int64_t partitions = builder.machine().partitions;
  const std::int64_t blocks = (value.partitions + partitions - 1) / partitions;
  totals_ = b_.scratch(static_cast<int>(std::min(value.partitions, partitions)), {blocks},
                       adds() ? isa::DType::f32 : value.dtype, "totals");
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
  if (chunk.by_blocks) {
    return slice(totals_, 0, first, chunk.partitions.extent / partitions);
  }
  return slice_partitions(drop_dim(totals_, 0, first), 0,
                          static_cast<int>(chunk.partitions.extent));
}

std::optional<Tile> MapReducer::sum_of(const MapChunk& chunk) {
  if (!adds() || chunk.by_blocks) {
    return std::nullopt;
  }
  const Tile total = totals_of(chunk);
  return is_first(chunk) ? total : partial(total);
}

void MapReducer::add(const MapChunk& chunk, const Tile& values, const std::optional<Tile>& sum) {
  const isa::SourceId before = b_.charge(source_);
  const Tile total = totals_of(chunk);
  const bool first = is_first(chunk);
  const Tile part = sum ? *sum : first ? total : partial(total);
  if (!sum) {
    // All dims but the blocks are one row.
    Tile rows = values;
    const std::size_t kept = chunk.by_blocks ? 1 : 0;
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
  const std::int64_t partitions = b_.machine().partitions;
  for_each_partition_range(
      value_.partitions, partitions, value_.partitions, [&](Span range, bool by_blocks) {
        const Region region{range, std::vector<Span>(output_.free_axes.size(), Span{0, 1}),
                            by_blocks};
        const Tile out = b_.write(output_.tensor, region);
        Tile total = totals_of({range, by_blocks, {}});
        total.dims.resize(out.dims.size(), isa::Dim{1, 1});
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
