// Random valid programs for the toy machine, by a generator that keeps the rules: operands lie in fixed slots; every
// instruction signals its engine's counter (a transfer its ring's); before an instruction uses a slot it waits for the
// writers and readers that it could race with. At the end every slot that was written goes to an output.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "isa/base/random.hpp"
#include "isa/machine.hpp"
#include "sim/simulate.hpp"
#include "tests/sim/builder.hpp"

namespace systole::sim::testing {

class Generator {
 public:
  explicit Generator(std::uint64_t seed)
      : machine(isa::read_machine("toy")), b(machine), random_(seed) {
    for (int i = 0; i < isa::engine_count + rings; ++i) {
      counters_.push_back(b.semaphore());
    }
    counts_.assign(counters_.size(), 0);
    input_ = b.tensor("x", isa::Role::input, isa::DType::f32, {8, columns});
    scratch_ = b.tensor("s", isa::Role::scratch, isa::DType::f32, {8, columns});
  }

  void generate(int instructions) {
    for (int i = 0; i < instructions; ++i) {
      step();
    }
    store_everything();
  }
  [[nodiscard]] Inputs inputs() {
    std::vector<float> values(8 * columns);
    for (float& v : values) {
      v = static_cast<float>(random_.integer(-4, 4));
    }
    Inputs out;
    out.arrays["x"] = bytes_of(values);
    return out;
  }

  isa::Machine machine;
  Builder b;

 private:
  static constexpr int columns = 8;
  static constexpr int rings =
      4;  // ring r is triggered by engine r + 1 only: its order is program order
  static constexpr int sbuf_slots = 10;
  static constexpr int psum_slots = 4;
  static constexpr int scratch_slot = sbuf_slots + psum_slots;
  static constexpr int weights_slot = scratch_slot + 1;  // the array
  static constexpr int slot_count = weights_slot + 1;

  struct Event {
    int chain = 0;  // engine, or engine_count + ring
    std::int32_t count = 0;
  };
  struct Slot {
    bool written = false;
    bool started = false;  // PSUM: by a multiply
    std::vector<Event> writers;
    std::vector<Event> readers;
  };

  int pick(int low, int high) { return static_cast<int>(random_.integer(low, high)); }
  static bool is_psum(int slot) { return slot >= sbuf_slots && slot < scratch_slot; }
  static isa::Access access(int slot) {
    return is_psum(slot) ? psum(8, columns, (slot - sbuf_slots) * 64)
                         : sbuf(isa::DType::f32, 8, columns, slot * 32);
  }
  int written_slot(bool allow_psum) {
    for (int tries = 0; tries < 40; ++tries) {
      const int slot = pick(0, allow_psum ? scratch_slot - 1 : sbuf_slots - 1);
      if (slots_[static_cast<std::size_t>(slot)].written) {
        return slot;
      }
    }
    return -1;
  }

  // Emits with the waits that reading and writing these slots need.
  void emit(isa::Engine engine, isa::Operation operation, const std::vector<int>& reads,
            const std::vector<int>& writes) {
    int chain = static_cast<int>(engine);
    if (auto* dma = operation.get_if<isa::Dma>()) {
      chain = isa::engine_count + dma->ring;
    }
    std::vector<isa::SemaphoreWait> waits;
    const auto wait_for = [&](const std::vector<Event>& events) {
      for (const Event& event : events) {
        if (event.chain != chain || chain >= isa::engine_count) {
          // A transfer may start before an earlier instruction of another engine, and of its own ring, has ended.
          waits.push_back({counters_[static_cast<std::size_t>(event.chain)], event.count});
        }
      }
    };
    for (const int slot : reads) {
      wait_for(slots_[static_cast<std::size_t>(slot)].writers);
    }
    for (const int slot : writes) {
      wait_for(slots_[static_cast<std::size_t>(slot)].writers);
      wait_for(slots_[static_cast<std::size_t>(slot)].readers);
    }
    const auto c = static_cast<std::size_t>(chain);
    const Event event{chain, ++counts_[c]};
    for (const int slot : reads) {
      slots_[static_cast<std::size_t>(slot)].readers.push_back(event);
    }
    for (const int slot : writes) {
      Slot& s = slots_[static_cast<std::size_t>(slot)];
      s.written = true;
      s.writers = {event};
      s.readers.clear();
    }
    b.add(engine, std::move(operation), std::move(waits), counters_[c]);
  }

  void step() {
    switch (pick(0, 8)) {
      case 0:
        return load();
      case 1:
        return multiply();
      case 2:
        return activation();
      case 3:
        return through_scratch();
      case 4:
        return emit_memset();
      default:
        return arithmetic();
    }
  }

  static isa::Engine trigger(const isa::Dma& dma) { return static_cast<isa::Engine>(dma.ring + 1); }

