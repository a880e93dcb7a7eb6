#include "sim/report/attribution.hpp"

#include <algorithm>

namespace systole::sim {

void Attribution::charge(isa::SourceId source, Ticks time) {
  if (source.valid() && source.index() < shares_.size()) {
    shares_[source.index()] += time;
  } else {
    unknown_ += time;
  }
}

void Attribution::advance(Ticks to, isa::SourceId next) {
  while (frontier_ < to) {
    const auto busy = std::find_if(lanes_.begin(), lanes_.end(),
                                   [this](const Lane& lane) { return lane.until > frontier_; });
    const Ticks end = busy == lanes_.end() ? to : std::min(to, busy->until);
    charge(busy == lanes_.end() ? next : busy->source, end - frontier_);
    frontier_ = end;
  }
}

void Attribution::apply(int lane, isa::SourceId source, Ticks now, Ticks until) {
  advance(now, source);
  Lane& served = lanes_[static_cast<std::size_t>(lane)];
  if (until >= served.until) {
    served = {until, source};
  }
  last_ = source;
}

void Attribution::catch_up(Ticks now) {
  while (ahead_head_ < ahead_.size() && ahead_[ahead_head_].from <= now) {
    const Ahead& next = ahead_[ahead_head_++];
    apply(dma_lane, next.source, next.from, next.until);
  }
  if (ahead_head_ == ahead_.size()) {
    ahead_.clear();
    ahead_head_ = 0;
  } else if (ahead_head_ > 64 && ahead_head_ * 2 > ahead_.size()) {
    ahead_.erase(ahead_.begin(), ahead_.begin() + static_cast<std::ptrdiff_t>(ahead_head_));
    ahead_head_ = 0;
  }
}

void Attribution::serve(int lane, isa::SourceId source, Ticks now, Ticks until) {
  catch_up(now);
  apply(lane, source, now, until);
}

void Attribution::serve_dma(isa::SourceId source, Ticks from, Ticks until) {
  if (!ahead_.empty() && ahead_.back().source == source && from <= ahead_.back().until) {
    ahead_.back().until = std::max(ahead_.back().until, until);  // the DMA engines work side by side
    return;
  }
  ahead_.push_back({source, from, until});
}

void Attribution::finish(Ticks total) {
  catch_up(total);
  advance(total, last_);
}

}  // namespace systole::sim
