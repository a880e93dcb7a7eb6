#include "compiler/lower/free_space.hpp"

#include <algorithm>
#include <iterator>

namespace systole::lower {

void FreeSpace::take(const Interval& bytes) {
  auto it = std::prev(free_.upper_bound(bytes.begin));
  const auto [left, right] = *it;
  free_.erase(it);
  if (left < bytes.begin) {
    free_[left] = bytes.begin;
  }
  if (bytes.end < right) {
    free_[bytes.end] = right;
  }
}

void FreeSpace::give(const Interval& bytes) {
  std::int64_t end = bytes.end;
  auto after = free_.lower_bound(bytes.begin);
  if (after != free_.end() && after->first == end) {
    end = after->second;
    after = free_.erase(after);
  }
  if (after != free_.begin()) {
    if (auto before = std::prev(after); before->second == bytes.begin) {
      before->second = end;
      return;
    }
  }
  free_.emplace_hint(after, bytes.begin, end);
}

std::optional<std::int64_t> FreeSpace::lowest(std::int64_t bytes, std::int64_t from,
                                              std::int64_t to,
                                              const std::vector<Interval>& avoid) const {
  auto it = free_.upper_bound(from);
  if (it != free_.begin()) {
    --it;
  }
  for (; it != free_.end() && it->first < to; ++it) {
    std::int64_t at = std::max(it->first, from);
    for (const Interval& taken : avoid) {
      if (at < taken.end && taken.begin < at + bytes) {
        at = taken.end;
      }
    }
    if (at < to && at + bytes <= it->second) {
      return at;
    }
  }
  return std::nullopt;
}

std::optional<std::int64_t> FreeSpace::highest(std::int64_t bytes) const {
  for (auto it = free_.rbegin(); it != free_.rend(); ++it) {
    if (it->second - it->first >= bytes) {
      return it->second - bytes;
    }
  }
  return std::nullopt;
}

void Recency::set(const Interval& bytes, std::int64_t since) {
  add_edges(bytes);
  for (auto it = steps_.find(bytes.begin); it != steps_.end() && it->first < bytes.end; ++it) {
    it->second = since;
  }
}

void Recency::add_edges(const Interval& bytes) {
  for (const std::int64_t edge : {bytes.begin, bytes.end}) {
    steps_.emplace(edge, std::prev(steps_.upper_bound(edge))->second);
  }
}

std::int64_t Recency::latest(const Interval& bytes) const {
  std::int64_t most = -1;
  for (auto it = std::prev(steps_.upper_bound(bytes.begin));
       it != steps_.end() && it->first < bytes.end; ++it) {
    most = std::max(most, it->second);
  }
  return most;
}

std::vector<std::int64_t> Recency::edges() const {
  std::vector<std::int64_t> out;
  for (const auto& [edge, since] : steps_) {
    out.push_back(edge);
  }
  return out;
}

void Sweep::go_back(std::size_t step) {
  for (; log_.size() > steps_[step]; log_.pop_back()) {
    if (log_.back().taken) {
      release(log_.back().buffer);
    } else {
      hold(log_.back().buffer);
    }
  }
  steps_.resize(step);
}

std::optional<std::size_t> Retreat::after_failure(std::size_t i) {
  const bool again = i < until_;
  if (again && from_ == 0) {
    return std::nullopt;
  }
  window_ = again ? 4 * window_ : least_window;
  from_ = i > window_ ? i - window_ : 0;
  until_ = i + window_;
  return from_;
}

}  // namespace systole::lower
