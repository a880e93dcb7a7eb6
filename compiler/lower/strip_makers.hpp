// What makes a region's operands, and when: products whose results only the region reads.
//
// Vector work of one strip leaves the array idle where the region alone has too little for it. A product before the region
// that makes what is read in strips can be made in strips as well, a turn before the strip is read; one that makes what
// only later stages read can come when the first strips are under way.
#pragma once

#include <set>
#include <vector>

#include "compiler/lower/strip_region.hpp"

namespace systole::lower {

using Uses = IdVector<graph::TensorId, std::vector<graph::Use>>;

// Takes products of a value with matrices from HBM into the region (stage 0; all others a stage later), each with what
// follows it: where the iterator is an axis of the matrix, and the matrices can be kept. taken: nodes of other regions.
void add_makers(const layout::LaidGraph& laid, const isa::Machine& machine, const Uses& uses,
                const IdVector<graph::NodeId, std::uint8_t>& taken, StripRegion& region);

// Nodes outside the region that make an operand which only its later products read, and nothing else: the last product
// before it and what follows that.
[[nodiscard]] std::vector<graph::NodeId> late_makers(const layout::LaidGraph& laid,
                                                     const StripRegion& region, const Uses& uses,
                                                     const std::set<graph::NodeId>& taken);

}  // namespace systole::lower
