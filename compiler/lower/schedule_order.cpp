#include "compiler/lower/schedule_order.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <optional>
#include <queue>

#include "compiler/lower/schedule_engines.hpp"

namespace systole::lower {
namespace {

using Time = std::int64_t;  // ticks, as estimated

// Instructions of one engine, or of either Vector or Scalar; those two apart by whether they access
// PSUM, whose port they share.
constexpr std::size_t either = isa::engine_count;
constexpr std::size_t with_psum = isa::engine_count + 1;  // added to a queue's number
constexpr std::size_t queue_count = 2 * with_psum;

// Ticks from an engine's result to an instruction elsewhere that waits for it.
constexpr Time hand_over = 1500;

// Ticks of transfers that are under way before the next is chosen: enough to keep the DMA engines busy. Chosen earlier, a
// load that becomes possible meanwhile, because it reads what a store has just put in order, would queue behind all others.
constexpr Time transfers_ahead = transfer_latency;

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

  // The earliest time from `free` on at which something can start; nothing queued: `never`.
  [[nodiscard]] Time earliest(Time free, Time never) const {
    if (!ready_.empty()) {
      return free;
    }
    return coming_.empty() ? never : std::max(free, coming_.top().first);
  }
  // Sorts what is ready at `now` by age.
  void advance(Time now) {
    while (!coming_.empty() && coming_.top().first <= now) {
      ready_.push(coming_.top().second);
      coming_.pop();
    }
  }
  [[nodiscard]] bool any() const { return !ready_.empty(); }
  [[nodiscard]] std::uint32_t oldest() const { return ready_.top(); }
  void pop() { ready_.pop(); }

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
        ready_(precedence.nodes(), 0) {
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

  [[nodiscard]] std::size_t queue_of(std::uint32_t node) const {
    const TileInstruction& item = program_.instructions[node];
    if (is_transfer(item.instruction.operation)) {
      return static_cast<std::size_t>(trigger_engine(item.instruction.operation, machine_));
    }
    const bool vector = item.any_engine &&
                        as_executed_on(item.instruction.operation, isa::Engine::vector, machine_);
    const bool scalar = item.any_engine &&
                        as_executed_on(item.instruction.operation, isa::Engine::scalar, machine_);
    if (vector && scalar) {
      return either;
    }
    return static_cast<std::size_t>(vector   ? isa::Engine::vector
                                    : scalar ? isa::Engine::scalar
                                             : item.instruction.engine);
  }

  // All that it needs is done: an instruction queues up, a joint is passed at once.
  void reach(std::uint32_t start) {
    std::vector<std::uint32_t> stack{start};
    while (!stack.empty()) {
      const std::uint32_t node = stack.back();
      stack.pop_back();
      if (node < precedence_.instructions) {
        const std::size_t queue = queue_of(node);
        const bool port = takes_either(queue) && accesses_psum(operation(node));
        queues_[port ? queue + with_psum : queue].add(node, ready_[node]);
      } else {
        sequence_.order.push_back(node);
        release(node, ready_[node], ready_[node], stack);
      }
    }
  }

  // `done`: when the result can be used; `in_turn`: when the next of its lane may start.
  void release(std::uint32_t node, Time done, Time in_turn, std::vector<std::uint32_t>& reached) {
    for (const std::uint32_t next : precedence_.after.of(node)) {
      ready_[next] = std::max(ready_[next], one_lane(node, next) ? in_turn : done);
      if (--needs_[next] == 0) {
        reached.push_back(next);
      }
    }
  }

  [[nodiscard]] bool one_lane(std::uint32_t a, std::uint32_t b) const {
    return precedence_.lanes[a] != Lane::none && precedence_.lanes[a] == precedence_.lanes[b];
  }

  [[nodiscard]] static bool takes_either(std::size_t engine) {
    return engine == static_cast<std::size_t>(isa::Engine::vector) ||
           engine == static_cast<std::size_t>(isa::Engine::scalar) || engine == either;
  }

  // Where instructions that this engine can start wait, each with the time from which it can.
  template <class F>
  void for_each_queue(std::size_t engine, const F& f) {
    f(queues_[engine], free_[engine]);
    if (takes_either(engine)) {
      const Time port = std::max(free_[engine], psum_free_);
      f(queues_[either], free_[engine]);
      f(queues_[engine + with_psum], port);
      f(queues_[either + with_psum], port);
    }
  }

  void step() {
    constexpr Time never = std::numeric_limits<Time>::max();
    std::size_t engine = 0;
    Time now = never;
    for (std::size_t e = 0; e < isa::engine_count; ++e) {
      Time time = never;
      for_each_queue(e, [&time](const Waiting& queue, Time from) {
        time = std::min(time, queue.earliest(from, never));
      });
      // Of several, the one that has been idle for longest.
      if (time < now || (time == now && now < never && free_[e] < free_[engine])) {
        now = time;
        engine = e;
      }
    }
    check(now < never, "the precedence graph has a cycle");
    start(engine, take(engine, now), now);
  }

  // The oldest that is ready, but on Scalar rather one for which the function table need not
  // change.
  std::uint32_t take(std::size_t engine, Time now) {
    Waiting* from = nullptr;
    bool from_switches = false;
    for_each_queue(engine, [&](Waiting& queue, Time start) {
      queue.advance(now);
      if (start > now || !queue.any()) {
        return;
      }
      const bool switches = engine == static_cast<std::size_t>(isa::Engine::scalar) &&
                            switch_ticks(queue.oldest()) > 0;
      if (from == nullptr ||
          (switches != from_switches ? from_switches : queue.oldest() < from->oldest())) {
        from = &queue;
        from_switches = switches;
      }
    });
    check(from != nullptr, "nothing can start when something should");
    const std::uint32_t node = from->oldest();
    from->pop();
    return node;
  }

  [[nodiscard]] Time switch_ticks(std::uint32_t node) const {
    const std::optional<isa::Function> table = table_of(operation(node));
    return table && table != table_ ? table_load : 0;
  }

  void start(std::size_t engine, std::uint32_t node, Time now) {
    const auto which = static_cast<isa::Engine>(engine);
    sequence_.order.push_back(node);
    sequence_.engines[node] = which;
    Time done = 0;
    if (is_transfer(operation(node))) {
      transfers_free_ =
          std::max(transfers_free_, now) + estimated_ticks(operation(node), which, machine_);
      free_[engine] = now + trigger_ticks;
      if (which == isa::Engine::sync) {
        free_[engine] = std::max(free_[engine], transfers_free_ - transfers_ahead);
      }
      done = transfers_free_ + transfer_latency;
    } else {
      const std::optional<isa::Operation> executed =
          as_executed_on(operation(node), which, machine_);
      const isa::Operation& run = executed ? *executed : operation(node);
      if (const std::optional<isa::Function> table = table_of(run)) {
        now += table != table_ ? table_load : 0;
        table_ = table;
      }
      free_[engine] = now + estimated_ticks(run, which, machine_);
      done = free_[engine] + hand_over;
      if (machine_.generation == isa::Generation::v2 && takes_either(engine) &&
          accesses_psum(run)) {
        psum_free_ = free_[engine];
      }
    }
    sequence_.end = std::max(sequence_.end, done);
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
  std::vector<Time> ready_;
  std::array<Waiting, queue_count> queues_;
  std::array<Time, isa::engine_count> free_{};
  Time transfers_free_ = 0;
  Time psum_free_ = 0;  // the port that Vector and Scalar share on v2
  std::optional<isa::Function> table_;
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
