// What a layout is. For a tensor of rank k: a permutation of its axes, a split point and padding.
//
//   order[0 .. split)  : the partition axes, linearised row-major across the partitions (usually one axis, possibly a
//                        group such as heads x head_dim, possibly none: everything in one partition)
//   order[split .. k)  : the free axes, outermost first, inside each partition
//   padding            : elements appended to the innermost free axis of extent other than 1 (never read as data)
//
// An element with partition index p (over the partition axes) lies in partition p mod 128, block p div 128 on chip; in
// HBM storage is row-major over `order` (partition-major), so the split makes no difference there.
//
// Extent-1 axes move no bytes. The canonical form lists them last, ascending, outside the split; two layouts of one
// tensor are the same bytes iff their canonical forms are equal (all layouts of an empty tensor are). Printed "(1 2|0 3)", with "+4" for padding.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compiler/graph/graph.hpp"
#include "isa/transposition.hpp"

namespace systole::layout {

struct Layout {
  std::vector<int> order;
  int split = 0;
  std::int64_t padding = 0;
  auto operator<=>(const Layout&) const = default;
};

// Whether `order` is a permutation of the shape's axes and split and padding are in range.
[[nodiscard]] bool fits(const Layout& layout, const graph::Shape& shape);
[[nodiscard]] Layout row_major(int rank, int split);               // identity order
[[nodiscard]] Layout canonical(const Layout& layout, const graph::Shape& shape);
[[nodiscard]] bool same_bytes(const Layout& a, const Layout& b, const graph::Shape& shape);  // on chip
[[nodiscard]] bool same_bytes_in_hbm(const Layout& a, const Layout& b, const graph::Shape& shape);
// Axes in ascending order (extent-1 axes apart), no padding: row-major in HBM, whatever the split.
[[nodiscard]] bool identity_order(const Layout& layout, const graph::Shape& shape);

[[nodiscard]] std::int64_t partition_extent(const Layout& layout, const graph::Shape& shape);
[[nodiscard]] std::int64_t free_extent(const Layout& layout, const graph::Shape& shape);  // padding included
[[nodiscard]] std::int64_t blocks(const Layout& layout, const graph::Shape& shape, int partitions);

// Long (extent > 1) partition axes, in order.
[[nodiscard]] std::vector<int> partition_axes(const Layout& layout, const graph::Shape& shape);
// If every element lies in the same of so many partitions under both: how many of their last long partition axes they
// share. Either all of them, or those make up whole blocks, so that the axes before them choose between blocks only.
[[nodiscard]] std::optional<std::size_t> kept_partition_axes(const Layout& a, const Layout& b,
                                                             const graph::Shape& shape, int partitions);

// If the DMA engines' transposing path turns one into the other: what it consists of, whole (isa/transposition.hpp). The
// innermost free axis becomes the innermost partition axis, and that the innermost free one.
[[nodiscard]] std::optional<isa::Transposition> transposition_of(const Layout& from, const Layout& to,
                                                                 const graph::Shape& shape);

struct Place {
  std::int64_t partition = 0;  // linear index over the partition axes
  std::int64_t free = 0;       // element offset in the free dimension
  bool operator==(const Place&) const = default;
};
[[nodiscard]] Place place(const Layout& layout, const graph::Shape& shape, const std::vector<std::int64_t>& index);

// The layout of the output of a Transpose / Reshape (and Squeeze-like) whose bytes are those of `input` laid out so;
// nothing if no layout of the output has the same bytes. Inverse likewise.
[[nodiscard]] Layout through_transpose(const Layout& input, const std::vector<int>& perm);
[[nodiscard]] Layout back_through_transpose(const Layout& output, const std::vector<int>& perm);
[[nodiscard]] std::optional<Layout> through_reshape(const Layout& input, const graph::Shape& from, const graph::Shape& to);

[[nodiscard]] std::string to_string(const Layout& layout);
[[nodiscard]] std::optional<Layout> parse_layout(const std::string& text);

}  // namespace systole::layout
