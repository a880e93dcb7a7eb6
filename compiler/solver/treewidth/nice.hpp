// Nice tree decompositions: every step changes the bag by one vertex, or joins two equal bags.
//
// Nodes are listed children first; the last node is the root and has an empty bag.
#pragma once

#include <vector>

#include "compiler/solver/treewidth/graph.hpp"

namespace systole::solver::treewidth {

enum class NiceKind { leaf, introduce, forget, join };

struct NiceNode {
  NiceKind kind = NiceKind::leaf;
  int vertex = -1;       // introduced or forgotten
  std::vector<int> bag;  // sorted
  int left = -1;         // child; -1 for a leaf
  int right = -1;        // second child of a join
};

// From an elimination order, with the width of that order.
std::vector<NiceNode> nice_decomposition(const Graph& graph, const std::vector<int>& order);

}  // namespace systole::solver::treewidth
