// Text and Graphviz forms of a graph.
//
//   graph 1 "name"                                first statement: format version, the graph's name
//   input %0 f32[1,3,8,8] "x"                     in the graph's order of inputs
//   constant %1 f32[4] "b" = [0.5, -1, 2, inf]    values in row-major order
//   constant %2 f32[4,3,3,3] "w" = splat 0.25     one value everywhere
//   constant %3 f32[1000,4096] "fc" = omitted 89abcdef01234567    left out; hash of type, shape, bytes
//   constant %4 f32[64] "g" = absent              no values in the graph either
//   node %5 f32[1,4,6,6] "conv" = convolution(%0, %2) strides=[1,1] pads_low=[0,0] origin="Conv_12"
//                                                 (one line) origin and tensor name if unlike the node's
//   output %5 "y"                                 in the graph's order of outputs
//
// One statement per line; '#' starts a comment. %words name tensors: if they are exactly 0 .. n-1
// they are the ids, else ids follow the order of the lines. Attributes left out have the defaults
// of op.hpp. Maps are written by their function: add(%1, %2), clip(%1) alpha=0 beta=6.
//
// parse(print(g)) is g, ids included, if no constant was omitted (inline_limit) and no NaN carries
// a payload; an omitted constant comes back without data.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <string_view>

#include "compiler/graph/graph.hpp"

namespace systole::graph {

struct PrintOptions {
  std::int64_t inline_limit = 16;  // constants with more elements are splat or omitted
  // Text put behind a tensor's line as a comment (its layout, its cost); none if empty or null.
  std::function<std::string(TensorId)> note;
};
inline constexpr std::int64_t print_everything = std::numeric_limits<std::int64_t>::max();

[[nodiscard]] std::string print(const Graph& graph, const PrintOptions& options = {});

// name appears in errors only ("name:line"). The result has passed verify; the first fault is
// thrown as Error.
[[nodiscard]] Graph parse(std::string_view text, std::string_view name);

// Graphviz: one box per node with kind and shape, constants left out unless they are outputs.
[[nodiscard]] std::string print_dot(const Graph& graph, const PrintOptions& options = {});

// FNV-1a over type, shape and bytes.
[[nodiscard]] std::uint64_t hash_of(const Array& array);

// "convolution strides=[1,1] ...", without operands.
[[nodiscard]] std::string to_string(const Op& op);

}  // namespace systole::graph
