// Elementwise operators: chunks of the output's free axes by ranges of its partitions; for each, the operands as tiles
// and a few instructions. Chunks are the outer loop: an operand that does not depend on the partitions is loaded once.
#include "compiler/lower/kernels/chunks.hpp"
#include "compiler/lower/kernels/map_emit.hpp"
#include "compiler/lower/kernels/map_operands.hpp"
#include "isa/base/error.hpp"

namespace systole::lower {

void lower_map(Builder& builder, graph::NodeId node_id) {
  const graph::Node& node = builder.laid().graph.nodes[node_id];
  const auto& op = std::get<graph::Map>(node.op);
  const Operand output = operand_of(builder, node.output);
  std::vector<MapReader> readers;
  std::int64_t bytes = map_temporary_bytes(op.function, output.dtype);
  bytes += output.resident ? 0 : isa::size_of(output.dtype);
  bool reads_blocks = true;
  for (const graph::TensorId input : node.inputs) {
    readers.emplace_back(builder, input, output);
    bytes += readers.back().staged_bytes();
    reads_blocks = reads_blocks && readers.back().reads_blocks();
  }
  const std::int64_t limit = chunk_elements(builder, bytes);
  const std::int64_t partitions = builder.machine().partitions;
  for_each_chunk(extents_of(output, output.free_axes), limit, [&](const std::vector<Span>& free) {
    const std::int64_t blocks =
        reads_blocks ? std::max<std::int64_t>(1, limit / elements_of(free)) : 1;
    for_each_partition_range(output.partitions, partitions, blocks,
                             [&](Span range, bool by_blocks) {
                               const MapChunk chunk{range, by_blocks, free};
                               std::vector<MapInput> inputs;
                               for (MapReader& reader : readers) {
                                 inputs.push_back(reader.read(chunk));
                               }
                               const Region region{range, free, by_blocks};
                               const Tile out = builder.write(node.output, region);
                               emit_map(builder, op, out, inputs);
                               builder.finish(node.output, region, out);
                             });
  });
}

}  // namespace systole::lower
