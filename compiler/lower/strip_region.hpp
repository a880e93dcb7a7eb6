// Regions that can be evaluated strip by strip: operators that share one parallel iterator (never contracted, never
// reduced), so that each strip of the region's outputs needs only that strip of what lies between its operators.
//
// A region grows from a tensor that does not stay in SBUF, along one of its axes, over producers and consumers of such
// tensors. What enters it is either read in strips along the iterator or, lacking it, read whole by every strip.
#pragma once

#include <map>
#include <vector>

#include "compiler/lower/stages.hpp"
#include "compiler/lower/strip.hpp"

namespace systole::lower {

// The iterator in one tensor: its axis (-1: lacks it), and how many elements of that make one of the iterator.
struct StripAxis {
  int axis = -1;
  std::int64_t factor = 1;
  bool operator==(const StripAxis&) const = default;
};

struct StripRegion {
  std::vector<graph::NodeId> nodes;  // ascending
  std::map<graph::TensorId, int>
      axes;  // the iterator's axis in every operand of the nodes; -1: lacks it
  std::map<graph::TensorId, std::int64_t> factors;  // of axes that the iterator is a part of
  std::vector<graph::TensorId> inputs;              // read by nodes, made outside; ascending
  std::vector<graph::TensorId> outputs;  // made by nodes, read outside or outputs of the graph
  std::map<graph::NodeId, int>
      stages;  // of the nodes: changes between product and vector work before them
  std::vector<graph::TensorId> pinned;  // inputs without the iterator to be loaded once
  std::vector<graph::TensorId>
      loaded;  // inputs with it whose strips are to be loaded once, a turn ahead (stage 0)
  std::vector<graph::TensorId> held;  // inputs that the first strip loads for all
  bool rows = false;                  // found between products
  std::int64_t extent = 0;            // of the iterator
  std::int64_t strip = 0;             // elements of it at a time

  [[nodiscard]] StripAxis along(graph::TensorId tensor) const {
    const auto factor = factors.find(tensor);
    return {axes.at(tensor), factor == factors.end() ? 1 : factor->second};
  }
};

// Disjoint regions that pay, none for most graphs. plan: residency of the graph as it is. share: of SBUF, for residents.
[[nodiscard]] std::vector<StripRegion> find_strip_regions(const layout::LaidGraph& laid,
                                                          const Residency& plan,
                                                          const isa::Machine& machine, int share,
                                                          StripWays ways);

}  // namespace systole::lower
