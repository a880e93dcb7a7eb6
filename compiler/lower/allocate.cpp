// Places buffers: SBUF offsets (the same in every partition) and PSUM banks.
//
// A buffer lives from its first to its last access in the sequential order; two that live at one
// moment must not overlap. Lasting buffers (resident tensors, constants) lie at the top of SBUF,
// first fit downwards. All others are passing: they are placed from below by next fit, the search
// going on where the last one ended. So freed bytes are reused as late as possible, and the loads
// that fill the next buffer need not wait for the readers of the last one: that is all there is to
// double buffering. Of PSUM's banks, those that have been free for longest are taken: what is
// evicted only now would hold up the next accumulation.
//
// Passing buffers that hold what the program computes rotate in a zone of their own at the bottom,
// a few times as large as they need, and loads keep below the lasting ones: a load can run ahead
// until it needs bytes of a computed value, which comes and goes only with the computation.
//
// Lasting buffers may take turns as well, in more room than they need at one moment: what makes the
// next one need not wait for the last reader of the one before. That leaves less to loads that run
// ahead; which of the two counts for more, the caller finds out.
//
// Bytes reused late are bytes scattered; where that leaves no hole for a buffer, the placement
// starts over more compactly: passing buffers by first fit, then the lasting ones by decreasing
// size, then all of them so. What does not fit even then is the user's Error, with the operator,
// the bytes and the limit.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>

#include "compiler/lower/stages.hpp"

namespace systole::lower {
namespace {

// Buffers start on multiples of a power of two that is small beside the memory (64 bytes on the
// real machines): round places keep freed holes usable by the next buffer.
std::int64_t alignment(const isa::Machine& machine) {
  std::int64_t bytes = 4;
  while (bytes < 64 && bytes * 2048 < machine.sbuf_bytes) {
    bytes *= 2;
  }
  return bytes;
}

struct Life {
  std::int64_t begin = -1;  // first and last instruction that accesses it; -1: none does
  std::int64_t end = -1;
  bool loaded = false;  // from HBM
};

bool is_load(const TileInstruction& item) {
  const auto* dma = item.instruction.operation.get_if<isa::Dma>();
  return dma != nullptr && dma->source.space == isa::Space::hbm &&
         dma->destination.space != isa::Space::hbm;
}

IdVector<BufferId, Life> lives_of(const TileProgram& program) {
  IdVector<BufferId, Life> lives(program.buffers.size());
  for (std::size_t i = 0; i < program.instructions.size(); ++i) {
    const TileInstruction& item = program.instructions[i];
    for (const BufferId id : item.buffers) {
      Life& life = lives[id];
      if (life.begin < 0) {
        life.begin = static_cast<std::int64_t>(i);
      }
      life.end = static_cast<std::int64_t>(i);
      life.loaded = life.loaded || is_load(item);
    }
  }
  return lives;
}

// Free bytes of one memory as disjoint intervals, neighbours merged.
class FreeSpace {
 public:
  explicit FreeSpace(std::int64_t limit) {
    if (limit > 0) {
      free_[0] = limit;
    }
  }

  void take(std::int64_t begin, std::int64_t end) {
    auto it = std::prev(free_.upper_bound(begin));
    const auto [left, right] = *it;
    free_.erase(it);
    if (left < begin) {
      free_[left] = begin;
    }
    if (end < right) {
      free_[end] = right;
    }
  }

  void give(std::int64_t begin, std::int64_t end) {
    auto after = free_.lower_bound(begin);
    if (after != free_.end() && after->first == end) {
      end = after->second;
      after = free_.erase(after);
    }
    if (after != free_.begin()) {
      if (auto before = std::prev(after); before->second == begin) {
        before->second = end;
        return;
      }
    }
    free_.emplace_hint(after, begin, end);
  }

