// What convolution kernels keep in SBUF: blocks of the image and of the filters, and pieces of them
// for the array.
#pragma once

#include <map>
#include <utility>

#include "compiler/lower/kernels/convolution_space.hpp"

namespace systole::lower {

// A tile with a label for each dim and the range of it that the tile holds.
struct LabelledTile {
  Tile tile;
  Placed dims;  // only free_labels are used
  Ranges held;
};
[[nodiscard]] Tile piece_of(const LabelledTile& from, const Ranges& box, const Labels& labels);

// Where the rows (kernel position of the first axis x channel) of a folded convolution lie: spread
// evenly over the array's rows, because transfers are as fast as the partitions that they fill are
// many. Rows in between hold zeros.
class FoldedRows {
 public:
  FoldedRows(const isa::Machine& machine, const ConvSpace& space);

  [[nodiscard]] int partitions() const;  // from the first row to the last
  [[nodiscard]] int partition(std::int64_t k, std::int64_t channel) const;
  [[nodiscard]] bool have_gaps() const;
  [[nodiscard]] std::int64_t together() const;  // channels on neighbouring partitions: all, or one

 private:
  std::int64_t channels_;
  std::int64_t rows_;
  std::int64_t distance_;
};

// Blocks of x with channels on the partitions. Folded: each of the first axis's kernel positions
// has its own rows (position x channels), already shifted, so that one pass serves them all; that
// axis then counts outputs.
class ImageBlocks {
 public:
  ImageBlocks(Builder& builder, const ConvSpace& space, isa::DType dtype, bool folded);

  // The output box that the following pieces are for; loads of other boxes are forgotten.
  void begin(const Ranges& outputs);
  // x as seen by `outputs` (inside the box, valid for the position) through one kernel position;
  // one dim per label.
  [[nodiscard]] Tile piece(std::int64_t partition_block, const Ranges& outputs,
                           const std::vector<std::int64_t>& position, const Labels& labels);
  // Bytes per partition of one partition block of an output box.
  [[nodiscard]] std::int64_t bytes(const Ranges& outputs) const;

 private:
  [[nodiscard]] Ranges inputs_of(const Ranges& outputs) const;
  [[nodiscard]] LabelledTile load(std::int64_t partition_block);
  [[nodiscard]] LabelledTile load_folded();
  void clear_padding(const Tile& tile, int row_dim);
  void load_position(const Tile& part, int row_dim, const Ranges& inputs, std::int64_t k,
                     std::int64_t channel);

  Builder& builder_;
  const ConvSpace& space_;
  isa::DType dtype_;
  bool folded_;
  Ranges outputs_;
  std::map<std::int64_t, LabelledTile> loaded_;
};

// Blocks of w with input channels on the partitions, as weights: [rows, filters] for every kernel
// position. Groups: the rows are a whole partition block of x, and filters of other groups have
// zeros there (block-diagonal weights).
class FilterBlocks {
 public:
  FilterBlocks(Builder& builder, const ConvSpace& space, isa::DType dtype, bool folded);

  void begin(const Span& filters);
  [[nodiscard]] Tile piece(std::int64_t partition_block, const Span& filters,
                           const std::vector<std::int64_t>& position);
  [[nodiscard]] std::int64_t bytes(std::int64_t filters) const;  // of one partition block

 private:
  [[nodiscard]] LabelledTile load(std::int64_t partition_block);
  [[nodiscard]] LabelledTile load_grouped(std::int64_t partition_block);
  [[nodiscard]] LabelledTile load_folded();

  Builder& builder_;
  const ConvSpace& space_;
  isa::DType dtype_;
  bool folded_;
  Span filters_;
  std::map<std::int64_t, LabelledTile> loaded_;
};

}  // namespace systole::lower
