// A reduction of what a chain of maps makes, chunk by chunk: one number for each index of the partitions. The numbers of
// all partition blocks wait side by side (sums in fp32); at the end they are scaled, rounded and handed on.
#pragma once

#include <optional>

#include "compiler/lower/kernels/map_operands.hpp"

namespace systole::lower {

class MapReducer {
 public:
  MapReducer(Builder& builder, graph::NodeId node, const Operand& value);

  [[nodiscard]] bool adds() const { return op_ == isa::AluOp::add; }
  // The element per partition that may take the sum of this chunk's elements; nothing if it needs more than one.
  [[nodiscard]] std::optional<Tile> sum_of(const MapChunk& chunk);
  // The chunk's values; sum: their sums, if some instruction has made them.
  void add(const MapChunk& chunk, const Tile& values, const std::optional<Tile>& sum);
  void finish();

 private:
  // The numbers of the chunk's partitions: [blocks] if by blocks.
  [[nodiscard]] Tile totals_of(const MapChunk& chunk) const;
  [[nodiscard]] Tile partial(const Tile& total);

  Builder& b_;
  graph::NodeId node_;
  Operand value_;
  Operand output_;
  isa::AluOp op_ = isa::AluOp::add;
  float scale_ = 1.0F;
  isa::SourceId source_;
  Tile totals_;  // [blocks]
};

}  // namespace systole::lower