  // The lowest (or highest) place for `bytes` that starts in [from, to) and meets none of `avoid`
  // (sorted by begin).
  struct Interval {
    std::int64_t begin = 0;
    std::int64_t end = 0;
  };
  [[nodiscard]] std::optional<std::int64_t> lowest(std::int64_t bytes, std::int64_t from,
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
  [[nodiscard]] std::optional<std::int64_t> highest(std::int64_t bytes) const {
    for (auto it = free_.rbegin(); it != free_.rend(); ++it) {
      if (it->second - it->first >= bytes) {
        return it->second - bytes;
      }
    }
    return std::nullopt;
  }

 private:
  std::map<std::int64_t, std::int64_t> free_;  // begin -> end
};
using Interval = FreeSpace::Interval;

// When the bytes of a memory were last in use, as a step function of their place.
class Recency {
 public:
  void set(std::int64_t begin, std::int64_t end, std::int64_t since) {
    add_edges(begin, end);
    for (auto it = steps_.find(begin); it != steps_.end() && it->first < end; ++it) {
      it->second = since;
    }
  }
  void add_edges(std::int64_t begin, std::int64_t end) {
    for (const std::int64_t edge : {begin, end}) {
      steps_.emplace(edge, std::prev(steps_.upper_bound(edge))->second);
    }
  }
  [[nodiscard]] std::int64_t latest(std::int64_t begin, std::int64_t end) const {
    std::int64_t most = -1;
    for (auto it = std::prev(steps_.upper_bound(begin)); it != steps_.end() && it->first < end;
         ++it) {
      most = std::max(most, it->second);
    }
    return most;
  }
  [[nodiscard]] std::vector<std::int64_t> edges() const {
    std::vector<std::int64_t> out;
    for (const auto& [edge, since] : steps_) {
      out.push_back(edge);
    }
    return out;
  }

 private:
  std::map<std::int64_t, std::int64_t> steps_{{0, -1}};  // from here on: the last use
};

enum class Effort : std::uint8_t { rotate, first_fit, lasting_by_size, all_by_size };
constexpr std::size_t most_by_size = 20000;  // buffers: packing is quadratic

// Where buffers start by preference, and where the search for the next one goes on.
struct Zone {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t cursor = 0;
};
constexpr std::int64_t computed_turns = 4;  // zone of computed buffers: so often their live bytes,
constexpr std::int64_t computed_share = 4;  // but twice, or at most this part of the memory
constexpr std::int64_t lasting_share =
    60;  // percent of the memory that lasting ones may take in turn

constexpr std::int64_t lasting_loads_part =
    16;  // of the memory, for lasting buffers that are loaded, at most

struct Failure {
  BufferId buffer;
  std::int64_t instruction = 0;
};

class Placement {
 public:
  Placement(const TileProgram& program, const IdVector<BufferId, Life>& lives, isa::Space space,
            std::int64_t limit, std::int64_t unit, Effort effort, int lasting_turns)
      : program_(program),
        lives_(lives),
        space_(space),
        limit_(limit / unit * unit),
        unit_(unit),
        effort_(effort),
        lasting_turns_(lasting_turns),
        free_since_(static_cast<std::size_t>(limit_ / unit_), -1) {}

  [[nodiscard]] std::optional<Failure> place(IdVector<BufferId, std::int64_t>& offsets,
                                             std::int64_t& peak) {
    collect();
    divide();
    const bool by_size = effort_ == Effort::lasting_by_size || effort_ == Effort::all_by_size;
    const std::optional<Failure> failure = by_size ? pack_lasting(offsets) : drop_lasting(offsets);
    for (const BufferId id : lasting_) {
      zones_[1].end = std::min(zones_[1].end, offsets[id]);
    }
    return failure ? failure : place_passing(offsets, peak);
  }

 private:
  [[nodiscard]] std::int64_t room(BufferId id) const {
    return (program_.buffers[id].bytes + unit_ - 1) / unit_ * unit_;
  }
  [[nodiscard]] const Life& life(BufferId id) const { return lives_[id]; }
  [[nodiscard]] Zone& zone(BufferId id) { return zones_[life(id).loaded ? 1 : 0]; }
  [[nodiscard]] bool lasting(BufferId id) const {
    return program_.buffers[id].lasting || effort_ == Effort::all_by_size;
  }

  // Live buffers of this memory by first access; ties by id, so the result depends on the program
  // alone.
  void collect() {
    for (const BufferId id : program_.buffers.ids()) {
      if (program_.buffers[id].space == space_ && life(id).begin >= 0 &&
          program_.buffers[id].bytes > 0) {
        order_.push_back(id);
      }
    }
    std::stable_sort(order_.begin(), order_.end(),
                     [this](BufferId a, BufferId b) { return life(a).begin < life(b).begin; });
    for (const BufferId id : order_) {
      if (lasting(id)) {
        lasting_.push_back(id);
      }
    }
  }

