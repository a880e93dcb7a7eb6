// The stages of lowering, each a free function between plain values:
//
//   LaidGraph --strip_mine (strip.hpp)--> LaidGraph --plan--> Residency --tile--> TileProgram --allocate--> Allocation
//   --schedule--> isa::Program
//
// lower_stages() runs them all. Errors (user): a graph that cannot fit names the operator and the bytes.
#pragma once

#include "compiler/layout/laid_graph.hpp"
#include "compiler/lower/fusion.hpp"
#include "compiler/lower/tile.hpp"
#include "isa/machine.hpp"
#include "isa/program.hpp"

namespace systole::lower {

// A tensor whose storage is the range of another's from `begin` on along an axis: a strip of it.
struct Window {
  graph::TensorId of;  // invalid: none
  int axis = 0;
  std::int64_t begin = 0;
};

// Where each tensor lives between its producer and its consumers. Aliases share their source's storage.
struct Residency {
  IdVector<graph::TensorId, std::uint8_t>
      resident;  // in SBUF from definition to last use; otherwise in HBM
  IdVector<graph::TensorId, graph::TensorId>
      root;  // the tensor whose storage this one is (itself if not an alias)
  IdVector<graph::TensorId, Window> window;
  Fusion fusion;                               // maps that run inside the kernel before them
  std::int64_t resident_peak = 0;              // bytes per partition
  IdVector<graph::NodeId, std::int64_t> live;  // resident bytes per partition while the node runs

  // Bytes per partition that the kernel of a node may use beside the residents (of an invalid node: beside the peak).
  [[nodiscard]] std::int64_t staging(graph::NodeId node, const isa::Machine& machine) const;
  std::vector<std::string>
      spilled;  // "tensor: bytes, why"; of a plan with fewer residents, the reason; for reports
};

// Never fails: what does not fit is streamed. `share`: the part of SBUF that residents may take, in percent. fuse: run
// maps inside the kernels before them.
inline constexpr int default_resident_share = 60;
[[nodiscard]] Residency plan_residency(const layout::LaidGraph& laid, const isa::Machine& machine,
                                       int share = default_resident_share, bool fuse = true);
// Bytes per partition that residents may take.
[[nodiscard]] std::int64_t resident_room(const isa::Machine& machine, int share);
[[nodiscard]] TileProgram tile(const layout::LaidGraph& laid, const Residency& residency,
                               const isa::Machine& machine);
// lasting_turns: residents rotate in so many times the room that they need at one moment; 0: each as high as it goes.
[[nodiscard]] Allocation allocate(const TileProgram& program, const isa::Machine& machine,
                                  int lasting_turns = 0);
[[nodiscard]] isa::Program schedule(TileProgram program, const Allocation& allocation,
                                    const isa::Machine& machine);

// Both, in the allocation whose schedule is estimated to end first.
struct Scheduled {
  Allocation allocation;
  isa::Program program;
  std::int64_t estimate = 0;  // when it ends, in ticks
};
[[nodiscard]] Scheduled allocate_and_schedule(TileProgram program, const isa::Machine& machine);

// A program of more instructions is allocated, scheduled and cut into strips in one way only: every trial takes as long as
// the first.
inline constexpr std::size_t most_instructions_retried = 400'000;

// All of them, for strips of several sizes; the program that is estimated to end first. If the allocator finds no room, it
// is tried again with fewer residents, without fusion and without strips before the user sees the error.
struct Lowered {
  layout::LaidGraph stripped;
  Residency residency;
  isa::Machine planned_for;  // the machine itself or one with less SBUF
  Allocation allocation;
  isa::Program program;       // the instructions of tile(stripped, residency, planned_for)
  std::int64_t hbm_peak = 0;  // bytes of HBM that hold something at the same time
  std::int64_t estimate = 0;
};
[[nodiscard]] Lowered lower_stages(const layout::LaidGraph& laid, const isa::Machine& machine);
[[nodiscard]] isa::Program lower(const layout::LaidGraph& laid, const isa::Machine& machine);

// Text of each stage, for --dump-after.
[[nodiscard]] std::string to_text(const Residency& residency, const layout::LaidGraph& laid);
[[nodiscard]] std::string to_text(const TileProgram& program);
[[nodiscard]] std::string to_text(const Allocation& allocation, const TileProgram& program);

}  // namespace systole::lower
