// One instruction of a hand-made tile program whose only source is 0.
#pragma once

#include <utility>
#include <vector>

#include "compiler/lower/tile.hpp"

namespace systole::lower {

inline TileInstruction tile_item(isa::Operation operation, isa::Engine engine,
                                 std::vector<BufferId> buffers, bool any_engine = false) {
  TileInstruction item;
  item.instruction.engine = engine;
  item.instruction.source = isa::SourceId(0);
  item.instruction.operation = std::move(operation);
  item.buffers = std::move(buffers);
  item.any_engine = any_engine;
  return item;
}

}  // namespace systole::lower
