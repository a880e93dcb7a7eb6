// The precedence graph of a tile program after allocation: who must be done before whom, for the
// choice of an order.
//
// Nodes are the instructions, and joints: points that are reached when several instructions are
// done (the end of a buffer's life, too many accesses to one place). Edges are the dependences of
// schedule_dependences, between instructions instead of agents because their order is still open.
#pragma once

#include <span>
#include <vector>

#include "compiler/lower/schedule_dependences.hpp"

namespace systole::lower {

// Instructions of one lane keep the sequential order and are done in turn: the next may start
// before the result of the last is there. The tensor engine (loaded weights), and loads of what the
// program never writes (bandwidth goes to what is needed first).
enum class Lane : std::uint8_t { none, tensor, loads };

struct Precedence {
  std::size_t instructions = 0;      // nodes [0, instructions); joints follow
  std::vector<Lane> lanes;           // by node
  std::vector<std::uint32_t> needs;  // by node: how many nodes must be done first
  std::vector<std::uint32_t> first;  // by node: where its successors begin; one more at the end
  std::vector<std::uint32_t> successors;

  [[nodiscard]] std::span<const std::uint32_t> after(std::size_t node) const {
    return {successors.data() + first[node], successors.data() + first[node + 1]};
  }
};

[[nodiscard]] Precedence precedence_of(const TileProgram& program, const Allocation& allocation);

}  // namespace systole::lower
