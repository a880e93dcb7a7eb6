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

Clocks::Clocks(int semaphores, int rings)
    : chains_(static_cast<std::size_t>(isa::engine_count + rings)),
      known_(static_cast<std::size_t>(isa::engine_count) * chains_, 0),
      ring_count_(static_cast<std::size_t>(rings), 0),
      signals_(static_cast<std::size_t>(semaphores)),
      joined_(static_cast<std::size_t>(semaphores) * isa::engine_count, 0),
      current_snapshot_(isa::engine_count, none) {}

std::uint32_t Clocks::snapshot_of(isa::Engine engine) {
  std::uint32_t& current = current_snapshot_[static_cast<std::size_t>(engine)];
  if (current == none) {
    current = static_cast<std::uint32_t>(snapshots_.size() / chains_);
    const std::uint32_t* row = known(engine);
    snapshots_.insert(snapshots_.end(), row, row + chains_);
  }
  return current;
}

void Clocks::join(isa::Engine engine, isa::SemaphoreWait wait) {
  const std::size_t e = static_cast<std::size_t>(engine);
  const auto& signals = signals_[wait.semaphore.index()];
  std::uint32_t& joined = joined_[wait.semaphore.index() * isa::engine_count + e];
  const auto end = static_cast<std::uint32_t>(
      std::min<std::size_t>(signals.size(), static_cast<std::size_t>(std::max(0, wait.at_least))));
  std::uint32_t* row = known_.data() + e * chains_;
  for (std::uint32_t i = end; i-- > joined;) {
    const Signal& signal = signals[i];
    if (row[signal.stamp.chain] >= signal.stamp.index) {
      continue;  // what it knew is known already
    }
    const std::uint32_t* other =
        snapshots_.data() + static_cast<std::size_t>(signal.snapshot) * chains_;
    for (std::size_t c = 0; c < chains_; ++c) {
      row[c] = std::max(row[c], other[c]);
    }
    row[signal.stamp.chain] = std::max(row[signal.stamp.chain], signal.stamp.index);
    current_snapshot_[e] = none;
  }
  joined = std::max(joined, end);
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
  // A snapshot may be older than the engine's own position; a transfer's trigger must be in it.
  if (stamp.chain != e) {
    current_snapshot_[e] = none;
  }
  signals_[semaphore.index()].push_back({stamp, snapshot_of(engine)});
}

bool Clocks::settled(Stamp stamp) const {
  for (std::size_t e = 0; e < isa::engine_count; ++e) {
    if (e != stamp.chain && known_[e * chains_ + stamp.chain] < stamp.index) {
      return false;
    }
  }
  return true;
}

}  // namespace systole::sim
