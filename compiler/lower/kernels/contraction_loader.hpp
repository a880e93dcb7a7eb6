// Brings the blocks of one operand into SBUF and hands out the pieces that the array wants.
#pragma once

#include <map>
#include <tuple>

#include "compiler/lower/kernels/contraction_turn.hpp"

namespace systole::lower {

class Loader {
 public:
  // `dtype`: the type in which the operand is multiplied. `whole`: every load takes all free labels
  // in full. `k_steps`: of one k block.
  Loader(Builder& builder, const Space& space, const Placed& placed, isa::DType dtype, bool whole,
         std::int64_t k_steps);

  // The box that loads take from now on. What was loaded for another box is forgotten: its room is
  // free once the last piece of it has been used.
  void begin_block(const Ranges& box);

  // The same where the box stays but other rows come: the next k block.
  void forget();

  // From now on, get() gives this digit of the (whole) numbers: base 256, of `digits` in all, with
  // the number's sign.
  void select_digit(int digit, int digits);

  // Whether the operand is transposed on the way; makes what a later get() will want, if it is.
  [[nodiscard]] bool turns() const { return turner_.has_value(); }
  void prepare(const Span& partitions, const Ranges& box);

  // The rows `partitions` (inside one partition block) of the box, one dim per label of `labels`.
  [[nodiscard]] Tile get(const Span& partitions, const Ranges& box, const Labels& labels);

 private:
  using Key = std::vector<std::int64_t>;

  [[nodiscard]] Ranges load_box(const Ranges& box) const;
  [[nodiscard]] Tile load(std::int64_t block, const Ranges& box);
  [[nodiscard]] Tile digit_of(const Tile& numbers);

  Builder& builder_;
  const Space& space_;
  const Placed& placed_;
  isa::DType dtype_;
  std::optional<Turner> turner_;
  bool whole_;
  int digit_ = 0;
  int digits_ = 1;
  Ranges block_;
  std::map<Key, Tile> loaded_;  // by digit, partition block and ranges of the free labels
};

}  // namespace systole::lower
