// Which axes of a graph's tensors are one logical dimension: what runs together in some operator, transitively. A hint for
// heuristic strategies (solver::Tensor::groups); it never changes a cost.
#pragma once

#include <vector>

#include "compiler/graph/graph.hpp"
#include "compiler/layout/layout.hpp"

namespace systole::layout {

// Group of every axis, numbered in order of appearance; -1 for axes of extent 1. A reshape that merges or splits axes
// identifies the outermost ones of each part.
[[nodiscard]] IdVector<graph::TensorId, std::vector<int>> dimension_groups(const graph::Graph& graph);
// The group that a layout is about: that of its outermost partition axis; -1 if everything lies in one partition.
[[nodiscard]] int group_of(const Layout& layout, const std::vector<int>& axis_groups);

}  // namespace systole::layout