  // The most bytes of these buffers (in order of first access) that live at one moment.
  [[nodiscard]] std::int64_t peak_of(const std::vector<BufferId>& buffers) const {
    std::multimap<std::int64_t, std::int64_t> ends;  // bytes by last access
    std::int64_t live = 0;
    std::int64_t most = 0;
    for (const BufferId id : buffers) {
      while (!ends.empty() && ends.begin()->first < life(id).begin) {
        live -= ends.begin()->second;
        ends.erase(ends.begin());
      }
      live += room(id);
      most = std::max(most, live);
      ends.emplace(life(id).end, room(id));
    }
    return most;
  }

  // Of computed passing buffers.
  [[nodiscard]] std::int64_t computed_peak() const {
    std::vector<BufferId> computed;
    std::ranges::copy_if(order_, std::back_inserter(computed),
                         [this](BufferId id) { return !lasting(id) && !life(id).loaded; });
    return peak_of(computed);
  }

  // Zones of computed and of loaded buffers; one for all if there is but one kind, or if two
  // turns of the computed ones take more than half of the memory.
  void divide() {
    zones_ = {Zone{0, limit_, 0}, Zone{0, limit_, 0}};
    const std::int64_t peak = computed_peak();
    const bool loads = std::ranges::any_of(order_, [this](BufferId id) { return life(id).loaded; });
    if (!loads || peak == 0 || 2 * peak > limit_ / 2) {
      return;
    }
    zones_[0].end = std::max(
        2 * peak, std::min(computed_turns * peak, limit_ / computed_share / unit_ * unit_));
    zones_[1].begin = zones_[1].cursor = zones_[0].end;
  }

  // A load into bytes of a computed value would hold up all loads after it until the value's last reader is done: lasting
  // buffers that are loaded get bytes of their own at the top, where these are few.
  [[nodiscard]] std::int64_t room_for_lasting_loads() const {
    if (space_ != isa::Space::sbuf || effort_ != Effort::rotate) {
      return 0;
    }
    std::vector<BufferId> loads;
    std::ranges::copy_if(lasting_, std::back_inserter(loads),
                         [this](BufferId id) { return life(id).loaded; });
    std::int64_t all = 0;
    for (const BufferId id : loads) {
      all += room(id);
    }
    const std::int64_t most = limit_ / lasting_loads_part / unit_ * unit_;
    return peak_of(loads) <= most ? std::min(all, most) : 0;
  }

  // Lasting buffers one after another as they appear, each as high as it goes; or in turns, where
  // bytes have been out of use for longest.
  std::optional<Failure> drop_lasting(IdVector<BufferId, std::int64_t>& offsets) {
    const std::int64_t loads = room_for_lasting_loads();
    FreeSpace space(limit_ - loads);
    FreeSpace loaded(loads > 0 ? limit_ : 0);
    if (loads > 0) {
      loaded.take(0, limit_ - loads);
    }
    std::multimap<std::int64_t, BufferId> ends;
    Recency recency;
    const std::int64_t floor = std::max(limit_ - lasting_turns_ * peak_of(lasting_),
                                        limit_ - limit_ * lasting_share / 100);
    const auto own = [&](BufferId id) -> FreeSpace& {
      return loads > 0 && life(id).loaded ? loaded : space;
    };
    for (const BufferId id : lasting_) {
      while (!ends.empty() && ends.begin()->first < life(id).begin) {
        const BufferId dead = ends.begin()->second;
        own(dead).give(offsets[dead], offsets[dead] + room(dead));
        recency.set(offsets[dead], offsets[dead] + room(dead), life(dead).end);
        ends.erase(ends.begin());
      }
      std::optional<std::int64_t> at = own(id).highest(room(id));
      if (!at) {
        return Failure{id, life(id).begin};
      }
      if (loads > 0 && life(id).loaded) {
        at = longest_unused(loaded, recency, id, *at, limit_ - loads);
      } else if (lasting_turns_ > 0 && effort_ == Effort::rotate) {
        at = longest_unused(space, recency, id, *at, floor);
      }
      offsets[id] = *at;
      own(id).take(*at, *at + room(id));
      recency.add_edges(*at, *at + room(id));
      ends.emplace(life(id).end, id);
    }
    return std::nullopt;
  }