  void load() {
    const int to = pick(0, sbuf_slots - 1);
    isa::Dma dma;
    dma.source = Builder::hbm_rows(input_, isa::DType::f32, 8, columns, columns);
    dma.destination = Builder::sbuf_rows(isa::DType::f32, 8, columns, to * 32);
    dma.ring = static_cast<std::uint8_t>(pick(0, rings - 1));
    emit(trigger(dma), dma, {}, {to});
  }
  void through_scratch() {
    const int from = written_slot(false);
    if (from < 0) {
      return;
    }
    isa::Dma dma;
    dma.source = Builder::sbuf_rows(isa::DType::f32, 8, columns, from * 32);
    dma.destination = Builder::hbm_rows(scratch_, isa::DType::f32, 8, columns, columns);
    dma.ring = static_cast<std::uint8_t>(pick(0, rings - 1));
    emit(trigger(dma), dma, {from}, {scratch_slot});
    const int to = pick(0, sbuf_slots - 1);
    isa::Dma turned;  // back, rows and columns exchanged
    turned.source = dma.destination;
    turned.destination = dma.source;
    turned.destination.offset = to * 32;
    std::swap(turned.destination.dims[0], turned.destination.dims[1]);
    turned.ring = static_cast<std::uint8_t>(pick(0, rings - 1));
    emit(trigger(turned), turned, {scratch_slot}, {to});
  }
  void emit_memset() {
    const bool gpsimd = pick(0, 1) == 0;
    const int to = pick(0, gpsimd ? sbuf_slots - 1 : scratch_slot - 1);
    emit(gpsimd ? isa::Engine::gpsimd : isa::Engine::vector,
         isa::Memset{access(to), static_cast<float>(pick(-3, 3))}, {}, {to});
    slots_[static_cast<std::size_t>(to)].started = false;
  }
  void arithmetic() {
    const bool gpsimd = pick(0, 3) == 0;
    const int a = written_slot(!gpsimd);
    const int c = written_slot(false);
    if (a < 0 || c < 0) {
      return;
    }
    const int to = pick(0, gpsimd ? sbuf_slots - 1 : scratch_slot - 1);
    const isa::AluOp op = std::array{isa::AluOp::add, isa::AluOp::max,
                                     isa::AluOp::subtract}[static_cast<std::size_t>(pick(0, 2))];
    emit(gpsimd ? isa::Engine::gpsimd : isa::Engine::vector,
         isa::TensorTensor{access(a), access(c), access(to), op}, {a, c}, {to});
    slots_[static_cast<std::size_t>(to)].started = false;
  }
  void activation() {
    const int from = written_slot(true);
    if (from < 0) {
      return;
    }
    const int to = pick(0, scratch_slot - 1);
    isa::Activation op;
    op.in = access(from);
    op.out = access(to);
    op.function = pick(0, 1) == 0 ? isa::Function::copy : isa::Function::relu;
    op.scale.value = 0.5F;
    emit(isa::Engine::scalar, op, {from}, {to});
    slots_[static_cast<std::size_t>(to)].started = false;
  }
  void multiply() {
    const int weights = written_slot(false);
    const int moving = written_slot(false);
    if (weights < 0 || moving < 0) {
      return;
    }
    emit(isa::Engine::tensor, isa::LoadStationary{access(weights), 0}, {weights}, {weights_slot});
    const int to = sbuf_slots + pick(0, psum_slots - 1);
    Slot& out = slots_[static_cast<std::size_t>(to)];
    isa::Multiply op;
    op.moving = access(moving);
    op.out = access(to);
    op.accumulate = out.started && pick(0, 1) == 0;
    emit(isa::Engine::tensor, op, {moving, weights_slot}, {to});
    out.started = true;
  }
  void store_everything() {
    for (int slot = 0; slot < scratch_slot; ++slot) {
      if (!slots_[static_cast<std::size_t>(slot)].written) {
        continue;
      }
      int from = slot;
      if (is_psum(slot)) {
        from = pick(0, sbuf_slots - 1);
        emit(isa::Engine::vector, isa::Copy{access(slot), access(from)}, {slot}, {from});
      }
      std::string name = "y";
      name += std::to_string(slot);
      const auto out = b.tensor(name, isa::Role::output, isa::DType::f32, {8, columns});
      isa::Dma dma;
      dma.source = Builder::sbuf_rows(isa::DType::f32, 8, columns, from * 32);
      dma.destination = Builder::hbm_rows(out, isa::DType::f32, 8, columns, columns);
      dma.ring = static_cast<std::uint8_t>(pick(0, rings - 1));
      emit(trigger(dma), dma, {from}, {});
    }
  }

  Random random_;
  std::vector<isa::SemaphoreId> counters_;
  std::vector<std::int32_t> counts_;
  std::array<Slot, slot_count> slots_{};
  isa::TensorId input_;
  isa::TensorId scratch_;
};

}  // namespace systole::sim::testing
