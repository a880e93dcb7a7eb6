#include "compiler/lower/schedule_order.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <optional>
#include <queue>

#include "compiler/lower/schedule_array.hpp"
#include "compiler/lower/schedule_engines.hpp"
#include "compiler/lower/schedule_transfers.hpp"

namespace systole::lower {
namespace {

using Time = std::int64_t;  // ticks, as estimated

constexpr std::size_t vector_engine = static_cast<std::size_t>(isa::Engine::vector);
constexpr std::size_t scalar_engine = static_cast<std::size_t>(isa::Engine::scalar);

// One queue per engine; Vector and Scalar have others for what accesses PSUM, whose port they share, and for what either
// can execute. Added to a queue's number:
constexpr std::size_t with_psum = isa::engine_count;
constexpr std::size_t shared = 2 * isa::engine_count;
constexpr std::size_t queue_count = 4 * isa::engine_count;

// Ticks from an engine's last element to an instruction elsewhere that waits for the result (its latency and a semaphore),
// and to one of the same engine.
constexpr std::array<Time, isa::engine_count> hand_over = {1360, 2490, 1450, 1450, 1450};
constexpr Time turn_around = 1050;

// From when an instruction can start: on Vector and on Scalar, whose own results reach them sooner, and elsewhere.
struct Ready {
  Time vector = 0;
  Time scalar = 0;
  Time elsewhere = 0;
};

bool accesses_psum(const isa::Operation& operation) {
  bool psum = false;
  isa::for_each_access(operation, [&psum](const isa::Access& access, bool) {
    psum = psum || access.space == isa::Space::psum;
  });
  return psum;
}

class Waiting {
 public:
  void add(std::uint32_t node, Time ready) { coming_.emplace(ready, node); }

  // Forgets what has been started from another queue.
  void drop(const std::vector<bool>& started) {
    while (!coming_.empty() && started[coming_.top().second]) {
      coming_.pop();
    }
    while (!ready_.empty() && started[ready_.top()]) {
      ready_.pop();
    }
  }
  // The earliest time from `free` on at which something can start; nothing queued: `never`.
  [[nodiscard]] Time earliest(Time free, Time never) const {
    if (!ready_.empty()) {
      return free;
    }
    return coming_.empty() ? never : std::max(free, coming_.top().first);
  }
  // Sorts what is ready at `now` by age.
  void advance(Time now, const std::vector<bool>& started) {
    while (!coming_.empty() && coming_.top().first <= now) {
      ready_.push(coming_.top().second);
      coming_.pop();
    }
    drop(started);
  }
  [[nodiscard]] bool any() const { return !ready_.empty(); }
  [[nodiscard]] std::uint32_t oldest() const { return ready_.top(); }
  // What would start at `earliest`; something is queued.
  [[nodiscard]] std::uint32_t next() const {
    return ready_.empty() ? coming_.top().second : ready_.top();
  }

 private:
  template <class T>
  using Least = std::priority_queue<T, std::vector<T>, std::greater<T>>;
  Least<std::pair<Time, std::uint32_t>> coming_;
  Least<std::uint32_t> ready_;
};

class Lister {
 public:
  Lister(const TileProgram& program, const Precedence& precedence, const isa::Machine& machine)
      : program_(program),
        precedence_(precedence),
        machine_(machine),
        needs_(precedence.nodes(), 0),
        ready_(precedence.nodes()),
        longer_on_vector_(precedence.instructions, 0),
        started_(precedence.instructions, false),
        transfers_(machine),
        array_(machine) {
    sequence_.engines.resize(precedence.instructions, isa::Engine::sync);
    sequence_.order.reserve(precedence.nodes());
    for (const std::uint32_t node : precedence.after.nodes) {
      ++needs_[node];
    }
  }

  [[nodiscard]] Sequence run() {
    std::vector<std::uint32_t> free;
    for (std::size_t node = 0; node < needs_.size(); ++node) {
      if (needs_[node] == 0) {
        free.push_back(static_cast<std::uint32_t>(node));
      }
    }
    for (const std::uint32_t node : free) {
      reach(node);
    }
    for (std::size_t i = 0; i < precedence_.instructions; ++i) {
      step();
    }
    return std::move(sequence_);
  }

 private:
  [[nodiscard]] const isa::Operation& operation(std::uint32_t node) const {
    return program_.instructions[node].instruction.operation;
  }

