#include "sim/machine/dma.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace systole::sim {
Dma::Dma(const isa::Machine& machine, const Timing& timing, Clock& clock, Listener listener)
    : machine_(machine),
      timing_(timing),
      clock_(clock),
      listener_(std::move(listener)),
      quantum_(ticks_of_ns(timing, timing.dma_quantum_ns)),
      lookahead_(std::min(ticks_of_ns(timing, timing.dma_start_ns),
                          ticks_of_ns(timing, timing.dma_completion_ns))),
      engines_(static_cast<std::size_t>(machine.dma_engines)),
      due_(static_cast<std::size_t>(machine.dma_engines)),
      order_(static_cast<std::size_t>(machine.dma_rings)),
      ring_reports_(static_cast<std::size_t>(machine.dma_rings)) {
  for (Engine& engine : engines_) {
    engine.queues.resize(static_cast<std::size_t>(machine.dma_rings));
  }
}

std::uint32_t Dma::new_transfer() {
  if (free_.empty()) {
    transfers_.emplace_back();
    return static_cast<std::uint32_t>(transfers_.size() - 1);
  }
  const std::uint32_t index = free_.back();
  free_.pop_back();
  transfers_[index] = {};
  return index;
}

Dma::Rates Dma::rates_of(const TransferShape& shape) const {
  const auto ticks = [this](double ns) {
    return static_cast<std::int64_t>(std::llround(ns * timing_.tick_ghz * (1 << fraction_bits)));
  };
  const auto bytes = static_cast<double>(shape.descriptor_bytes);
  Rates rates;
  double alone = bytes / (timing_.dma_engine_bytes_per_ns * shape.rate_fraction);
  if (shape.pays_row_floor) {
    const double jumps = 1 + (timing_.dma_two_sided_factor - 1) * std::min(shape.jumping, 1.0);
    alone = std::max(alone, timing_.dma_row_ns * jumps);
    rates.ring = ticks(timing_.dma_ring_row_ns * jumps);
  }
  if (shape.pays_row_floor && timing_.short_row_bytes_per_ns > 0 &&
      shape.descriptor_bytes < timing_.short_row_bytes) {
    // Programs of that kind are bound by something that does not depend on the mix of rows: it replaces the floors.
    alone = bytes * machine_.dma_engines / timing_.short_row_bytes_per_ns;
    rates.ring = 0;
  }
  rates.alone = std::max<std::int64_t>(1, ticks(alone));
  if (const std::int64_t hbm = shape.hbm_read + shape.hbm_written; hbm > 0 && shape.bytes > 0) {
    rates.hbm = ticks(bytes * static_cast<double>(hbm) / static_cast<double>(shape.bytes) /
                      timing_.hbm_bytes_per_ns);
  }
  return rates;
}

Ticks Dma::service_end(const Engine& engine) const {
  const std::int64_t time = engine.serving * engine.each;
  return engine.start +
         Ticks(std::max<std::int64_t>(1, (time + (1 << fraction_bits) - 1) >> fraction_bits));
}

void Dma::trigger(const TransferShape& shape, int ring, isa::SourceId source,
                  isa::SemaphoreId signal, std::int64_t tag, Ticks now) {
  const auto r = static_cast<std::size_t>(ring);
  const std::uint32_t index = new_transfer();
  Transfer& transfer = transfers_[index];
  transfer.rates = rates_of(shape);
  transfer.end = {source, signal, ring, tag, {}, {}};
  ++open_;
  order_[r].waiting.push_back(index);
  ring_reports_[r].transfers += 1;
  ring_reports_[r].bytes += shape.bytes;
  ring_reports_[r].rows += shape.descriptors;

  Ticks arrival = now + ticks_of_ns(timing_, timing_.dma_start_ns);
  const Ticks stagger = ticks_of_ns(timing_, timing_.dma_stagger_ns);
  Ticks earliest = Agenda::never;
  for (std::size_t e = 0; e < engines_.size(); ++e) {
    if (shape.share[e] == 0) {
      continue;
    }
    Engine& engine = engines_[e];
    Queue& queue = engine.queues[r];
    engine.queued.set(r);
    queue.parts.push_back({index, shape.share[e], arrival});
    ++transfer.open_parts;
    if (!engine.busy) {
      due_.set(e, std::min(due_[e], arrival));
    } else if (engine.alone && engine.ring != ring) {
      make_room(e, arrival);
    }
    earliest = std::min(earliest, due_[e]);
    arrival += stagger;
  }
  if (earliest < Agenda::never) {
    clock_.wake(dma_unit, earliest);
  }
  if (transfer.open_parts == 0) {  // nothing to move: complete after the start-up
    transfer.open_parts = 1;
    part_done(index, arrival);
  }
}

