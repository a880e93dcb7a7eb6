// An operand that the array transposes on the way to the product: a conversion made inside the
// kernel of the product that uses its result, piece by piece, so that the result is never stored.
//
// `to` has the operand's own axis free and the contracted axis on the partitions; the conversion's
// source has them the other way round. A unit is the range of the own axis that one instruction
// takes, by as many blocks of the contracted axis as fit one PSUM bank: it is transposed tile by
// tile, evicted at once, and kept until the rows it serves have been used.
#pragma once

#include <map>
#include <optional>
#include <utility>

#include "compiler/lower/kernels/contraction_space.hpp"

namespace systole::lower {

class Turner {
 public:
  // Of a tensor that fusion has left to its consumer (is not stored); nothing for any other.
  // `blocks`: of the contracted axis that are used between two calls of forget().
  static std::optional<Turner> of(Builder& builder, const Space& space, const Placed& to,
                                  isa::DType dtype, std::int64_t blocks);

  // The block of the contracted axis with the range of `box`, one dim per label of `labels`.
  [[nodiscard]] Tile get(std::int64_t block, const Ranges& box, const Labels& labels);
  // Makes it if it is not there yet, for a later get.
  void prepare(std::int64_t block, const Ranges& box);
  // What has been used is used no more.
  void forget();

 private:
  struct Unit {
    std::int64_t first_block = 0;
    Tile tile;  // [blocks, own]
    bool used = false;
  };
  struct Piece {  // of the source
    std::int64_t begin = -1;
    std::int64_t extent = 0;
    Tile tile;
  };
  using Key = std::pair<std::int64_t, std::int64_t>;  // first own element, first block

  Turner(Builder& builder, const Space& space, const Placed& to, isa::DType dtype,
         std::int64_t blocks);

  [[nodiscard]] Unit& unit(std::int64_t block, const Span& own);
  [[nodiscard]] Tile turn(std::int64_t first_block, std::int64_t blocks, const Span& own);
  [[nodiscard]] Tile source(const Span& own, std::int64_t begin, std::int64_t extent);
  [[nodiscard]] std::int64_t rows_of_block(std::int64_t block) const;

  Builder& builder_;
  graph::TensorId from_;
  isa::SourceId charged_;
  isa::DType dtype_;
  std::int64_t blocks_;
  int own_label_ = 0;
  std::vector<int> from_free_;  // axes
  int contracted_axis_ = 0;
  std::int64_t contracted_ = 1;  // extent
  std::map<Key, Unit> units_;
  std::map<std::int64_t, Piece> pieces_;  // by first own element: the last one read
};

// Elements of a row of the source that are read at once.
[[nodiscard]] std::int64_t turned_row(const isa::Machine& machine, std::int64_t contracted);

}  // namespace systole::lower
