// Elementwise operators: chunks of the output's free axes by ranges of its partitions; for each, the operands as tiles
// and a few instructions. Chunks are the outer loop: an operand that does not depend on the partitions is loaded once.
// Maps that follow run on the same chunk, and only the last result is stored. Reductions of it are made on the way.
#include <algorithm>

#include "compiler/lower/kernels/chunks.hpp"
#include "compiler/lower/kernels/map_chain.hpp"
#include "compiler/lower/kernels/map_reducer.hpp"
#include "isa/base/error.hpp"

namespace systole::lower {
namespace {

// Where the chunk's result goes if nothing stores it.
Tile unstored(Builder& builder, const Operand& output, const MapChunk& chunk) {
  std::vector<std::int64_t> extents;
  const std::int64_t partitions = builder.machine().partitions;
  if (chunk.by_blocks) {
    extents.push_back(chunk.partitions.extent / partitions);
  }
  for (const Span& span : chunk.free) {
    extents.push_back(span.extent);
  }
  return builder.scratch(static_cast<int>(std::min(chunk.partitions.extent, partitions)), extents,
                         output.dtype, "value before a reduction");
}

}  // namespace

void lower_map(Builder& builder, graph::NodeId node) {
  std::vector<graph::NodeId> nodes{node};
  const std::vector<graph::NodeId>& followers = builder.followers(node);
  nodes.insert(nodes.end(), followers.begin(), followers.end());
  MapChain chain(builder, nodes, {});
  const Operand& output = chain.output();
  std::vector<MapReducer> reducers;
  for (const graph::NodeId reduction : builder.reducers(node)) {
    reducers.emplace_back(builder, reduction, output);
  }
  const bool stored = builder.is_stored(output.tensor);
  // Rows that see one number per partition, or are added up on the way, are chunks.
  std::int64_t row = chain.row_elements();
  for (const MapReducer& reducer : reducers) {
    if (row == 0 && chain.ends_in_function()) {
      row = reducer.row_elements();
    }
  }
  const std::int64_t room = chunk_elements(builder, chain.bytes());
  const std::int64_t limit = row > 0 ? std::min(row, room) : room;
  const std::int64_t partitions = builder.machine().partitions;
  // With a number per partition, one instruction per block keeps the cheap scalar form; over several blocks at once the
  // numbers are a second operand. That pays only if a block is short.
  constexpr std::int64_t long_block = 128;
  const bool by_partition = chain.has_partition_scalars() || !reducers.empty();
  for_each_chunk(extents_of(output, output.free_axes), limit, [&](const std::vector<Span>& free) {
    const bool together =
        chain.reads_blocks() && !(by_partition && elements_of(free) >= long_block);
    const std::int64_t blocks = together ? std::max<std::int64_t>(1, limit / elements_of(free)) : 1;
    for_each_partition_range(
        output.partitions, partitions, blocks, [&](Span range, bool by_blocks) {
          const MapChunk chunk{range, by_blocks, free};
          const Region region{range, free, by_blocks};
          const Tile out =
              stored ? builder.write(output.tensor, region) : unstored(builder, output, chunk);
          std::optional<Tile> sum;
          for (MapReducer& reducer : reducers) {
            sum = sum ? sum : reducer.sum_of(chunk);
          }
          const bool summed = chain.run(chunk, std::nullopt, out, sum);
          bool taken = !summed;
          for (MapReducer& reducer : reducers) {
            const bool has_sum = !taken && reducer.adds();
            taken = taken || has_sum;
            reducer.add(chunk, out, has_sum ? sum : std::nullopt);
          }
          if (stored) {
            builder.finish(output.tensor, region, out);
          }
        });
  });
  for (MapReducer& reducer : reducers) {
    reducer.finish();
  }
}

}  // namespace systole::lower
