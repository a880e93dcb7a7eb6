// The DMA system: engines that move descriptors, fed by rings.
//
// A triggered transfer appears at its engines after the start-up time, one engine after the other. An engine works on
// the rings that have something for it in turn, a quantum at a time, descriptors of a ring in order. The time of a
// descriptor is the largest of: its bytes at the engine's rate (or at its share of the HBM's), the engine's floor, and
// the ring's floor divided by the number of rings that are active on the engine. A transfer is complete when its last
// descriptor has landed; completions of one ring are signalled in order. Rings give no other ordering: two transfers of
// one ring may overlap.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "isa/machine.hpp"
#include "sim/machine/clock.hpp"
#include "sim/machine/dma_rows.hpp"
#include "sim/report/report.hpp"
#include "sim/timing/timing.hpp"

namespace systole::sim {

// What the rest of the machine learns about a transfer.
struct TransferEnd {
  isa::SourceId source;
  isa::SemaphoreId signal;
  int ring = 0;
  std::int64_t tag = 0;  // as given to trigger()
  Ticks began;           // first packet
  Ticks complete;        // dependents may start (the signal)
};

// A set of ring numbers, walked in order.
class RingSet {
 public:
  static constexpr std::size_t capacity = 256;

  void set(std::size_t ring) { words_[ring / 64] |= std::uint64_t{1} << (ring % 64); }
  void reset(std::size_t ring) { words_[ring / 64] &= ~(std::uint64_t{1} << (ring % 64)); }
  // capacity if there is none.
  [[nodiscard]] std::size_t first() const { return from(0); }
  [[nodiscard]] std::size_t next(std::size_t ring) const { return from(ring + 1); }

 private:
  [[nodiscard]] std::size_t from(std::size_t ring) const {
    for (std::size_t word = ring / 64; word < words_.size(); ++word) {
      const std::uint64_t kept =
          word == ring / 64 ? words_[word] >> (ring % 64) << (ring % 64) : words_[word];
      if (kept != 0) {
        return word * 64 + static_cast<std::size_t>(std::countr_zero(kept));
      }
    }
    return capacity;
  }
  std::array<std::uint64_t, capacity / 64> words_{};
};

// One time per engine, and the earliest of them: the lowest number among equals. Time and number lie in one word, so that
// the search is a branch-free minimum.
class Agenda {
 public:
  static constexpr Ticks never = Ticks(std::int64_t{1} << 52);

  explicit Agenda(std::size_t size) : keys_(size) {
    for (std::size_t i = 0; i < size; ++i) {
      set(i, never);
    }
  }
  void set(std::size_t i, Ticks at) {
    keys_[i] = at.count() << number_bits | static_cast<std::int64_t>(i);
  }
  [[nodiscard]] Ticks operator[](std::size_t i) const { return Ticks(keys_[i] >> number_bits); }
  // The number whose time comes first.
  [[nodiscard]] std::size_t first() const {
    std::int64_t least = keys_[0];
    for (const std::int64_t key : keys_) {
      least = key < least ? key : least;
    }
    return static_cast<std::size_t>(least & ((1 << number_bits) - 1));
  }

 private:
  static constexpr int number_bits = 10;  // machines have up to 1024 DMA engines
  std::vector<std::int64_t> keys_;
};

class Dma {
 public:
  struct Listener {
    std::function<void(const TransferEnd&)> ended;
    std::function<void(isa::SourceId, Ticks, Ticks)>
        served;  // an engine moves data of the source in [from, until)
  };
  Dma(const isa::Machine& machine, const Timing& timing, Clock& clock, Listener listener);

  void trigger(const TransferShape& shape, int ring, isa::SourceId source, isa::SemaphoreId signal,
               std::int64_t tag, Ticks now);
  // Does everything that is due at `now`, and what is due in the lookahead: nothing that happens to a transfer is seen by
  // an engine before the completion time, and no trigger reaches a DMA engine before the start-up time. So the system
  // may run ahead of the rest of the machine by the smaller of the two, without a kernel event for each of its own.
  void step(Ticks now);

  [[nodiscard]] bool idle() const { return open_ == 0; }
  [[nodiscard]] const std::vector<RingReport>& rings() const { return ring_reports_; }
  [[nodiscard]] Ticks engine_busy() const { return engine_busy_; }
  [[nodiscard]] Ticks any_busy() const { return any_busy_; }
  // Engine time of one descriptor of the shape with `rings` rings active on the engine and `busy` engines at work.
  [[nodiscard]] std::int64_t descriptor_time(const TransferShape& shape, int rings,
                                             int busy) const {
    return rates_of(shape).time(rings, busy);
  }

 private:
  // Times of descriptors have this many fractional bits of a tick.
  static constexpr int fraction_bits = 8;
  // Lower bounds on a descriptor's time, in ticks with fraction.
  struct Rates {
    std::int64_t alone = 1;  // rate of the engine, its floor, the cap on short rows
    std::int64_t hbm = 0;    // times the number of engines at work
    std::int64_t ring = 0;   // over the number of rings at work
    [[nodiscard]] std::int64_t time(int rings, int busy) const {
      return std::max({alone, hbm * busy, ring / rings});
    }
  };
  [[nodiscard]] Rates rates_of(const TransferShape& shape) const;

  struct Transfer {
    TransferEnd end;
    Rates rates;
    int open_parts = 0;
    Ticks last_byte;
    bool started = false;
    bool landed = false;
  };
  struct Part {  // the descriptors of one transfer on one engine
    std::uint32_t transfer = 0;
    std::int64_t descriptors = 0;
    Ticks arrival;
  };
  struct Queue {  // of one ring on one engine
    std::vector<Part> parts;
    std::size_t head = 0;
    [[nodiscard]] bool empty() const { return head == parts.size(); }
  };
  struct Engine {
    std::vector<Queue> queues;
    RingSet queued;      // rings whose queue is not empty
    int last_ring = 0;   // served last
    bool busy = false;   // serving [start, due)
    bool alone = false;  // no other ring had work at `start`
    Ticks start;
    int ring = 0;
    std::int64_t serving = 0;  // descriptors
    std::int64_t each = 1;     // time of one, with fraction
  };

  void finish_service(std::size_t index, Ticks now);
  void start_service(std::size_t index, Ticks now);
  void make_room(std::size_t index, Ticks arrival);
  void part_done(std::uint32_t index, Ticks now);
  void signal_in_order(int ring);
  [[nodiscard]] std::uint32_t new_transfer();
  [[nodiscard]] Ticks service_end(const Engine& engine) const;

  const isa::Machine& machine_;
  const Timing& timing_;
  Clock& clock_;
  Listener listener_;
  Ticks quantum_;
  Ticks lookahead_;
  std::vector<Engine> engines_;
  Agenda due_;  // of the engines
  std::vector<Transfer> transfers_;
  std::vector<std::uint32_t> free_;
  struct Order {  // transfers of a ring, in order of their triggers
    std::vector<std::uint32_t> waiting;
    std::size_t head = 0;
    Ticks last_signal;
  };
  std::vector<Order> order_;
  std::vector<RingReport> ring_reports_;
  std::int64_t open_ = 0;
  int busy_engines_ = 0;
  Ticks engine_busy_;
  Ticks any_busy_;
  Ticks busy_since_;  // first engine of the current stretch started
};

}  // namespace systole::sim
