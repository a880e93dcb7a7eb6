// From one sequential order to five instruction streams and the DMA rings.
//
// schedule_order chooses an order of all instructions and their engines; then one walk over that
// order. Each instruction goes to the end of its engine's stream; what it must wait for is what
// schedule_precedence puts before it, the semaphores for it come from schedule_sync. Every stream
// keeps the chosen order, and every wait is for something earlier in it, so the program cannot
// deadlock, and it is free of races because every dependence is either inside one engine or covered
// by a chain of waits.
//
// Who triggers a transfer: a trigger whose operands are not ready blocks the stream it stands in.
// Loads (from HBM) go to Sync, which does nothing else, so they run ahead of the computation as far
// as buffers are free. Transfers out of SBUF wait for their producer; they go to GpSimd, which
// seldom computes, so that they hold up neither loads nor the busy engines. The rings are divided
// between the two, because a ring is in order only within one stream; each takes its rings in turn,
// since transfers of one ring are done one after another. Indirect transfers can only start on
// GpSimd.
//
// Of the engines that can execute an instruction, GpSimd is no candidate: it would delay the
// stores, and on v2 it shares Vector's port.
#include "compiler/lower/schedule_engines.hpp"
#include "compiler/lower/schedule_order.hpp"
#include "compiler/lower/schedule_sync.hpp"
#include "compiler/lower/stages.hpp"

namespace systole::lower {
namespace {

constexpr int stream_of(isa::Engine engine) {
  return static_cast<int>(engine);
}

// All rings share the engines evenly: of many loads at once, the one that is needed first arrives with the last, and what
// moves inside SBUF waits for loads that run ahead. One ring alone pays a longer time for a row than the engines do; two
// keep them busy. Loads take one more than stores: the array waits for them.
constexpr int most_load_rings = 3;
constexpr int most_store_rings = 2;

// Rings [0, loads) belong to Sync, the next ones to GpSimd.
struct Rings {
  int loads = 0;
  int stores = 0;
  [[nodiscard]] int count() const { return std::max(loads + stores, 1); }
};

Rings rings_of(const isa::Machine& machine) {
  const int count = std::min(machine.dma_rings, max_rings);
  check(count >= 1, "a machine without DMA rings");
  const int stores = std::max(1, count / 3);
  return {std::min(count - stores, most_load_rings), std::min(stores, most_store_rings)};
}

void set_ring(isa::Operation& operation, int ring) {
  if (auto* dma = operation.get_if<isa::Dma>()) {
    dma->ring = static_cast<std::uint8_t>(ring);
  } else {
    operation.get<isa::DmaIndirect>().ring = static_cast<std::uint8_t>(ring);
  }
}

void shift(isa::DmaAccess& side, std::int64_t bytes) {
  if (side.space != isa::Space::hbm) {
    side.offset += bytes;
  }
}

// Offsets from the start of the memory instead of the start of the buffer.
void place(isa::Operation& operation, const std::vector<BufferId>& buffers,
           const Allocation& allocation) {
  std::size_t next = 0;
  isa::for_each_access(operation, [&](isa::Access& access, bool) {
    access.offset += static_cast<std::int32_t>(allocation.offsets[buffers[next++]]);
  });
  const auto side = [&](isa::DmaAccess& access) {
    if (access.space != isa::Space::hbm) {
      shift(access, allocation.offsets[buffers[next++]]);
    }
  };
  if (auto* dma = operation.get_if<isa::Dma>()) {
    side(dma->source);
    side(dma->destination);
  } else if (auto* indirect = operation.get_if<isa::DmaIndirect>()) {
    side(indirect->rows_side);
  }
}

class Scheduler {
 public:
  Scheduler(TileProgram& tiles, const Allocation& allocation, const Precedence& precedence,
            const Sequence& sequence, const isa::Machine& machine)
      : tiles_(tiles),
        allocation_(allocation),
        precedence_(precedence),
        sequence_(sequence),
        machine_(machine),
        rings_(rings_of(machine)),
        done_(tiles.instructions.size()),
        joints_(precedence.nodes() - precedence.instructions),
        synchronizer_(isa::engine_count + rings_.count()) {}

  isa::Program run() {
    program_.name = tiles_.name;
    program_.machine = machine_.name;
    program_.fingerprint = isa::fingerprint(machine_);
    program_.tensors = tiles_.tensors;
    program_.sources = tiles_.sources;
    reserve();
    for (const std::uint32_t node : sequence_.order) {
      const Clock needs = needs_of(node);
      if (node < precedence_.instructions) {
        append(node, needs);
      } else {
        Joint& joint = joints_[node - precedence_.instructions];
        joint.clock = std::make_unique<Clock>(needs);
        joint.readers = precedence_.after.of(node).size();
      }
    }
    synchronizer_.finish(program_);
    return std::move(program_);
  }

