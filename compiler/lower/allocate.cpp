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
// Bytes reused late are bytes scattered. Where that leaves no hole for a buffer, the placement goes
// back and places what lives around it compactly, passing buffers by first fit, lasting ones by
// decreasing size; the rest of the program keeps its turns. If even a window that reaches back to
// the beginning leaves no hole, the whole placement starts over: passing buffers by first fit, then
// the lasting ones by decreasing size, then all of them so. What does not fit even then is the
// user's Error, with the operator, the bytes and the limit.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "compiler/lower/free_space.hpp"
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

enum class Effort : std::uint8_t { rotate, first_fit, lasting_by_size, all_by_size };
constexpr std::size_t most_by_size = 20000;  // buffers: packing is quadratic
constexpr std::size_t most_repacked = 1024;  // around one place

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

  [[nodiscard]] std::optional<Failure> place(IdVector<BufferId, std::int64_t>& offsets) {
    collect();
    divide();
    const bool by_size = effort_ == Effort::lasting_by_size || effort_ == Effort::all_by_size;
    const std::optional<Failure> failure =
        by_size ? pack(lasting_, {}, limit_, offsets) : drop_lasting(offsets);
    for (const BufferId id : lasting_) {
      zones_[1].end = std::min(zones_[1].end, offsets[id]);
    }
    return failure ? failure : place_passing(offsets);
  }
  // The most bytes that live at one moment.
  [[nodiscard]] std::int64_t peak() const { return peak_of(order_); }
  // Where the placement went back and placed what is around more compactly.
  [[nodiscard]] const std::vector<Failure>& tight() const { return tight_; }

 private:
  [[nodiscard]] std::int64_t room(BufferId id) const {
    return (program_.buffers[id].bytes + unit_ - 1) / unit_ * unit_;
  }
  [[nodiscard]] Interval bytes_of(BufferId id,
                                  const IdVector<BufferId, std::int64_t>& offsets) const {
    return {offsets[id], offsets[id] + room(id)};
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
  [[nodiscard]] std::int64_t room_for_lasting_loads(const std::vector<BufferId>& loads) const {
    if (space_ != isa::Space::sbuf || effort_ != Effort::rotate) {
      return 0;
    }
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
    const std::int64_t floor = lasting_turns_ > 0 && effort_ == Effort::rotate
                                   ? std::max(limit_ - lasting_turns_ * peak_of(lasting_),
                                              limit_ - limit_ * lasting_share / 100)
                                   : limit_;
    std::vector<BufferId> loads;
    std::vector<BufferId> others;
    for (const BufferId id : lasting_) {
      (life(id).loaded ? loads : others).push_back(id);
    }
    const std::int64_t top = limit_ - room_for_lasting_loads(loads);
    if (top == limit_) {
      return drop(lasting_, {0, top}, floor, offsets);
    }
    const std::optional<Failure> failure = drop(loads, {top, limit_}, top, offsets);
    return failure ? failure : drop(others, {0, top}, floor, offsets);
  }

  // Those buffers (in order of first access) into those bytes; taking turns from `floor` on. Around one for which there is
  // no hole they are packed by size.
  std::optional<Failure> drop(const std::vector<BufferId>& buffers, const Interval& bytes,
                              std::int64_t floor, IdVector<BufferId, std::int64_t>& offsets) {
    Sweep sweep(FreeSpace(bytes.begin, bytes.end));
    Recency recency;
    Retreat retreat;
    for (std::size_t i = 0; i < buffers.size();) {
      const BufferId id = buffers[i];
      sweep.step(life(id).begin, [&](const Held& dead) { recency.set(dead.bytes, dead.last); });
      if (!retreat.compact(i)) {
        const std::optional<std::int64_t> at = sweep.space().highest(room(id));
        if (!at) {
          const Failure failure{id, life(id).begin};
          const auto back = repack(buffers, i, bytes, sweep, retreat, offsets);
          if (!back) {
            return failure;
          }
          tight_.push_back(failure);
          i = *back;
          continue;
        }
        offsets[id] =
            floor < bytes.end ? longest_unused(sweep.space(), recency, id, *at, floor) : *at;
      }
      sweep.take({life(id).end, id, bytes_of(id, offsets)});
      recency.add_edges(bytes_of(id, offsets));
      ++i;
    }
    return std::nullopt;
  }

  // Packs those around buffer i; the sweep goes back to the first of them.
  std::optional<std::size_t> repack(const std::vector<BufferId>& buffers, std::size_t i,
                                    const Interval& bytes, Sweep& sweep, Retreat& retreat,
                                    IdVector<BufferId, std::int64_t>& offsets) {
    while (const std::optional<std::size_t> back = retreat.after_failure(i)) {
      const std::size_t end = std::min(retreat.until(), buffers.size());
      if (end - *back > most_repacked) {
        break;
      }
      sweep.go_back(*back);
      const std::vector<BufferId> around(buffers.begin() + static_cast<std::ptrdiff_t>(*back),
                                         buffers.begin() + static_cast<std::ptrdiff_t>(end));
      if (!pack(around, obstacles(sweep.held()), bytes.end, offsets)) {
        return back;
      }
    }
    return std::nullopt;
  }

  // The place below an edge of others, not under `floor`, that has been out of use for longest; of
  // several the highest. `best`: where it goes otherwise.
  [[nodiscard]] std::int64_t longest_unused(const FreeSpace& space, const Recency& recency,
                                            BufferId id, std::int64_t best,
                                            std::int64_t floor) const {
    std::int64_t best_since = recency.latest({best, best + room(id)});
    for (const std::int64_t top : recency.edges()) {
      const std::int64_t at = top - room(id);
      if (at < floor || space.lowest(room(id), at, at + 1, {}) != at) {
        continue;
      }
      const std::int64_t since = recency.latest({at, top});
      if (since < best_since || (since == best_since && at > best)) {
        best = at;
        best_since = since;
      }
    }
    return best;
  }

  // Bytes that are taken from one instruction to another.
  struct Obstacle {
    std::int64_t first = 0;
    std::int64_t last = 0;
    Interval bytes;
  };
  [[nodiscard]] Obstacle obstacle(BufferId id,
                                  const IdVector<BufferId, std::int64_t>& offsets) const {
    return {life(id).begin, life(id).end, bytes_of(id, offsets)};
  }
  static std::vector<Obstacle> obstacles(const std::set<Held>& held) {
    std::vector<Obstacle> out;
    for (const Held& buffer : held) {
      out.push_back({-1, buffer.last, buffer.bytes});
    }
    return out;
  }

  // Buffers by decreasing size, each at the highest place below `limit` that is free for its whole life, beside what is
  // in the way already. Quadratic.
  std::optional<Failure> pack(std::vector<BufferId> by_size, std::vector<Obstacle> in_the_way,
                              std::int64_t limit, IdVector<BufferId, std::int64_t>& offsets) const {
    std::stable_sort(by_size.begin(), by_size.end(),
                     [this](BufferId a, BufferId b) { return room(a) > room(b); });
    for (const BufferId id : by_size) {
      std::vector<Interval> taken;
      for (const Obstacle& other : in_the_way) {
        if (other.first <= life(id).end && life(id).begin <= other.last) {
          taken.push_back(other.bytes);
        }
      }
      std::sort(taken.begin(), taken.end(),
                [](const Interval& a, const Interval& b) { return a.end > b.end; });
      std::int64_t top = limit;
      for (const Interval& interval : taken) {
        if (interval.end > top - room(id)) {
          top = std::min(top, interval.begin);
        }
      }
      if (top < room(id)) {
        return Failure{id, life(id).begin};
      }
      offsets[id] = top - room(id);
      in_the_way.push_back(obstacle(id, offsets));
    }
    return std::nullopt;
  }

  std::optional<Failure> place_passing(IdVector<BufferId, std::int64_t>& offsets) {
    Sweep sweep(FreeSpace(0, limit_));
    Retreat retreat;
    std::size_t packed = 0;  // up to there places are known
    std::size_t next_lasting = 0;
    for (std::size_t i = 0; i < order_.size();) {
      const BufferId id = order_[i];
      sweep.step(life(id).begin, [&](const Held& dead) { set_free_since(dead); });
      if (!lasting(id) && i >= packed) {
        const auto at =
            find(sweep.space(), id, coming(next_lasting, id, offsets), retreat.compact(i));
        if (!at) {
          const Failure failure{id, life(id).begin};
          const std::optional<std::size_t> back =
              effort_ == Effort::rotate ? retreat.after_failure(i) : std::nullopt;
          if (!back) {
            return failure;
          }
          if (tight_.empty() || tight_.back().buffer != id) {
            tight_.push_back(failure);
          }
          sweep.go_back(*back);
          for (; i > *back; --i) {
            next_lasting -= lasting(order_[i - 1]) ? 1U : 0U;
          }
          const std::size_t end = std::min(retreat.until(), order_.size());
          packed = pack_passing({i, end}, next_lasting, sweep.held(), offsets) ? end : i;
          continue;
        }
        offsets[id] = *at;
        zone(id).cursor = *at + room(id);
      }
      next_lasting += lasting(id) ? 1U : 0U;
      sweep.take({life(id).end, id, bytes_of(id, offsets)});
      ++i;
    }
    return std::nullopt;
  }

  // Packs the passing buffers of these steps, if they are few and can be; otherwise they go by first fit.
  bool pack_passing(const std::pair<std::size_t, std::size_t>& steps, std::size_t next_lasting,
                    const std::set<Held>& held, IdVector<BufferId, std::int64_t>& offsets) const {
    if (steps.second - steps.first > most_repacked) {
      return false;
    }
    std::vector<BufferId> buffers;
    std::int64_t last = 0;
    for (std::size_t i = steps.first; i < steps.second; ++i) {
      if (!lasting(order_[i])) {
        buffers.push_back(order_[i]);
        last = std::max(last, life(order_[i]).end);
      }
    }
    std::vector<Obstacle> in_the_way = obstacles(held);
    for (; next_lasting < lasting_.size() && life(lasting_[next_lasting]).begin <= last;
         ++next_lasting) {
      in_the_way.push_back(obstacle(lasting_[next_lasting], offsets));
    }
    return !pack(std::move(buffers), std::move(in_the_way), limit_, offsets);
  }

  // The places of lasting buffers that appear while `id` lives, ascending.
  [[nodiscard]] std::vector<Interval> coming(
      std::size_t next, BufferId id, const IdVector<BufferId, std::int64_t>& offsets) const {
    std::vector<Interval> taken;
    for (; next < lasting_.size() && life(lasting_[next]).begin <= life(id).end; ++next) {
      taken.push_back(bytes_of(lasting_[next], offsets));
    }
    std::sort(taken.begin(), taken.end());
    return taken;
  }

  void set_free_since(const Held& dead) {
    if (space_ == isa::Space::psum) {
      std::fill(free_since_.begin() + dead.bytes.begin / unit_,
                free_since_.begin() + dead.bytes.end / unit_, dead.last);
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
                                                 const std::vector<Interval>& avoid, bool compact) {
    const bool rotates = effort_ == Effort::rotate && !compact;
    if (rotates && space_ == isa::Space::psum) {
      return longest_free(space, id, avoid);
    }
    if (rotates) {
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
  std::vector<Failure> tight_;
};

// "OPERATOR" and "needs ... of ..." of a buffer for which there was no hole.
struct Need {
  std::string where;
  std::string what;
};

Need need_of(const TileProgram& program, const IdVector<BufferId, Life>& lives,
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
  return {source.valid() ? program.sources[source].name : program.name,
          fmt::format("needs {} bytes per partition of {} for {}, beside {} in use, of {}",
                      wanted.bytes, memory,
                      wanted.name.empty() ? "a buffer" : "\"" + wanted.name + "\"", live, limit)};
}

std::string_view name_of(Effort effort) {
  switch (effort) {
    case Effort::rotate:
      return "in turns";
    case Effort::first_fit:
      return "by first fit";
    case Effort::lasting_by_size:
      return "by first fit, residents by size";
    case Effort::all_by_size:
      return "by size";
  }
  check(false, "an effort without a name");
  return {};
}

constexpr std::size_t most_noted = 20;  // places, of each memory: reports are read by people

}  // namespace

Allocation allocate(const TileProgram& program, const isa::Machine& machine, int lasting_turns) {
  const IdVector<BufferId, Life> lives = lives_of(program);
  Allocation allocation;
  allocation.offsets.resize(program.buffers.size(), 0);
  const auto place = [&](isa::Space space, std::int64_t limit, std::int64_t unit,
                         std::string_view memory) {
    const auto need = [&](const Failure& failure) {
      return need_of(program, lives, failure, memory, limit);
    };
    const auto note = [&](const Failure& failure, std::string_view remedy) {
      const Need at = need(failure);
      allocation.tight.push_back(fmt::format("{}: {}; {}", at.where, at.what, remedy));
    };
    std::optional<Failure> failure;
    for (const Effort effort :
         {Effort::rotate, Effort::first_fit, Effort::lasting_by_size, Effort::all_by_size}) {
      Placement placement(program, lives, space, limit, unit, effort, lasting_turns);
      const std::optional<Failure> now = placement.place(allocation.offsets);
      if (!now) {
        if (failure) {
          note(*failure, fmt::format("all of {} placed {}", memory, name_of(effort)));
        }
        for (std::size_t i = 0; i < std::min(placement.tight().size(), most_noted); ++i) {
          note(placement.tight()[i], "what lives around it placed compactly");
        }
        return placement.peak();
      }
      failure = failure ? failure : now;  // the first is where the order of the program runs out
      if (program.buffers.size() > most_by_size && effort == Effort::lasting_by_size) {
        break;
      }
    }
    const Need at = need(*failure);
    throw Error(at.where, at.what, "use a machine with more memory, or smaller tensors");
  };
  allocation.sbuf_peak = place(isa::Space::sbuf, machine.sbuf_bytes, alignment(machine), "SBUF");
  allocation.psum_peak = place(isa::Space::psum, machine.psum_bank_bytes * machine.psum_banks,
                               machine.psum_bank_bytes, "PSUM");
  return allocation;
}

}  // namespace systole::lower
