// The index space of a contraction as its kernel sees it: which label lies where in each operand,
// and boxes of labels.
//
// The stationary operand is the one whose own labels ("m" here, whichever argument it is) become
// the partitions of the result; the moving operand's own labels ("n") stay free in the result.
// Labels of extent 1 belong to no class; they are ranges [0, 1) wherever they occur.
#pragma once

#include <functional>
#include <limits>
#include <vector>

#include "compiler/lower/builder.hpp"

namespace systole::lower {

using Labels = std::vector<int>;
using Ranges = std::vector<Span>;  // by label: a box of the index space

struct Placed {  // an operand or the result
  graph::TensorId tensor;
  Labels partition_labels;  // in layout order, outermost first
  Labels free_labels;
  std::vector<std::int64_t>
      partition_strides;        // by label, in steps of the linear partition index; 0: not there
  std::int64_t partitions = 1;  // extent of the linear partition index
  std::int64_t padding = 0;
};

struct Space {
  Placed stationary, moving, out;
  std::vector<std::int64_t> extents;  // by label
  Labels batch;   // free batch labels of the stationary operand, then those on its partitions
  Labels m, n;    // in the free order of their operand
  Labels m_rows;  // the m labels on the partitions of the result, in its order
  Labels k_rows;  // the k labels on the partitions of the operands
  Labels k_free;  // in the free order of the stationary operand
  [[nodiscard]] std::int64_t extent(const Labels& labels) const;
  [[nodiscard]] Ranges all() const;  // every label in full
};

// `labels`: of each axis; `count`: more than the largest label.
[[nodiscard]] Placed place_labels(const layout::LaidGraph& laid, graph::TensorId tensor,
                                  const Labels& labels, std::size_t count);
[[nodiscard]] Space space_of(const layout::LaidGraph& laid, const graph::Node& node,
                             const graph::Contraction& op, bool lhs_stationary);

[[nodiscard]] std::int64_t volume(const Ranges& box, const Labels& labels);
[[nodiscard]] Region region_of(const Placed& placed, const Ranges& box, const Span& partitions);
// The linear partition index of the box's first element.
[[nodiscard]] std::int64_t first_partition(const Placed& placed, const Ranges& box);

// Cuts `box` along `labels` (outermost first) into boxes of at most `most` elements of these
// labels: inner labels whole, one label in ranges, outer labels one by one. In order of
// enumeration.
[[nodiscard]] std::vector<Ranges> cut(const Ranges& box, const Labels& labels, std::int64_t most);

// Boxes as large as possible that fall into at most `tiles` boxes of at most `most` elements when
// cut again.
[[nodiscard]] std::vector<Ranges> cut_for_tiles(const Ranges& box, const Labels& labels,
                                                std::int64_t most, std::int64_t tiles);

// A tile over the free labels of `placed`, restricted to the box (both boxes in full coordinates;
// `held` is what the tile holds), with one dim for each of `labels` in that order. Other free
// labels must have extent 1 in the box.
[[nodiscard]] Tile piece(const Tile& tile, const Placed& placed, const Ranges& held,
                         const Ranges& box, const Labels& labels);

// Cuts a range of linear partition indices where an operand has to end: at partition blocks, and so
// that each part starts where its size may start. A start that no size may have is left to the
// caller (it is staged). Parts are at most `most` long.
[[nodiscard]] std::vector<Span> legal_parts(
    const isa::Machine& machine, const Span& range,
    std::int64_t most = std::numeric_limits<std::int64_t>::max());
// The same for the result's partitions: at most as many as the array has columns.
[[nodiscard]] std::vector<Span> column_parts(const isa::Machine& machine, const Span& range);

// In which type two operands are multiplied: f32 if both are stored so in a graph without bf16;
// where operators round to bf16, so do products.
[[nodiscard]] isa::DType product_type(const layout::LaidGraph& laid, graph::TensorId a,
                                      graph::TensorId b);

// How many products of so many columns the array works on at once, side by side in tiles of its
// columns, and the columns (and partitions of PSUM) from one to the next.
struct ColumnTiles {
  std::int64_t count = 1;
  std::int64_t distance = 0;
};
[[nodiscard]] ColumnTiles column_tiles(const isa::Machine& machine, std::int64_t columns);

// Elements that lie contiguously in HBM when the box is read, per row.
[[nodiscard]] std::int64_t run_length(const Placed& placed, const Space& space, const Ranges& box);

}  // namespace systole::lower
