#include "compiler/solver/exact/core_guided.hpp"

#include <algorithm>
#include <cadical.hpp>
#include <map>

#include "compiler/solver/exact/totalizer.hpp"

namespace systole::solver::exact {
namespace {

constexpr int satisfiable = 10;
constexpr int unsatisfiable = 20;
// Cores are shortened by solving again with fewer literals; a few cheap calls only.
constexpr int shrink_conflicts = 300;
constexpr std::size_t most_shrink_calls = 40;
constexpr std::size_t most_shrink_failures = 8;  // in a row: what is left is hard to shorten

class StopAtDeadline : public CaDiCaL::Terminator {
 public:
  explicit StopAtDeadline(const Clock& clock) : clock_(clock) {}
  bool terminate() override { return clock_.expired(); }

 private:
  const Clock& clock_;
};

// Learns nothing; counts what the solver learns.
class CountConflicts : public CaDiCaL::Learner {
 public:
  bool learning(int /*size*/) override {
    ++seen;
    return false;
  }
  void learn(int /*literal*/) override {}

  std::int64_t seen = 0;
};

}  // namespace

struct CoreGuided::Engine {
  explicit Engine(const Clock& clock) : deadline(clock) {
    sat.set("quiet", 1);  // it would write to standard output
    sat.connect_terminator(&deadline);
    sat.connect_learner(&learned);
  }

  // What a counting literal stands for: "at most count inputs of totalizer are true".
  struct Bound {
    std::size_t totalizer;
    std::size_t count;
  };

  int call(const std::vector<int>& assumptions, int conflicts) {
    ++calls;
    for (const int literal : assumptions) {
      sat.assume(literal);
    }
    sat.limit("conflicts", conflicts);
    return sat.solve();
  }

  std::vector<int> failed(const std::vector<int>& assumptions) {
    std::vector<int> core;
    for (const int literal : assumptions) {
      if (sat.failed(literal)) {
        core.push_back(literal);
      }
    }
    return core;
  }

  // Assumed literals of at least this weight, heaviest first.
  [[nodiscard]] std::vector<int> assumed(Cost threshold) const {
    std::vector<int> out;
    for (const auto& [literal, weight] : soft) {
      if (weight >= threshold) {
        out.push_back(literal);
      }
    }
    std::stable_sort(out.begin(), out.end(), [&](int a, int b) { return soft.at(a) > soft.at(b); });
    return out;
  }

  void shrink(std::vector<int>& core) {
    for (std::size_t round = 0; round < 3 && core.size() > 1; ++round) {
      const std::size_t before = core.size();
      if (call(core, shrink_conflicts) != unsatisfiable) {
        return;
      }
      core = failed(core);
      if (core.size() == before) {
        break;
      }
    }
    std::size_t tries = 0;
    std::size_t failures = 0;
    for (std::size_t i = core.size(); i-- > 0 && tries < most_shrink_calls &&
                                      failures < most_shrink_failures && core.size() > 1;) {
      std::vector<int> fewer = core;
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
      ++tries;
      ++failures;
      if (call(fewer, shrink_conflicts) == unsatisfiable) {
        failures = 0;
        core = failed(fewer);
        i = std::min(i, core.size());
      }
    }
  }

  [[nodiscard]] Cost least(const std::vector<int>& core) const {
    Cost weight = infinity;
    for (const int literal : core) {
      weight = std::min(weight, soft.at(literal));
    }
    return weight;
  }

  void relax(const std::vector<int>& core) {
    ++cores;
    const Cost weight = least(core);
    lower += weight;
    std::vector<int> violated;
    for (const int literal : core) {
      const auto entry = soft.find(literal);
      entry->second -= weight;
      if (entry->second == 0) {
        soft.erase(entry);
      }
      violated.push_back(-literal);
      const auto counting = bounds.find(literal);
      if (counting != bounds.end()) {
        const Bound bound = counting->second;
        if (bound.count + 1 < totalizers[bound.totalizer].size()) {
          assume_at_most(bound.totalizer, bound.count + 1, weight);
        }
      }
    }
    add(violated);
    if (violated.size() > 1) {
      totalizers.emplace_back(violated);
      assume_at_most(totalizers.size() - 1, 1, weight);
    }
  }

