#include "sim/check/clocks.hpp"

#include <algorithm>
#include <variant>

namespace systole::sim {
namespace {

constexpr std::uint32_t none = 0xffffffffU;

int ring_of(const isa::Operation& operation) {
  if (const auto* dma = operation.get_if<isa::Dma>()) {
    return dma->ring;
  }
  if (const auto* indirect = operation.get_if<isa::DmaIndirect>()) {
    return indirect->ring;
  }
  return -1;
}

}  // namespace

Clocks::Clocks(const isa::Program& program, int rings)
    : chains_(static_cast<std::size_t>(isa::engine_count + rings)),
      known_(static_cast<std::size_t>(isa::engine_count) * chains_, 0),
      ring_count_(static_cast<std::size_t>(rings), 0),
      signals_(static_cast<std::size_t>(program.semaphores)),
      joined_(static_cast<std::size_t>(program.semaphores) * isa::engine_count, 0),
      current_snapshot_(isa::engine_count, none) {
  for (std::size_t e = 0; e < program.streams.size(); ++e) {
    instructions_[e] = static_cast<std::uint32_t>(program.streams[e].size());
    const auto engine = static_cast<isa::Engine>(e);
    for (const isa::Instruction& instruction : program.streams[e]) {
      for (const isa::SemaphoreWait& wait : instruction.waits) {
        auto& waiting = signals_[wait.semaphore.index()].waiting;
        if (waiting.empty() || waiting.back() != engine) {
          waiting.push_back(engine);
        }
      }
    }
  }
}

void Clocks::drop(std::uint32_t& snapshot) {
  if (snapshot != none && --snapshot_uses_[snapshot] == 0) {
    free_snapshots_.push_back(snapshot);
  }
  snapshot = none;
}

std::uint32_t Clocks::snapshot_of(isa::Engine engine) {
  std::uint32_t& current = current_snapshot_[static_cast<std::size_t>(engine)];
  if (current != none) {
    return current;
  }
  if (free_snapshots_.empty()) {
    free_snapshots_.push_back(static_cast<std::uint32_t>(snapshot_uses_.size()));
    snapshot_uses_.push_back(0);
    snapshots_.resize(snapshots_.size() + chains_);
  }
  current = free_snapshots_.back();
  free_snapshots_.pop_back();
  snapshot_uses_[current] = 1;  // the engine's
  std::copy_n(known(engine), chains_,
              snapshots_.begin() + static_cast<std::ptrdiff_t>(current * chains_));
  return current;
}

// Signals that every engine which waits for them has joined.
void Clocks::forget(isa::SemaphoreId semaphore) {
  Signals& signals = signals_[semaphore.index()];
  std::uint32_t least = signals.count();
  for (const isa::Engine engine : signals.waiting) {
    least = std::min(
        least, joined_[semaphore.index() * isa::engine_count + static_cast<std::size_t>(engine)]);
  }
  while (signals.dropped + signals.head < least) {
    drop(signals.kept[signals.head++].snapshot);
  }
  if (signals.head > 64 && signals.head * 2 > signals.kept.size()) {
    signals.kept.erase(signals.kept.begin(),
                       signals.kept.begin() + static_cast<std::ptrdiff_t>(signals.head));
    signals.dropped += static_cast<std::uint32_t>(signals.head);
    signals.head = 0;
  }
}

void Clocks::join(isa::Engine engine, isa::SemaphoreWait wait) {
  const std::size_t e = static_cast<std::size_t>(engine);
  const Signals& signals = signals_[wait.semaphore.index()];
  std::uint32_t& joined = joined_[wait.semaphore.index() * isa::engine_count + e];
  const auto wanted = static_cast<std::uint32_t>(std::max(0, wait.at_least));
  const std::uint32_t end = std::min(signals.count(), wanted);
  if (end <= joined) {
    return;
  }
  std::uint32_t* row = known_.data() + e * chains_;
  for (std::uint32_t i = end; i-- > joined;) {
    const Signal& signal = signals.kept[i - signals.dropped];
    if (row[signal.stamp.chain] >= signal.stamp.index) {
      continue;  // what it knew is known already
    }
    const std::uint32_t* other =
        snapshots_.data() + static_cast<std::size_t>(signal.snapshot) * chains_;
    for (std::size_t c = 0; c < chains_; ++c) {
      row[c] = std::max(row[c], other[c]);
    }
    row[signal.stamp.chain] = std::max(row[signal.stamp.chain], signal.stamp.index);
    drop(current_snapshot_[e]);
  }
  joined = end;
  forget(wait.semaphore);
}

Stamp Clocks::start(isa::Engine engine, const isa::Instruction& instruction) {
  for (const isa::SemaphoreWait& wait : instruction.waits) {
    join(engine, wait);
  }
  const std::size_t e = static_cast<std::size_t>(engine);
  const std::uint32_t own = ++known_[e * chains_ + e];
  const int ring = ring_of(instruction.operation);
  if (ring < 0) {
    return {static_cast<std::uint16_t>(e), own};
  }
  return {static_cast<std::uint16_t>(isa::engine_count + ring),
          ++ring_count_[static_cast<std::size_t>(ring)]};
}

void Clocks::signal(isa::Engine engine, isa::SemaphoreId semaphore, Stamp stamp) {
  const std::size_t e = static_cast<std::size_t>(engine);
  Signals& signals = signals_[semaphore.index()];
  if (signals.waiting.empty()) {
    return;
  }
  // A snapshot may be older than the engine's own position; a transfer's trigger must be in it.
  if (stamp.chain != e) {
    drop(current_snapshot_[e]);
  }
  const std::uint32_t snapshot = snapshot_of(engine);
  ++snapshot_uses_[snapshot];
  signals.kept.push_back({stamp, snapshot});
}

bool Clocks::settled(Stamp stamp, isa::Engine running) const {
  for (std::size_t e = 0; e < isa::engine_count; ++e) {
    const std::uint32_t* row = known_.data() + e * chains_;
    const bool done = row[e] == instructions_[e] && e != static_cast<std::size_t>(running);
    if (e != stamp.chain && !done && row[stamp.chain] < stamp.index) {
      return false;
    }
  }
  return true;
}

}  // namespace systole::sim
