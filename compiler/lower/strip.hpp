// Strip mining: values that would not stay in SBUF are made and used one strip at a time.
//
// Each region (strip_region) becomes one copy of its operators per strip. A strip of an input is a Slice whose mechanism
// is alias, and the outputs are Concats of their strips that are aliases too: windows of the whole tensor's storage, so
// that neither moves anything. Copies of successive strips are interleaved by stages, so that the tensor engine works on
// one strip while the other engines work on the one before.
//
// What several kernels read from HBM is loaded once: strips of a region's inputs, inputs that every strip reads, and
// inputs of the graph that are small enough. A load is a Convert to the layout that the tensor has already; residency
// makes it another name of its operand if there is no room for it.
#pragma once

#include "compiler/lower/stages.hpp"

namespace systole::lower {

// Which of several strips that are right are made.
struct StripWays {
  bool makers = true;  // products that make the operands of strips are made strip by strip too
  bool turns_apart =
      true;  // what the array transposes is a stage of its own, before the product that reads it
};

// The graph itself if nothing is to be gained.
[[nodiscard]] layout::LaidGraph strip_mine(const layout::LaidGraph& laid,
                                           const isa::Machine& machine,
                                           int share = default_resident_share, StripWays ways = {});

[[nodiscard]] bool is_load(const layout::LaidGraph& laid, graph::NodeId node);

// Whether the node works on a strip of rows between two products.
[[nodiscard]] bool is_row_strip(const graph::Node& node);

// Whether the node works on a strip of some other region, and not on its first one.
[[nodiscard]] bool is_later_strip(const graph::Node& node);

// A name of an input in HBM, for several strips of one operator: what one of them loads, the others use.
[[nodiscard]] bool is_held(const layout::LaidGraph& laid, graph::TensorId tensor);

// The name of a node without the number of its strip.
[[nodiscard]] std::string name_without_strip(const std::string& name);

}  // namespace systole::lower