  // The place below an edge of others, not under `floor`, that has been out of use for longest; of
  // several the highest. `best`: where it goes otherwise.
  [[nodiscard]] std::int64_t longest_unused(const FreeSpace& space, const Recency& recency,
                                            BufferId id, std::int64_t best,
                                            std::int64_t floor) const {
    std::int64_t best_since = recency.latest(best, best + room(id));
    for (const std::int64_t top : recency.edges()) {
      const std::int64_t at = top - room(id);
      if (at < floor || space.lowest(room(id), at, at + 1, {}) != at) {
        continue;
      }
      const std::int64_t since = recency.latest(at, top);
      if (since < best_since || (since == best_since && at > best)) {
        best = at;
        best_since = since;
      }
    }
    return best;
  }

  // Lasting buffers by decreasing size, each at the highest place free for its whole life.
  // Quadratic; the last resort.
  std::optional<Failure> pack_lasting(IdVector<BufferId, std::int64_t>& offsets) {
    std::vector<BufferId> by_size = lasting_;
    std::stable_sort(by_size.begin(), by_size.end(),
                     [this](BufferId a, BufferId b) { return room(a) > room(b); });
    for (std::size_t i = 0; i < by_size.size(); ++i) {
      const BufferId id = by_size[i];
      std::vector<Interval> taken;
      for (std::size_t j = 0; j < i; ++j) {
        const BufferId other = by_size[j];
        if (life(other).begin <= life(id).end && life(id).begin <= life(other).end) {
          taken.push_back({offsets[other], offsets[other] + room(other)});
        }
      }
      std::sort(taken.begin(), taken.end(),
                [](const Interval& a, const Interval& b) { return a.end > b.end; });
      std::int64_t top = limit_;
      for (const Interval& interval : taken) {
        if (interval.end > top - room(id)) {
          top = std::min(top, interval.begin);
        }
      }
      if (top < room(id)) {
        return Failure{id, life(id).begin};
      }
      offsets[id] = top - room(id);
    }
    return std::nullopt;
  }

  std::optional<Failure> place_passing(IdVector<BufferId, std::int64_t>& offsets,
                                       std::int64_t& peak) {
    FreeSpace space(limit_);
    std::multimap<std::int64_t, BufferId> ends;
    std::size_t next_lasting = 0;
    std::int64_t live = 0;
    for (const BufferId id : order_) {
      while (!ends.empty() && ends.begin()->first < life(id).begin) {
        const BufferId dead = ends.begin()->second;
        space.give(offsets[dead], offsets[dead] + room(dead));
        set_free_since(offsets[dead], room(dead), life(dead).end);
        live -= room(dead);
        ends.erase(ends.begin());
      }
      if (!lasting(id)) {
        const std::optional<std::int64_t> at = find(space, id, coming(next_lasting, id, offsets));
        if (!at) {
          return Failure{id, life(id).begin};
        }
        offsets[id] = *at;
        zone(id).cursor = *at + room(id);
      } else {
        ++next_lasting;
      }
      space.take(offsets[id], offsets[id] + room(id));
      ends.emplace(life(id).end, id);
      live += room(id);
      peak = std::max(peak, live);
    }
    return std::nullopt;
  }

  // The places of lasting buffers that appear while `id` lives, ascending.
  [[nodiscard]] std::vector<Interval> coming(
      std::size_t next, BufferId id, const IdVector<BufferId, std::int64_t>& offsets) const {
    std::vector<Interval> taken;
    for (; next < lasting_.size() && life(lasting_[next]).begin <= life(id).end; ++next) {
      taken.push_back({offsets[lasting_[next]], offsets[lasting_[next]] + room(lasting_[next])});
    }
    std::sort(taken.begin(), taken.end(),
              [](const Interval& a, const Interval& b) { return a.begin < b.begin; });
    return taken;
  }

  void set_free_since(std::int64_t begin, std::int64_t bytes, std::int64_t since) {
    if (space_ == isa::Space::psum) {
      std::fill_n(free_since_.begin() + begin / unit_, bytes / unit_, since);
    }
  }

