// The iteration space of an operator as far as layouts are concerned: its iterators and, for every
// operand, which iterator each axis runs with. Configurations are derived from it
// (configurations/).
//
// Iterators are numbered from 0. Axes of two operands that have the same iterator run together: Map
// aligns broadcast operands from the right, Reduce keeps the input's numbering, Contraction's
// iterators are its labels, movement's are axes. Reshape has no common iterators: its two sides are
// numbered apart.
//
// A Form is a layout in terms of iterators, axes of extent 1 left out: what two operands of
// different shape can be compared by.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/graph/graph.hpp"
#include "compiler/layout/layout.hpp"

namespace systole::layout {

using Iterators = std::vector<int>;

struct IterationSpace {
  std::vector<Iterators>
      operands;       // inputs in argument order, then the output: the iterator of each axis
  int iterators = 0;  // at most 64
};
[[nodiscard]] IterationSpace iteration_space(const graph::Graph& graph, const graph::Node& node);

struct Form {
  Iterators partition;
  Iterators free;
  std::uint64_t mask = 0;  // bit i: iterator i occurs
  bool operator==(const Form&) const = default;
};
[[nodiscard]] Form form_of(const Layout& canonical_layout, const graph::Shape& shape,
                           const Iterators& iterators);
// The canonical layout with the form's orders; iterators that the operand lacks (or has with extent
// 1) are skipped. Every axis of extent other than 1 must be covered.
[[nodiscard]] Layout layout_of(const Form& form, const graph::Shape& shape,
                               const Iterators& iterators);

// Whether the iterators that both have lie on the same side of the split in the same order.
[[nodiscard]] bool agree(const Form& a, const Form& b);
// The form of an operand that agrees with `form`: its order, and what the operand has beyond it
// inserted into the free axes after the operand's preceding axis.
[[nodiscard]] Form induced(const Form& form, const graph::Shape& shape, const Iterators& iterators);

[[nodiscard]] constexpr std::uint64_t bit(int iterator) {
  return std::uint64_t{1} << iterator;
}
[[nodiscard]] std::uint64_t mask_of(const Iterators& iterators);
// Iterators of axes whose extent is not 1, in axis order.
[[nodiscard]] Iterators moving(const graph::Shape& shape, const Iterators& iterators);

}  // namespace systole::layout