  // Queues up where it can be executed: some on Vector as well as on Scalar.
  void queue_up(std::uint32_t node) {
    const TileInstruction& item = program_.instructions[node];
    const isa::Operation& what = item.instruction.operation;
    if (is_transfer(what)) {
      queues_[static_cast<std::size_t>(trigger_engine(what, machine_))].add(node,
                                                                            ready_[node].elsewhere);
      return;
    }
    const bool vector = item.any_engine && as_executed_on(what, isa::Engine::vector, machine_);
    const bool scalar = item.any_engine && as_executed_on(what, isa::Engine::scalar, machine_);
    const auto preferred = static_cast<std::size_t>(item.instruction.engine);
    const std::size_t port =
        (accesses_psum(what) ? with_psum : 0) + (vector && scalar ? shared : 0);
    if (vector && scalar) {
      longer_on_vector_[node] =
          interval(node, isa::Engine::vector) - interval(node, isa::Engine::scalar);
    }
    if (vector || (!scalar && preferred == vector_engine)) {
      queues_[vector_engine + port].add(node, ready_[node].vector);
    }
    if (scalar || (!vector && preferred == scalar_engine)) {
      queues_[scalar_engine + port].add(node, ready_[node].scalar);
    }
    if (!vector && !scalar && !takes_either(preferred)) {
      queues_[preferred].add(node, ready_[node].elsewhere);
    }
  }

  // All that it needs is done: an instruction queues up, a joint is passed at once.
  void reach(std::uint32_t start) {
    std::vector<std::uint32_t> stack{start};
    while (!stack.empty()) {
      const std::uint32_t node = stack.back();
      stack.pop_back();
      if (node < precedence_.instructions) {
        queue_up(node);
      } else {
        sequence_.order.push_back(node);
        release(node, ready_[node], ready_[node].elsewhere, stack);
      }
    }
  }

  // `done`: when the result can be used; `in_turn`: when the next of its lane may start.
  void release(std::uint32_t node, const Ready& done, Time in_turn,
               std::vector<std::uint32_t>& reached) {
    for (const std::uint32_t next : precedence_.after.of(node)) {
      Ready& ready = ready_[next];
      if (one_lane(node, next)) {
        ready.elsewhere = std::max(ready.elsewhere, in_turn);
      } else {
        ready.vector = std::max(ready.vector, done.vector);
        ready.scalar = std::max(ready.scalar, done.scalar);
        ready.elsewhere = std::max(ready.elsewhere, done.elsewhere);
      }
      if (--needs_[next] == 0) {
        reached.push_back(next);
      }
    }
  }

  [[nodiscard]] bool one_lane(std::uint32_t a, std::uint32_t b) const {
    return precedence_.lanes[a] != Lane::none && precedence_.lanes[a] == precedence_.lanes[b];
  }

  [[nodiscard]] static bool takes_either(std::size_t engine) {
    return engine == vector_engine || engine == scalar_engine;
  }

  // Where instructions that this engine can start wait, each with the time from which it can.
  template <class F>
  void for_each_queue(std::size_t engine, const F& f) {
    const auto call = [&](std::size_t queue, Time from) {
      queues_[queue].drop(started_);
      f(queues_[queue], from, queue >= shared);
    };
    call(engine, free_[engine]);
    if (takes_either(engine)) {
      const Time port = std::max(free_[engine], psum_free_);
      call(engine + with_psum, port);
      call(engine + shared, free_[engine]);
      call(engine + with_psum + shared, port);
    }
  }

  // As `engine` executes it, without a change of the function table.
  [[nodiscard]] Time interval(std::uint32_t node, isa::Engine engine) const {
    const std::optional<isa::Operation> executed =
        as_executed_on(operation(node), engine, machine_);
    return estimated(executed ? *executed : operation(node), engine, machine_).interval;
  }

  // What either engine can do goes where it ends first: by how much longer this one takes.
  [[nodiscard]] Time handicap(std::size_t engine, std::uint32_t node, Time now) const {
    const Time difference = longer_on_vector_[node] - (loads_table(node, now) ? table_load : 0);
    return std::max<Time>(engine == vector_engine ? difference : -difference, 0);
  }

  void step() {
    constexpr Time never = std::numeric_limits<Time>::max();
    std::size_t engine = 0;
    std::pair<Time, Time> first{never, never};  // its handicap added, and as it is
    for (std::size_t e = 0; e < isa::engine_count; ++e) {
      std::pair<Time, Time> own{never, never};
      for_each_queue(e, [&](const Waiting& queue, Time from, bool either) {
        if (const Time time = queue.earliest(from, never); time < never) {
          own = std::min(own, {time + (either ? handicap(e, queue.next(), time) : 0), time});
        }
      });
      // Of several, the one that has been idle for longest.
      if (own.first < first.first ||
          (own.first == first.first && own.first < never && free_[e] < free_[engine])) {
        first = own;
        engine = e;
      }
    }
    check(first.second < never, "the precedence graph has a cycle");
    start(engine, take(engine, first.second), first.second);
  }

