#include "sim/machine/semaphores.hpp"

#include <algorithm>

namespace systole::sim {

Semaphores::Semaphores(int count, Clock& clock)
    : semaphores_(static_cast<std::size_t>(count)), clock_(clock) {}

void Semaphores::settle(Semaphore& semaphore, Ticks now) {
  while (semaphore.head < semaphore.future.size() && semaphore.future[semaphore.head].at <= now) {
    semaphore.last = semaphore.future[semaphore.head++];
    ++semaphore.passed;
  }
  if (semaphore.head == semaphore.future.size()) {
    semaphore.future.clear();
    semaphore.head = 0;
  } else if (semaphore.head > 64 && semaphore.head * 2 > semaphore.future.size()) {
    semaphore.future.erase(semaphore.future.begin(),
                           semaphore.future.begin() + static_cast<std::ptrdiff_t>(semaphore.head));
    semaphore.head = 0;
  }
}

void Semaphores::increment(isa::SemaphoreId id, Ticks at, bool from_dma, int origin,
                           Ticks served) {
  Semaphore& semaphore = semaphores_[id.index()];
  auto place = semaphore.future.end();
  while (place != semaphore.future.begin() + static_cast<std::ptrdiff_t>(semaphore.head) &&
         (place - 1)->at > at) {
    --place;
  }
  semaphore.future.insert(place, {at, from_dma, origin, served});
  for (int e = 0; e < isa::engine_count; ++e) {
    if (waiting_[static_cast<std::size_t>(e)] == id) {
      clock_.wake(e, at);
    }
  }
}

Semaphores::Reach Semaphores::reach(isa::Engine engine, isa::SemaphoreWait wait, Ticks now) {
  Semaphore& semaphore = semaphores_[wait.semaphore.index()];
  settle(semaphore, now);
  if (semaphore.passed >= wait.at_least) {
    return {true, now, semaphore.last.from_dma, semaphore.last.origin, semaphore.last.served};
  }
  waiting_[static_cast<std::size_t>(engine)] = wait.semaphore;
  const std::size_t place =
      semaphore.head + static_cast<std::size_t>(wait.at_least - semaphore.passed) - 1;
  if (place < semaphore.future.size()) {
    const Increment& increment = semaphore.future[place];
    return {true, increment.at, increment.from_dma, increment.origin, increment.served};
  }
  return {};
}

std::int64_t Semaphores::value(isa::SemaphoreId id, Ticks now) const {
  const Semaphore& semaphore = semaphores_[id.index()];
  std::int64_t value = semaphore.passed;
  for (std::size_t i = semaphore.head; i < semaphore.future.size() && semaphore.future[i].at <= now;
       ++i) {
    ++value;
  }
  return value;
}

}  // namespace systole::sim
