// From one sequential order to five instruction streams and the DMA rings.
//
// One walk over the tile program. Each instruction goes to the end of its engine's stream; what it
// must wait for comes from schedule_dependences, the semaphores for it from schedule_sync. Every
// stream keeps the sequential order, and every wait is for something earlier in it, so the program
// cannot deadlock, and it is free of races because every dependence is either inside one engine or
// covered by a chain of waits.
//
// Who triggers a transfer: a trigger whose operands are not ready blocks the stream it stands in.
// Loads (from HBM) go to Sync, which does nothing else, so they run ahead of the computation as far
// as buffers are free. Transfers out of SBUF wait for their producer; they go to GpSimd, which
// seldom computes, so that they hold up neither loads nor the busy engines. The rings are divided
// between the two, because a ring is in order only within one stream; each takes its rings in turn,
// since transfers of one ring are done one after another. Indirect transfers can only start on
// GpSimd.
//
// An instruction that several engines can execute goes where it is expected to be finished first,
// by rough durations (schedule_engines). GpSimd is not a candidate: it would delay the stores, and
// on v2 it shares Vector's port.
#include "compiler/lower/schedule_engines.hpp"
#include "compiler/lower/schedule_sync.hpp"
#include "compiler/lower/stages.hpp"

namespace systole::lower {
namespace {

constexpr int stream_of(isa::Engine engine) {
  return static_cast<int>(engine);
}

// Rings [0, loads) belong to Sync, the others to GpSimd.
struct Rings {
  int loads = 0;
  int count = 0;
};

Rings rings_of(const isa::Machine& machine) {
  Rings rings;
  rings.count = std::min(machine.dma_rings, max_rings);
  check(rings.count >= 1, "a machine without DMA rings");
  rings.loads = rings.count - std::max(1, rings.count / 3);
  return rings;
}

bool is_dma(const isa::Operation& operation) {
  return std::holds_alternative<isa::Dma>(operation) ||
         std::holds_alternative<isa::DmaIndirect>(operation);
}

void set_ring(isa::Operation& operation, int ring) {
  if (auto* dma = std::get_if<isa::Dma>(&operation)) {
    dma->ring = static_cast<std::uint8_t>(ring);
  } else {
    std::get<isa::DmaIndirect>(operation).ring = static_cast<std::uint8_t>(ring);
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
  if (auto* dma = std::get_if<isa::Dma>(&operation)) {
    side(dma->source);
    side(dma->destination);
  } else if (auto* indirect = std::get_if<isa::DmaIndirect>(&operation)) {
    side(indirect->rows_side);
  }
}

class Scheduler {
 public:
  Scheduler(const TileProgram& tiles, const Allocation& allocation, const isa::Machine& machine)
      : tiles_(tiles),
        allocation_(allocation),
        machine_(machine),
        rings_(rings_of(machine)),
        dependences_(tiles, allocation),
        synchronizer_(isa::engine_count + rings_.count) {}

  isa::Program run() {
    program_.name = tiles_.name;
    program_.machine = machine_.name;
    program_.fingerprint = isa::fingerprint(machine_);
    program_.tensors = tiles_.tensors;
    program_.sources = tiles_.sources;
    for (std::size_t i = 0; i < tiles_.instructions.size(); ++i) {
      append(i);
    }
    synchronizer_.finish(program_);
    return std::move(program_);
  }

 private:
  void append(std::size_t index) {
    const TileInstruction& item = tiles_.instructions[index];
    isa::Instruction instruction = item.instruction;
    const Clock needs = dependences_.needs(index);
    const std::int64_t ready = ready_time(needs);
    int agent = 0;
    if (is_dma(instruction.operation)) {
      agent = trigger(instruction);
    } else {
      if (item.any_engine) {
        choose_engine(instruction, ready);
      }
      agent = stream_of(instruction.engine);
    }
    advance(agent, instruction, ready);
    place(instruction.operation, item.buffers, allocation_);
    instruction.waits = synchronizer_.append(stream_of(instruction.engine), agent, needs);
    dependences_.add(index, agent, synchronizer_.count(agent));
    program_.streams[static_cast<std::size_t>(instruction.engine)].push_back(
        std::move(instruction));
  }

  // Chooses stream and ring of a transfer; returns the ring's agent.
  int trigger(isa::Instruction& instruction) {
    const auto* dma = std::get_if<isa::Dma>(&instruction.operation);
    const bool load = dma != nullptr && dma->source.space == isa::Space::hbm && rings_.loads > 0;
    const int first = load ? 0 : rings_.loads;
    const int count = load ? rings_.loads : rings_.count - rings_.loads;
    int& turn = load ? next_load_ : next_store_;
    const int ring = first + turn;
    turn = (turn + 1) % count;
    instruction.engine = load ? isa::Engine::sync : isa::Engine::gpsimd;
    set_ring(instruction.operation, ring);
    return isa::engine_count + ring;
  }

  void choose_engine(isa::Instruction& instruction, std::int64_t ready) const {
    std::optional<isa::Operation> best;
    isa::Engine best_engine = instruction.engine;
    std::int64_t best_time = 0;
    for (const isa::Engine engine : {isa::Engine::vector, isa::Engine::scalar}) {
      std::optional<isa::Operation> operation =
          as_executed_on(instruction.operation, engine, machine_);
      if (!operation) {
        continue;
      }
      const std::int64_t time = std::max(ready, time_of(stream_of(engine))) +
                                switch_time(*operation) +
                                estimated_ticks(*operation, engine, machine_);
      if (!best || time < best_time || (time == best_time && engine == instruction.engine)) {
        best = std::move(operation);
        best_engine = engine;
        best_time = time;
      }
    }
    if (best) {
      instruction.operation = *std::move(best);
      instruction.engine = best_engine;
    }
  }

  // ---- the estimated clock: when each agent has finished each of its instructions
  [[nodiscard]] std::int64_t time_of(int agent) const {
    const auto& times = finished_[static_cast<std::size_t>(agent)];
    return times.empty() ? 0 : times.back();
  }
  [[nodiscard]] std::int64_t ready_time(const Clock& needs) const {
    std::int64_t ready = 0;
    for (int a = 0; a < max_agents; ++a) {
      if (needs.of(a) > 0) {
        ready = std::max(ready, finished_[static_cast<std::size_t>(a)][needs.of(a) - 1]);
      }
    }
    return ready;
  }
  // Of the Scalar engine's table, if the operation needs another one than is loaded.
  [[nodiscard]] std::int64_t switch_time(const isa::Operation& operation) const {
    const std::optional<isa::Function> table = table_of(operation);
    return table && table != table_ ? table_load : 0;
  }
  void advance(int agent, const isa::Instruction& instruction, std::int64_t ready) {
    const std::int64_t start = std::max(ready, time_of(agent)) + switch_time(instruction.operation);
    if (const std::optional<isa::Function> table = table_of(instruction.operation)) {
      table_ = table;
    }
    finished_[static_cast<std::size_t>(agent)].push_back(
        start + estimated_ticks(instruction.operation, instruction.engine, machine_));
  }

  const TileProgram& tiles_;
  const Allocation& allocation_;
  const isa::Machine& machine_;
  Rings rings_;
  Dependences dependences_;
  Synchronizer synchronizer_;
  isa::Program program_;
  std::array<std::vector<std::int64_t>, max_agents> finished_;
  std::optional<isa::Function> table_;  // loaded into the Scalar engine
  int next_load_ = 0;
  int next_store_ = 0;
};

}  // namespace

isa::Program schedule(const TileProgram& program, const Allocation& allocation,
                      const isa::Machine& machine) {
  return Scheduler(program, allocation, machine).run();
}

}  // namespace systole::lower
