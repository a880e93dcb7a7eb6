// Weighted MaxSAT by unsatisfiable cores, on CaDiCaL: the complete search of the exact strategy.
//
// Soft literals are assumed true. A core (a set of assumed literals that cannot all be true) raises the lower bound by
// its least weight; its literals lose that weight, and a totalizer counts how many of them are false so that the first
// violation is paid and every further one is assumed away again (the OLL scheme). Heavy literals come first
// (stratification), and literals heavier than the gap become hard.
// The SAT solver is limited in conflicts, per call and in all, so a budget cuts at the same place on every run.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "compiler/solver/cost.hpp"
#include "compiler/solver/exact/clock.hpp"

namespace systole::solver::exact {

// Conflicts of the SAT solver; every clause it learns is one.
struct ConflictLimits {
  int per_call = 0;
  std::int64_t in_all = 0;
};

class CoreGuided {
 public:
  explicit CoreGuided(const Clock& clock);
  ~CoreGuided();
  CoreGuided(const CoreGuided&) = delete;
  CoreGuided& operator=(const CoreGuided&) = delete;

  int new_variable();
  void add_clause(const std::vector<int>& literals);
  void add_soft(int literal, Cost weight);  // weight is paid when the literal is false; weight > 0
  void prefer(int literal);                 // value to try first

  enum class Outcome { optimal, budget };
  // upper: weight of interest: known to be reachable, or more than any; only less is looked for. on_model receives the truth of every variable (index 0 unused) and returns the
  // weight of the assignment it stands for; on_bound receives every new lower bound on the weight paid.
  Outcome solve(const ConflictLimits& limits, Cost upper,
                const std::function<Cost(const std::vector<bool>&)>& on_model,
                const std::function<void(Cost)>& on_bound);

  [[nodiscard]] std::int64_t cores() const;
  [[nodiscard]] std::int64_t calls() const;
  [[nodiscard]] std::int64_t conflicts() const;

 private:
  struct Engine;
  std::unique_ptr<Engine> engine_;
};

}  // namespace systole::solver::exact