  // The banks that have been free for longest; of several, the first from the cursor on.
  [[nodiscard]] std::optional<std::int64_t> longest_free(const FreeSpace& space, BufferId id,
                                                         const std::vector<Interval>& avoid) {
    const std::int64_t count = limit_ / unit_;
    std::optional<std::int64_t> best;
    std::int64_t best_since = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t at = (zone(id).cursor / unit_ + i) % count * unit_;
      if (space.lowest(room(id), at, at + 1, avoid) != at) {
        continue;
      }
      const auto first = free_since_.begin() + at / unit_;
      const std::int64_t since = *std::max_element(first, first + room(id) / unit_);
      if (!best || since < best_since) {
        best = at;
        best_since = since;
      }
    }
    return best;
  }

  [[nodiscard]] std::optional<std::int64_t> find(const FreeSpace& space, BufferId id,
                                                 const std::vector<Interval>& avoid) {
    if (effort_ == Effort::rotate && space_ == isa::Space::psum) {
      return longest_free(space, id, avoid);
    }
    if (effort_ == Effort::rotate) {
      const Zone& own = zone(id);
      const std::int64_t last = own.end - room(id);
      for (const auto& [from, to] :
           {std::pair(own.cursor, last + 1), std::pair(own.begin, last + 1),
            std::pair(own.cursor, limit_)}) {
        if (const auto at = space.lowest(room(id), from, to, avoid)) {
          return at;
        }
      }
    }
    return space.lowest(room(id), 0, limit_, avoid);
  }

  const TileProgram& program_;
  const IdVector<BufferId, Life>& lives_;
  isa::Space space_;
  std::int64_t limit_;
  std::int64_t unit_;
  Effort effort_;
  int lasting_turns_;
  std::vector<std::int64_t> free_since_;  // of PSUM's banks: the last instruction that used them
  std::array<Zone, 2> zones_;
  std::vector<BufferId> order_;
  std::vector<BufferId> lasting_;
};

[[noreturn]] void refuse(const TileProgram& program, const IdVector<BufferId, Life>& lives,
                         const Failure& failure, std::string_view memory, std::int64_t limit) {
  std::int64_t live = 0;
  const Buffer& wanted = program.buffers[failure.buffer];
  for (const BufferId id : program.buffers.ids()) {
    const Life& life = lives[id];
    if (id != failure.buffer && program.buffers[id].space == wanted.space && life.begin >= 0 &&
        life.begin <= failure.instruction && failure.instruction <= life.end) {
      live += program.buffers[id].bytes;
    }
  }
  const isa::SourceId source =
      program.instructions[static_cast<std::size_t>(failure.instruction)].instruction.source;
  const std::string where = source.valid() ? program.sources[source].name : program.name;
  throw Error(
      where,
      fmt::format("needs {} bytes per partition of {} for {}, beside {} in use, of {}",
                  wanted.bytes, memory,
                  wanted.name.empty() ? "a buffer" : "\"" + wanted.name + "\"", live, limit),
      "use a machine with more memory, or smaller tensors");
}

}  // namespace

Allocation allocate(const TileProgram& program, const isa::Machine& machine, int lasting_turns) {
  const IdVector<BufferId, Life> lives = lives_of(program);
  Allocation allocation;
  allocation.offsets.resize(program.buffers.size(), 0);
  const auto place = [&](isa::Space space, std::int64_t limit, std::int64_t unit,
                         std::string_view memory) {
    std::int64_t peak = 0;
    std::optional<Failure> failure;
    for (const Effort effort :
         {Effort::rotate, Effort::first_fit, Effort::lasting_by_size, Effort::all_by_size}) {
      peak = 0;
      const std::optional<Failure> now =
          Placement(program, lives, space, limit, unit, effort, lasting_turns)
              .place(allocation.offsets, peak);
      if (!now) {
        return peak;
      }
      failure = failure ? failure : now;  // the first is where the order of the program runs out
      if (program.buffers.size() > most_by_size && effort == Effort::lasting_by_size) {
        break;
      }
    }
    refuse(program, lives, *failure, memory, limit);
  };
  allocation.sbuf_peak = place(isa::Space::sbuf, machine.sbuf_bytes, alignment(machine), "SBUF");
  allocation.psum_peak = place(isa::Space::psum, machine.psum_bank_bytes * machine.psum_banks,
                               machine.psum_bank_bytes, "PSUM");
  return allocation;
}

}  // namespace systole::lower
