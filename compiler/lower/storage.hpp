// Where the elements of a laid-out tensor lie: one Motion per logical axis from the tensor's first
// element.
#pragma once

#include <vector>

#include "compiler/layout/laid_graph.hpp"
#include "compiler/lower/transfer.hpp"

namespace systole::lower {

struct View {
  std::vector<Motion>
      axes;  // per logical axis; resident: partitions or elements, HBM: elements only
  std::vector<std::int64_t> shape;  // logical
  std::vector<int> partition_axes;  // in layout order
  std::vector<int> free_axes;
  std::int64_t partitions = 1;  // extent of the linear partition index
  std::int64_t free = 1;        // elements per partition index, padding included
  Motion origin;                // of the first element, from that of the storage (a window)
};

[[nodiscard]] View view_of(const layout::Layout& layout, const graph::Shape& shape, bool resident);

// Bytes per partition of a tensor kept in SBUF, a multiple of 4.
[[nodiscard]] std::int64_t resident_bytes(const layout::LaidGraph& laid, graph::TensorId tensor,
                                          const isa::Machine& machine);

// The tensor's storage in HBM, and the bytes of a constant in it (null without data).
[[nodiscard]] isa::HbmTensor hbm_tensor(const layout::LaidGraph& laid, graph::TensorId tensor,
                                        isa::Role role, std::string name);

}  // namespace systole::lower