  // Of the oldest in each queue that is ready, the oldest; but what another engine could take comes after what only this one
  // can, and on Scalar what changes the function table after what does not.
  std::uint32_t take(std::size_t engine, Time now) {
    std::optional<std::pair<int, std::uint32_t>> best;
    for_each_queue(engine, [&](Waiting& queue, Time start, bool either) {
      queue.advance(now, started_);
      if (start > now || !queue.any()) {
        return;
      }
      const bool switches = engine == scalar_engine && loads_table(queue.oldest(), now);
      const std::pair<int, std::uint32_t> candidate{2 * switches + either, queue.oldest()};
      best = best ? std::min(*best, candidate) : candidate;
    });
    check(best.has_value(), "nothing can start when something should");
    return best->second;
  }

  // Whether Scalar would load a table at `now`: it has not had the time since it was last busy, nor before that.
  [[nodiscard]] bool loads_table(std::uint32_t node, Time now) const {
    const std::optional<isa::Function> table = table_of(operation(node));
    return table && table != table_ && idle_ < table_load &&
           now < free_[scalar_engine] + table_load;
  }

  // When an operation can start on Scalar. Its table is loaded in the longest pause since the last table was used.
  [[nodiscard]] Time table_ready(std::uint32_t node, const isa::Operation& run, Time now) {
    const Time free = free_[scalar_engine];
    const std::optional<isa::Function> table = table_of(run);
    if (!table) {
      if (now - free > idle_) {
        idle_ = now - free;
        after_idle_ = node;
      }
      return now;
    }
    if (table != table_) {
      if (idle_ >= table_load) {
        sequence_.tables.push_back({after_idle_, node, *table});
      } else {
        now = std::max(now, free + table_load);
      }
    }
    table_ = table;
    idle_ = 0;
    return now;
  }

  void start(std::size_t engine, std::uint32_t node, Time now) {
    const auto which = static_cast<isa::Engine>(engine);
    sequence_.order.push_back(node);
    sequence_.engines[node] = which;
    started_[node] = true;
    Ready done;
    if (is_transfer(operation(node))) {
      done.vector = done.scalar = done.elsewhere = transfers_.add(operation(node), now);
      free_[engine] = now + trigger_ticks;
      if (which == isa::Engine::sync) {
        free_[engine] = std::max(free_[engine], transfers_.next_load());
      }
    } else {
      const std::optional<isa::Operation> executed =
          as_executed_on(operation(node), which, machine_);
      const isa::Operation& run = executed ? *executed : operation(node);
      if (engine == scalar_engine) {
        now = table_ready(node, run, now);
      }
      const Duration duration = estimated(run, which, machine_);
      if (which == isa::Engine::tensor) {
        now = array_.start(run, duration.elements, now);
      }
      const Time end = now + duration.elements;
      free_[engine] = now + (which == isa::Engine::tensor ? array_issue : duration.interval);
      done.vector = done.scalar = done.elsewhere = end + hand_over[engine];
      if (engine == vector_engine) {
        done.vector = end + turn_around;
      } else if (engine == scalar_engine) {
        done.scalar = end + turn_around;
      }
      if (machine_.generation == isa::Generation::v2 && takes_either(engine) &&
          accesses_psum(run)) {
        psum_free_ = end;
      }
    }
    sequence_.end = std::max(sequence_.end, done.elsewhere);
    std::vector<std::uint32_t> reached;
    release(node, done, free_[engine], reached);
    for (const std::uint32_t next : reached) {
      reach(next);
    }
  }

  const TileProgram& program_;
  const Precedence& precedence_;
  const isa::Machine& machine_;
  Sequence sequence_;
  std::vector<std::uint32_t> needs_;  // by node: how many must come first
  std::vector<Ready> ready_;
  std::vector<Time> longer_on_vector_;  // than on Scalar, of what either can execute
  std::vector<bool> started_;
  std::array<Waiting, queue_count> queues_;
  std::array<Time, isa::engine_count> free_{};
  TransferEngines transfers_;
  ArrayTiles array_;
  Time psum_free_ = 0;  // the port that Vector and Scalar share on v2
  std::optional<isa::Function> table_;
  Time idle_ = 0;  // Scalar's longest pause since that was used
  std::uint32_t after_idle_ = 0;
};

}  // namespace

bool is_transfer(const isa::Operation& operation) {
  return operation.holds<isa::Dma>() || operation.holds<isa::DmaIndirect>();
}

isa::Engine trigger_engine(const isa::Operation& operation, const isa::Machine& machine) {
  const auto* dma = operation.get_if<isa::Dma>();
  const bool load = dma != nullptr && dma->source.space == isa::Space::hbm && machine.dma_rings > 1;
  return load ? isa::Engine::sync : isa::Engine::gpsimd;
}

Sequence choose_sequence(const TileProgram& program, const Precedence& precedence,
                         const isa::Machine& machine) {
  return Lister(program, precedence, machine).run();
}

}  // namespace systole::lower
