// The state of one memory while buffers are placed in the order of their first access: which bytes are free, when the
// others were last in use, and a sweep that can go back to an earlier buffer. Offsets in bytes; times are indices of
// instructions. For allocate.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "compiler/lower/tile.hpp"

namespace systole::lower {

struct Interval {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  auto operator<=>(const Interval&) const = default;
};

// Free bytes as disjoint intervals, neighbours merged.
class FreeSpace {
 public:
  FreeSpace(std::int64_t from, std::int64_t to) {
    if (from < to) {
      free_[from] = to;
    }
  }

  void take(const Interval& bytes);
  void give(const Interval& bytes);

  // The lowest (or highest) place for `bytes` that starts in [from, to) and meets none of `avoid` (sorted by begin).
  [[nodiscard]] std::optional<std::int64_t> lowest(std::int64_t bytes, std::int64_t from,
                                                   std::int64_t to,
                                                   const std::vector<Interval>& avoid) const;
  [[nodiscard]] std::optional<std::int64_t> highest(std::int64_t bytes) const;

 private:
  std::map<std::int64_t, std::int64_t> free_;  // begin -> end
};

// When the bytes of a memory were last in use, as a step function of their place.
class Recency {
 public:
  void set(const Interval& bytes, std::int64_t since);
  void add_edges(const Interval& bytes);
  [[nodiscard]] std::int64_t latest(const Interval& bytes) const;
  [[nodiscard]] std::vector<std::int64_t> edges() const;

 private:
  std::map<std::int64_t, std::int64_t> steps_{{0, -1}};  // from here on: the last use
};

// A buffer that holds its bytes up to its last access.
struct Held {
  std::int64_t last = 0;
  BufferId id;
  Interval bytes;
  auto operator<=>(const Held&) const = default;
};

// Buffers one after another by first access: a step for each.
class Sweep {
 public:
  explicit Sweep(FreeSpace space) : space_(std::move(space)) {}

  // The next step, at a first access: what died before gives its bytes back, and died(held) is called for it.
  template <class F>
  void step(std::int64_t now, F&& died) {
    steps_.push_back(log_.size());
    while (!held_.empty() && held_.begin()->last < now) {
      const Held dead = *held_.begin();
      release(dead);
      log_.push_back({dead, false});
      died(dead);
    }
  }
  void take(const Held& buffer) {
    hold(buffer);
    log_.push_back({buffer, true});
  }
  // To before that step; steps count from 0.
  void go_back(std::size_t step);

  [[nodiscard]] const FreeSpace& space() const { return space_; }
  [[nodiscard]] const std::set<Held>& held() const { return held_; }

 private:
  struct Event {
    Held buffer;
    bool taken = false;
  };
  void hold(const Held& buffer) {
    space_.take(buffer.bytes);
    held_.insert(buffer);
  }
  void release(const Held& buffer) {
    space_.give(buffer.bytes);
    held_.erase(buffer);
  }

  FreeSpace space_;
  std::set<Held> held_;
  std::vector<Event> log_;
  std::vector<std::size_t> steps_;  // length of the log before each
};

// Where a placement that failed goes back to, and how far all is placed compactly from there. Windows grow fourfold while
// one failure follows another inside them, so that all of them together take time linear in the buffers.
class Retreat {
 public:
  // The step to go back to after a failure at step i; none: all before i was compact already.
  [[nodiscard]] std::optional<std::size_t> after_failure(std::size_t i);
  [[nodiscard]] bool compact(std::size_t i) const { return from_ <= i && i < until_; }
  [[nodiscard]] std::size_t until() const { return until_; }

 private:
  static constexpr std::size_t least_window = 32;
  std::size_t window_ = 0;
  std::size_t from_ = 0;
  std::size_t until_ = 0;
};

}  // namespace systole::lower
