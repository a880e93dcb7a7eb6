// In which order the instructions go into the streams, and on which engine those run that several
// can execute.
//
// List scheduling over the precedence graph: time advances by rough durations (schedule_engines);
// whenever an engine is free it takes the oldest of its instructions whose operands are ready then.
// What Vector as well as Scalar can execute goes to the one that ends first, and comes after what only that one can.
// So a stream is not held up by an instruction that waits while a later one could go: loads and
// their preparations run ahead, work of neighbouring operators overlaps. The order is one of all
// instructions, consistent with every dependence. Deterministic; n log n.
#pragma once

#include "compiler/lower/schedule_precedence.hpp"
#include "isa/machine.hpp"

namespace systole::lower {

// A function's table, loaded into Scalar while it would be idle.
struct TableLoad {
  std::uint32_t before = 0;  // instruction of Scalar's stream
  std::uint32_t user = 0;    // the later one that needs the table
  isa::Function function = isa::Function::exp;
};

struct Sequence {
  std::vector<std::uint32_t> order;  // nodes of the precedence graph, each after all that it needs
  std::vector<isa::Engine> engines;  // by instruction index: whose stream it goes into
  std::vector<TableLoad> tables;     // in the order of the stream
  std::int64_t end = 0;              // estimated, in ticks
};

[[nodiscard]] Sequence choose_sequence(const TileProgram& program, const Precedence& precedence,
                                       const isa::Machine& machine);

// The engine that triggers a transfer: Sync loads from HBM, GpSimd all else (with one ring only,
// everything).
[[nodiscard]] isa::Engine trigger_engine(const isa::Operation& operation,
                                         const isa::Machine& machine);
[[nodiscard]] bool is_transfer(const isa::Operation& operation);

}  // namespace systole::lower
