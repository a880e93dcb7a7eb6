// Cutting iteration spaces: chunks of free axes that fit staging room, boxes of a linear partition range.
#pragma once

#include <functional>
#include <vector>

#include "compiler/lower/builder.hpp"

namespace systole::lower {

// Covers the box of these extents by sub-boxes of at most `limit` elements (at least one): inner axes whole as far as
// possible, one axis cut, outer axes one index at a time. In row-major order; every chunk is a contiguous range of it.
// even: pieces of equal size rather than one small remainder (cuts then fall anywhere).
void for_each_chunk(const std::vector<std::int64_t>& extents, std::int64_t limit,
                    const std::function<void(const std::vector<Span>&)>& f, bool even = true);

// A contiguous range of the row-major order of `extents` as boxes, in order. offset: elements of the range before it.
struct Box {
  std::int64_t offset = 0;
  std::vector<Span> spans;
};
[[nodiscard]] std::vector<Box> boxes_of(const std::vector<std::int64_t>& extents, std::int64_t begin, std::int64_t count);

// Covers [0, extent) of a linear partition index by ranges that lie in one block: groups of whole blocks, at most
// `blocks` at a time (>= 1), then the rest.
void for_each_partition_range(std::int64_t extent, std::int64_t partitions, std::int64_t blocks,
                              const std::function<void(Span, bool by_blocks)>& f);

[[nodiscard]] std::int64_t product(const std::vector<std::int64_t>& values);
[[nodiscard]] std::int64_t elements_of(const std::vector<Span>& spans);

// What kernels ask about a tensor again and again.
struct Operand {
  graph::TensorId tensor;
  graph::Shape shape;
  isa::DType dtype = isa::DType::f32;
  std::vector<int> partition_axes;  // layout order
  std::vector<int> free_axes;
  std::int64_t partitions = 1;      // extent of the linear partition index
  bool resident = false;
};
[[nodiscard]] Operand operand_of(const Builder& builder, graph::TensorId tensor);
[[nodiscard]] std::vector<std::int64_t> extents_of(const Operand& operand, const std::vector<int>& axes);
// Position of an axis in a list; -1 if it is not there.
[[nodiscard]] int position_of(const std::vector<int>& axes, int axis);

// Those of the axes whose extent is over 1.
[[nodiscard]] std::vector<int> long_axes(const graph::Shape& shape, const std::vector<int>& axes);
// The piece of an operand with one span per logical axis.
[[nodiscard]] Region region_of(const Operand& operand, Span partitions, const std::vector<Span>& spans, bool by_blocks);

// Elements per partition of one chunk such that two chunks fit into the kernel's staging room, each element taking
// `bytes` of it; not more than make one transfer and one instruction efficient. bytes = 0: nothing is staged.
[[nodiscard]] std::int64_t chunk_elements(const Builder& builder, std::int64_t bytes);

}  // namespace systole::lower
