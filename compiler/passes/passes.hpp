// Rewriting graphs into canonical form. Every pass takes a graph that has passed verify and leaves
// one that passes verify and has the same inputs, outputs, output names and values; it returns how
// many rewrites it made. Each also drops what no output needs and renumbers: inputs first, then
// constants, then results in node order.
//
// No pass evaluates anything that depends on a graph input. Origins survive: a node that does the
// work of several carries their origins joined by '+'. Convert nodes are left alone (layouts are
// chosen later).
//
// Values are equal bit for bit except: signs of zeros (x + 0 is x), reciprocal(sqrt(x)) as rsqrt(x)
// (one rounding less), delay_divisions, and fold_scales (an option).
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "compiler/graph/graph.hpp"

namespace systole::passes {

struct Options {
  // Folding may always make constants of up to so many elements; larger ones only while all
  // constants together stay below fold_total elements (0: twice what the graph has, or fold_growth
  // more if that is larger; canonicalize fixes it once).
  std::int64_t fold_always = 256;
  std::int64_t fold_growth = std::int64_t{1} << 24;
  std::int64_t fold_total = 0;
  std::int64_t fold_products = std::int64_t{1} << 28;  // arithmetic operations per folded node
  bool fold_scales = false;                            // see fold_scales below
#ifdef NDEBUG
  bool verify_each = false;
#else
  bool verify_each = true;  // a fault after a pass is a bug of ours and stops
#endif
};

// Nodes and constants that no output depends on.
std::int64_t remove_dead(graph::Graph& graph, const Options& options);

// Nodes whose operands are all constants become constants; without data if an operand has none.
// Throws Error if such a node cannot be computed (an index out of range).
std::int64_t fold_constants(graph::Graph& graph, const Options& options);

// Copies, casts to the same type, movements that move nothing, reductions and concatenations of one
// element or part, empty parts of a concatenation.
std::int64_t drop_identities(graph::Graph& graph, const Options& options);

// A transpose, reshape, slice or expand of another of its kind reads the other's operand. Each
// rewrite shortens a chain.
std::int64_t merge_movement(graph::Graph& graph, const Options& options);

// A zero pad in front of a convolution or pooled sum, and one by minus infinity in front of a
// pooled maximum, become its own padding.
std::int64_t merge_pads(graph::Graph& graph, const Options& options);

// A gather by evenly spaced constant indices is a slice.
std::int64_t slice_gathers(graph::Graph& graph, const Options& options);

// Operands of maps are read without a preceding expand, and splat constants as scalars, where the
// result keeps its shape.
std::int64_t narrow_operands(graph::Graph& graph, const Options& options);

// Maps with neutral, repeated or constant operands: x + 0, x * 1, x * x, power 2, maximum with 0,
// double negation, choice by a constant, rsqrt.
std::int64_t simplify_maps(graph::Graph& graph, const Options& options);

// Equal operators on equal operands are computed once; equal constants of one element, and equal
// small tables of integers, are one. Weights stay apart even if they are equal.
std::int64_t merge_duplicates(graph::Graph& graph, const Options& options);

// Multiplication by a constant per output channel behind a convolution or contraction with constant
// weights goes into the weights (batch normalisation); an addition in between is passed, two
// additions of constants become one. Only across results that nothing else reads. Rounds
// differently.
std::int64_t fold_scales(graph::Graph& graph, const Options& options);

// A power of two behind a product to which a tensor is added (a mask to scores) goes to the product's smaller operand.
std::int64_t advance_scales(graph::Graph& graph, const Options& options);

// The division of a softmax moves behind a product that its shares are an operand of, where the product is read
// undivided by nothing else. Rounds differently.
std::int64_t delay_divisions(graph::Graph& graph, const Options& options);

// Elements of all constants.
[[nodiscard]] std::int64_t constant_elements(const graph::Graph& graph);

struct Pass {
  std::string_view name;
  std::string_view description;
  std::int64_t (*run)(graph::Graph&, const Options&);
};
// All passes in the order of the pipeline.
[[nodiscard]] const std::vector<Pass>& all_passes();

struct Step {
  std::string_view pass;
  std::int64_t rewrites = 0;
};
// All passes in order (fold_scales only if asked for) until a whole round changes nothing. `steps`,
// if given, gets one entry per pass and round.
[[nodiscard]] graph::Graph canonicalize(graph::Graph graph, const Options& options = {},
                                        std::vector<Step>* steps = nullptr);

}  // namespace systole::passes
