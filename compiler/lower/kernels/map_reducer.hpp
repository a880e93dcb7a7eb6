// A reduction of what a chain of maps makes, chunk by chunk: one number for each index of the partitions and of the free
// axes outside the reduced ones. All numbers wait side by side (sums in fp32); at the end they are scaled, rounded and
// handed on.
#pragma once

#include <optional>

#include "compiler/lower/kernels/map_operands.hpp"

namespace systole::lower {

class MapReducer {
 public:
  MapReducer(Builder& builder, graph::NodeId node, const Operand& value);

  [[nodiscard]] bool adds() const { return op_ == isa::AluOp::add; }
  // Elements of a row of which an instruction may make the sum, if a partition has several rows of a useful length.
  [[nodiscard]] std::int64_t row_elements() const;
  // The element per partition that may take the sum of this chunk's elements; nothing if it needs more than one.
  [[nodiscard]] std::optional<Tile> sum_of(const MapChunk& chunk);
  // The chunk's values; sum: their sums, if some instruction has made them.
  void add(const MapChunk& chunk, const Tile& values, const std::optional<Tile>& sum);
  void finish();

 private:
  // The numbers of the chunk: [blocks] if by blocks, then the free axes that are kept.
  [[nodiscard]] Tile totals_of(const MapChunk& chunk) const;
  [[nodiscard]] Tile totals_like(const Tile& out, MapChunk chunk) const;
  [[nodiscard]] Tile partial(const Tile& total);
  // Whether the chunk has the first of the elements that are reduced.
  [[nodiscard]] bool is_first(const MapChunk& chunk) const;

  Builder& b_;
  graph::NodeId node_;
  Operand value_;
  Operand output_;
  isa::AluOp op_ = isa::AluOp::add;
  float scale_ = 1.0F;
  isa::SourceId source_;
  std::size_t kept_ = 0;  // free axes of the value that the result has too, all outside the others
  Tile totals_;           // [blocks, kept]
};

}  // namespace systole::lower