// An engine that serves one ring for long stops at the next descriptor after another ring's work arrives.
void Dma::make_room(std::size_t index, Ticks arrival) {
  Engine& engine = engines_[index];
  if (arrival >= due_[index]) {
    return;
  }
  const std::int64_t passed = std::max<std::int64_t>(0, (arrival - engine.start).count())
                              << fraction_bits;
  const std::int64_t kept =
      std::clamp<std::int64_t>((passed + engine.each - 1) / engine.each, 1, engine.serving);
  Queue& queue = engine.queues[static_cast<std::size_t>(engine.ring)];
  queue.parts[queue.head].descriptors += engine.serving - kept;
  engine.serving = kept;
  due_.set(index, service_end(engine));
}

void Dma::step(Ticks now) {
  const Ticks horizon = now + lookahead_;
  for (;;) {
    const std::size_t index = due_.first();
    const Ticks at = due_[index];
    if (at > horizon) {
      if (at < Agenda::never) {
        clock_.wake(dma_unit, at);
      }
      return;
    }
    if (engines_[index].busy) {
      finish_service(index, at);
    }
    start_service(index, at);
  }
}

void Dma::finish_service(std::size_t number, Ticks now) {
  Engine& engine = engines_[number];
  engine.busy = false;
  engine_busy_ += now - engine.start;
  if (--busy_engines_ == 0) {
    any_busy_ += now - busy_since_;
  }
  Queue& queue = engine.queues[static_cast<std::size_t>(engine.ring)];
  Part& part = queue.parts[queue.head];
  const std::uint32_t index = part.transfer;
  if (part.descriptors > 0) {
    return;
  }
  ++queue.head;
  if (queue.empty()) {
    engine.queued.reset(static_cast<std::size_t>(engine.ring));
    queue.parts.clear();
    queue.head = 0;
  } else if (queue.head > 64 && queue.head * 2 > queue.parts.size()) {
    queue.parts.erase(queue.parts.begin(),
                      queue.parts.begin() + static_cast<std::ptrdiff_t>(queue.head));
    queue.head = 0;
  }
  part_done(index, now);
}

void Dma::start_service(std::size_t number, Ticks now) {
  Engine& engine = engines_[number];
  Ticks next_arrival = Agenda::never;
  int active = 0;
  int first = -1;   // ring with work
  int chosen = -1;  // the first of them after the one served last
  for (std::size_t r = engine.queued.first(); r < RingSet::capacity; r = engine.queued.next(r)) {
    const int ring = static_cast<int>(r);
    const Queue& queue = engine.queues[static_cast<std::size_t>(ring)];
    const Ticks arrival = queue.parts[queue.head].arrival;
    if (arrival > now) {
      next_arrival = std::min(next_arrival, arrival);
      continue;
    }
    ++active;
    first = first < 0 ? ring : first;
    chosen = chosen < 0 && ring > engine.last_ring ? ring : chosen;
  }
  chosen = chosen < 0 ? first : chosen;
  if (chosen < 0) {
    due_.set(number, next_arrival);
    return;
  }
  Queue& queue = engine.queues[static_cast<std::size_t>(chosen)];
  Part& part = queue.parts[queue.head];
  Transfer& transfer = transfers_[part.transfer];
  if (!transfer.started) {
    transfer.started = true;
    transfer.end.began = now;
  }
  if (busy_engines_++ == 0) {
    busy_since_ = now;
  }
  engine.busy = true;
  engine.start = now;
  engine.ring = chosen;
  engine.last_ring = chosen;
  engine.each = transfer.rates.time(active, busy_engines_);
  // Alone, the whole part is one turn; it ends early if another ring's work arrives.
  const std::int64_t turn = quantum_.count() << fraction_bits;
  engine.serving = active == 1 ? part.descriptors
                               : std::clamp<std::int64_t>(turn / engine.each, 1, part.descriptors);
  part.descriptors -= engine.serving;
  engine.alone = active == 1;
  due_.set(number, service_end(engine));
  if (engine.alone) {
    make_room(number, next_arrival);
  }
  listener_.served(transfer.end.source, now, due_[number]);
}

void Dma::part_done(std::uint32_t index, Ticks now) {
  Transfer& transfer = transfers_[index];
  transfer.last_byte = std::max(transfer.last_byte, now);
  if (--transfer.open_parts > 0) {
    return;
  }
  transfer.landed = true;
  signal_in_order(transfer.end.ring);
}

void Dma::signal_in_order(int ring) {
  Order& order = order_[static_cast<std::size_t>(ring)];
  while (order.head < order.waiting.size() && transfers_[order.waiting[order.head]].landed) {
    const std::uint32_t index = order.waiting[order.head++];
    Transfer& transfer = transfers_[index];
    transfer.end.complete = std::max(
        transfer.last_byte + ticks_of_ns(timing_, timing_.dma_completion_ns), order.last_signal);
    order.last_signal = transfer.end.complete;
    listener_.ended(transfer.end);
    free_.push_back(index);
    --open_;
  }
  if (order.head > 64 && order.head * 2 > order.waiting.size()) {
    order.waiting.erase(order.waiting.begin(),
                        order.waiting.begin() + static_cast<std::ptrdiff_t>(order.head));
    order.head = 0;
  }
}

}  // namespace systole::sim
