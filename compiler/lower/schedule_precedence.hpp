// The precedence graph of a tile program after allocation: who must be done before whom, for the
// choice of an order.
//
// Nodes are the instructions, and joints: points that are reached when several instructions are
// done (the end of a buffer's life, too many accesses to one place). Edges are the dependences that
// schedule_history finds, and turns: the next instruction of a lane comes after the last one.
//
// A buffer placed on bytes of dead ones waits for all that those ever had to do, kept as one joint
// per byte range.
#pragma once

#include <span>
#include <vector>

#include "compiler/lower/tile.hpp"

namespace systole::lower {

// Instructions of one lane keep the sequential order and are done in turn: the next may start
// before the result of the last is there. The tensor engine (loaded weights), and loads of what the
// program never writes (bandwidth goes to what is needed first).
enum class Lane : std::uint8_t { none, tensor, loads };

// The neighbours of each node on one side of the edges.
struct Neighbours {
  std::vector<std::uint32_t> first;  // by node: where its neighbours begin; one more at the end
  std::vector<std::uint32_t> nodes;

  [[nodiscard]] std::span<const std::uint32_t> of(std::size_t node) const {
    return {nodes.data() + first[node], nodes.data() + first[node + 1]};
  }
};

struct Precedence {
  std::size_t instructions = 0;  // nodes [0, instructions); joints follow
  std::vector<Lane> lanes;       // by node
  Neighbours after;              // who depends on it, and the next of its lane
  Neighbours before;             // on whom it depends; not whom it only takes turns with
  [[nodiscard]] std::size_t nodes() const { return lanes.size(); }
};

[[nodiscard]] Precedence precedence_of(const TileProgram& program, const Allocation& allocation);

}  // namespace systole::lower