  void assume_at_most(std::size_t index, std::size_t count, Cost weight) {
    const int literal = -totalizers[index].at_least(
        count + 1, [&] { return ++variables; }, [&](const std::vector<int>& c) { add(c); });
    bounds.insert({literal, {index, count}});
    soft[literal] += weight;
  }

  void add(const std::vector<int>& clause) {
    for (const int literal : clause) {
      sat.add(literal);
    }
    sat.add(0);
  }

  // Literals that cannot be violated without reaching the known cost become facts: what is left is to improve on it.
  void harden(Cost upper) {
    for (auto entry = soft.begin(); entry != soft.end();) {
      if (lower + entry->second >= upper) {
        add({entry->first});
        entry = soft.erase(entry);
      } else {
        ++entry;
      }
    }
  }

  [[nodiscard]] Cost next_threshold(Cost threshold) const {
    // The largest weight below the threshold by a clear step, so that few strata are needed.
    Cost next = 0;
    for (const auto& [literal, weight] : soft) {
      if (weight < threshold && weight > next) {
        next = weight;
      }
    }
    return next > 1 ? std::max<Cost>(1, next / 2 + 1) : next;
  }

  StopAtDeadline deadline;
  CountConflicts learned;
  CaDiCaL::Solver sat;
  int variables = 0;
  std::map<int, Cost> soft;  // by literal: ordered, so that every run sees the same sequence
  std::map<int, Bound> bounds;
  std::vector<Totalizer> totalizers;
  Cost lower = 0;
  std::int64_t cores = 0;
  std::int64_t calls = 0;
};

CoreGuided::CoreGuided(const Clock& clock) : engine_(std::make_unique<Engine>(clock)) {}
CoreGuided::~CoreGuided() = default;

int CoreGuided::new_variable() {
  return ++engine_->variables;
}
void CoreGuided::add_clause(const std::vector<int>& literals) {
  engine_->add(literals);
}
void CoreGuided::add_soft(int literal, Cost weight) {
  engine_->soft[literal] += weight;
}
void CoreGuided::prefer(int literal) {
  engine_->sat.phase(literal);
}
std::int64_t CoreGuided::cores() const {
  return engine_->cores;
}
std::int64_t CoreGuided::calls() const {
  return engine_->calls;
}
std::int64_t CoreGuided::conflicts() const {
  return engine_->learned.seen;
}

CoreGuided::Outcome CoreGuided::solve(const ConflictLimits& limits, Cost upper,
                                      const std::function<Cost(const std::vector<bool>&)>& on_model,
                                      const std::function<void(Cost)>& on_bound) {
  Engine& engine = *engine_;
  on_bound(engine.lower);
  Cost threshold = engine.next_threshold(infinity);
  for (;;) {
    const std::vector<int> assumptions = engine.assumed(threshold);
    const std::int64_t left = limits.in_all - engine.learned.seen;
    if (left <= 0) {
      return Outcome::budget;
    }
    const int answer =
        engine.call(assumptions, static_cast<int>(std::min<std::int64_t>(limits.per_call, left)));
    if (answer == satisfiable) {
      std::vector<bool> truth(static_cast<std::size_t>(engine.variables) + 1);
      for (int v = 1; v <= engine.variables; ++v) {
        truth[static_cast<std::size_t>(v)] = engine.sat.val(v) > 0;
      }
      upper = std::min(upper, on_model(truth));
      if (threshold <= 1 || engine.next_threshold(threshold) == 0) {
        on_bound(engine.lower);  // every soft literal that is left holds: the model costs no more
        return Outcome::optimal;
      }
      threshold = engine.next_threshold(threshold);
    } else if (answer == unsatisfiable) {
      std::vector<int> core = engine.failed(assumptions);
      if (core.empty()) {
        on_bound(upper);  // nothing is cheaper than what is known
        return Outcome::optimal;
      }
      if (engine.lower + engine.least(core) < upper) {  // else it closes the gap as it is
        engine.shrink(core);
      }
      engine.relax(core);
      on_bound(engine.lower);
    } else {
      return Outcome::budget;
    }
    if (engine.lower >= upper) {
      return Outcome::optimal;
    }
    engine.harden(upper);
  }
}

}  // namespace systole::solver::exact
