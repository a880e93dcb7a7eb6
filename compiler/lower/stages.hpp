// The stages of lowering, each a free function between plain values:
//
//   LaidGraph --plan--> Residency --tile--> TileProgram --allocate--> Allocation --schedule--> isa::Program
//
// lower() runs them all. Errors (user): a graph that cannot fit names the operator and the bytes.
#pragma once

#include "compiler/layout/laid_graph.hpp"
#include "compiler/lower/fusion.hpp"
#include "compiler/lower/tile.hpp"
#include "isa/machine.hpp"
#include "isa/program.hpp"

namespace systole::lower {

// Where each tensor lives between its producer and its consumers. Aliases share their source's storage.
struct Residency {
  IdVector<graph::TensorId, std::uint8_t> resident;  // in SBUF from definition to last use; otherwise in HBM
  IdVector<graph::TensorId, graph::TensorId> root;   // the tensor whose storage this one is (itself if not an alias)
  Fusion fusion;                                     // maps that run inside the kernel before them
  std::int64_t resident_peak = 0;                    // bytes per partition
  IdVector<graph::NodeId, std::int64_t> live;        // resident bytes per partition while the node runs

  // Bytes per partition that the kernel of a node may use beside the residents (of an invalid node: beside the peak).
  [[nodiscard]] std::int64_t staging(graph::NodeId node, const isa::Machine& machine) const;
  std::vector<std::string> spilled;                  // "tensor: bytes, why", for reports
};

// Never fails: what does not fit is streamed. `share`: the part of SBUF that residents may take, in percent. fuse: run
// maps inside the kernels before them.
inline constexpr int default_resident_share = 60;
[[nodiscard]] Residency plan_residency(const layout::LaidGraph& laid, const isa::Machine& machine,
                                       int share = default_resident_share, bool fuse = true);
[[nodiscard]] TileProgram tile(const layout::LaidGraph& laid, const Residency& residency, const isa::Machine& machine);
[[nodiscard]] Allocation allocate(const TileProgram& program, const isa::Machine& machine);
[[nodiscard]] isa::Program schedule(const TileProgram& program, const Allocation& allocation, const isa::Machine& machine);

[[nodiscard]] isa::Program lower(const layout::LaidGraph& laid, const isa::Machine& machine);

// Text of each stage, for --dump-after.
[[nodiscard]] std::string to_text(const Residency& residency, const layout::LaidGraph& laid);
[[nodiscard]] std::string to_text(const TileProgram& program);
[[nodiscard]] std::string to_text(const Allocation& allocation, const TileProgram& program);

}  // namespace systole::lower
