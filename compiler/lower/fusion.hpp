// Which elementwise operators run inside the kernel that produces their operand, and which conversions inside the one that
// uses their result.
//
// A follower takes each piece of a host's result while it is still on chip and before it is stored; the tensor between
// them is never stored at all. A host (contraction, convolution, pooling, reduction, another map) is followed by a chain
// of maps, as long as each is the only use of the value before it, has the same shape and the same layout, and finds
// its other operands already computed when the host runs.
//
// A reduction of each partition's elements of what such a chain of maps makes (host: a map) is made on the way as well:
// the instruction that makes the values adds them up, or they are reduced while they are on chip. If nothing else reads
// the values they are never stored. Maps may follow the reduction.
//
// A conversion by the array of a matrix that only one product reads runs inside that product: it transposes each piece
// when it has loaded it, and the converted matrix is never stored.
#pragma once

#include <vector>

#include "compiler/layout/laid_graph.hpp"

namespace systole::lower {

struct Fusion {
  IdVector<graph::NodeId, graph::NodeId>
      host;  // the node whose kernel runs this one; itself if none. Of a conversion: a later node
  IdVector<graph::NodeId, std::vector<graph::NodeId>> followers;  // of a host, in order
  IdVector<graph::NodeId, std::vector<graph::NodeId>> reducers;   // of a host map's last result
  IdVector<graph::TensorId, std::uint8_t> inlined;                // never stored
};

// roots: the tensor whose storage each tensor shares.
[[nodiscard]] Fusion plan_fusion(const layout::LaidGraph& laid,
                                 const IdVector<graph::TensorId, graph::TensorId>& roots,
                                 const isa::Machine& machine);
[[nodiscard]] Fusion no_fusion(const layout::LaidGraph& laid);

}  // namespace systole::lower