 private:
  struct Done {
    int agent = 0;
    std::uint32_t count = 0;  // it is the agent's count-th instruction, from 1
  };
  struct Joint {
    std::unique_ptr<Clock> clock;  // until all that come after it have read it
    std::size_t readers = 0;
  };

  void reserve() {
    std::array<std::size_t, isa::engine_count> lengths{};
    for (const isa::Engine engine : sequence_.engines) {
      ++lengths[static_cast<std::size_t>(engine)];
    }
    for (std::size_t stream = 0; stream < lengths.size(); ++stream) {
      program_.streams[stream].reserve(lengths[stream]);
    }
  }

  Clock needs_of(std::uint32_t node) {
    Clock needs;
    for (const std::uint32_t before : precedence_.before.of(node)) {
      if (before < precedence_.instructions) {
        needs.raise(done_[before].agent, done_[before].count);
        continue;
      }
      Joint& joint = joints_[before - precedence_.instructions];
      needs.join(*joint.clock);
      if (--joint.readers == 0) {
        joint.clock.reset();
      }
    }
    return needs;
  }

  void append(std::uint32_t index, const Clock& needs) {
    if (next_table_ < sequence_.tables.size() && sequence_.tables[next_table_].before == index) {
      load_table(sequence_.tables[next_table_++]);
    }
    TileInstruction& item = tiles_.instructions[index];
    isa::Instruction instruction = std::move(item.instruction);
    instruction.engine = sequence_.engines[index];
    int agent = stream_of(instruction.engine);
    if (is_transfer(instruction.operation)) {
      agent = isa::engine_count + next_ring(instruction.engine);
      set_ring(instruction.operation, agent - isa::engine_count);
    } else if (item.any_engine) {
      std::optional<isa::Operation> operation =
          as_executed_on(instruction.operation, instruction.engine, machine_);
      check(operation.has_value(),
            "an instruction was given to an engine that does not execute it");
      instruction.operation = *std::move(operation);
    }
    place(instruction.operation, item.buffers, allocation_);
    const int stream = stream_of(instruction.engine);
    instruction.waits = synchronizer_.append(stream, agent, needs);
    done_[index] = {agent, synchronizer_.count(agent)};
    program_.streams[static_cast<std::size_t>(stream)].push_back(std::move(instruction));
  }

  void load_table(const TableLoad& table) {
    isa::Instruction load;
    load.engine = isa::Engine::scalar;
    load.source = tiles_.instructions[table.user].instruction.source;
    load.operation = isa::LoadTable{table.function};
    const int stream = stream_of(load.engine);
    load.waits = synchronizer_.append(stream, stream, {});
    program_.streams[static_cast<std::size_t>(stream)].push_back(std::move(load));
  }

  // The stream's rings in turn.
  int next_ring(isa::Engine stream) {
    const bool load = stream == isa::Engine::sync;
    const int first = load ? 0 : rings_.loads;
    const int count = load ? rings_.loads : rings_.stores;
    int& turn = load ? next_load_ : next_store_;
    const int ring = first + turn;
    turn = (turn + 1) % count;
    return ring;
  }

  TileProgram& tiles_;  // its instructions move into the program
  const Allocation& allocation_;
  const Precedence& precedence_;
  const Sequence& sequence_;
  const isa::Machine& machine_;
  Rings rings_;
  std::vector<Done> done_;     // by instruction
  std::vector<Joint> joints_;  // by node, those of instructions left out
  Synchronizer synchronizer_;
  isa::Program program_;
  std::size_t next_table_ = 0;
  int next_load_ = 0;
  int next_store_ = 0;
};

}  // namespace

isa::Program schedule(TileProgram program, const Allocation& allocation,
                      const isa::Machine& machine) {
  const Precedence precedence = precedence_of(program, allocation);
  const Sequence sequence = choose_sequence(program, precedence, machine);
  return Scheduler(program, allocation, precedence, sequence, machine).run();
}

Scheduled allocate_and_schedule(TileProgram program, const isa::Machine& machine) {
  const int most_turns = program.instructions.size() <= most_instructions_retried ? 2 : 0;
  Scheduled out;
  Precedence best_precedence;
  Sequence best;
  for (int turns = 0; turns <= most_turns; ++turns) {
    Allocation allocation = allocate(program, machine, turns);
    if (turns > 0 && allocation.offsets == out.allocation.offsets) {
      continue;
    }
    Precedence precedence = precedence_of(program, allocation);
    Sequence sequence = choose_sequence(program, precedence, machine);
    if (turns == 0 || sequence.end < best.end) {
      out.allocation = std::move(allocation);
      best_precedence = std::move(precedence);
      best = std::move(sequence);
    }
  }
  out.estimate = best.end;
  out.program = Scheduler(program, out.allocation, best_precedence, best, machine).run();
  return out;
}

}  // namespace systole::lower
