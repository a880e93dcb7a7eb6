// Regions that can be evaluated strip by strip: operators that share one parallel iterator (never contracted, never
// reduced), so that each strip of the region's outputs needs only that strip of what lies between its operators.
//
// A region grows from a tensor that does not stay in SBUF, along one of its axes, over producers and consumers of such
// tensors. What enters it is either read in strips along the iterator or, lacking it, read whole by every strip.
#pragma once

#include <map>
#include <vector>

#include "compiler/lower/stages.hpp"

namespace systole::lower {

struct StripRegion {
  std::vector<graph::NodeId> nodes;  // ascending
  std::map<graph::TensorId, int>
      axes;  // the iterator's axis in every operand of the nodes; -1: lacks it
  std::vector<graph::TensorId> inputs;   // read by nodes, made outside; ascending
  std::vector<graph::TensorId> outputs;  // made by nodes, read outside or outputs of the graph
  std::map<graph::NodeId, int>
      stages;  // of the nodes: changes between product and vector work before them
  std::vector<graph::TensorId> pinned;  // inputs without the iterator to be loaded once
  std::vector<graph::TensorId>
      loaded;  // inputs with it whose strips are to be loaded once, a turn ahead (stage 0)
  std::vector<graph::TensorId> held;  // inputs without it that the first strip loads for all
  bool rows = false;                  // found between products
  std::int64_t extent = 0;            // of the iterator
  std::int64_t strip = 0;             // elements of it at a time
};

// Disjoint regions that pay, none for most graphs. plan: residency of the graph as it is. share: of SBUF, for residents.
[[nodiscard]] std::vector<StripRegion> find_strip_regions(const layout::LaidGraph& laid,
                                                          const Residency& plan,
                                                          const isa::Machine& machine, int share);

}  // namespace systole::lower
