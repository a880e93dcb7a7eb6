// Elementwise operators: chunks of the output's free axes by ranges of its partitions; for each, the operands as tiles
// and a few instructions. Chunks are the outer loop: an operand that does not depend on the partitions is loaded once.
// Maps that follow run on the same chunk, and only the last result is stored.
#include <algorithm>

#include "compiler/lower/kernels/chunks.hpp"
#include "compiler/lower/kernels/map_chain.hpp"
#include "isa/base/error.hpp"

namespace systole::lower {

void lower_map(Builder& builder, graph::NodeId node) {
  std::vector<graph::NodeId> nodes{node};
  const std::vector<graph::NodeId>& followers = builder.followers(node);
  nodes.insert(nodes.end(), followers.begin(), followers.end());
  MapChain chain(builder, nodes, {});
  const Operand& output = chain.output();
  const std::int64_t limit = chunk_elements(builder, chain.bytes());
  const std::int64_t partitions = builder.machine().partitions;
  // With a number per partition, one instruction per block keeps the cheap scalar form; over several blocks at once the
  // numbers are a second operand. That pays only if a block is short.
  constexpr std::int64_t long_block = 128;
  for_each_chunk(extents_of(output, output.free_axes), limit, [&](const std::vector<Span>& free) {
    const bool together =
        chain.reads_blocks() && !(chain.has_partition_scalars() && elements_of(free) >= long_block);
    const std::int64_t blocks = together ? std::max<std::int64_t>(1, limit / elements_of(free)) : 1;
    for_each_partition_range(output.partitions, partitions, blocks,
                             [&](Span range, bool by_blocks) {
                               const Region region{range, free, by_blocks};
                               const Tile out = builder.write(output.tensor, region);
                               chain.run({range, by_blocks, free}, std::nullopt, out);
                               builder.finish(output.tensor, region, out);
                             });
  });
}

}  // namespace systole::lower
