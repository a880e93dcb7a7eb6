// Weighted MaxSAT by unsatisfiable cores, on CaDiCaL: the complete search of the exact strategy.
//
// Soft literals are assumed true. A core (a set of assumed literals that cannot all be true) raises the lower bound by
// its least weight; its literals lose that weight, and a totalizer counts how many of them are false so that the first
// violation is paid and every further one is assumed away again (the OLL scheme). Heavy literals come first
// (stratification), and literals heavier than the gap become hard.
// Every call of the SAT solver is limited in conflicts, so a budget cuts at the same place on every run.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "compiler/solver/cost.hpp"
#include "compiler/solver/exact/clock.hpp"

namespace systole::solver::exact {

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

  enum class Outcome { optimal, unsatisfiable, budget };
  // upper: weight known to be reachable. on_model receives the truth of every variable (index 0 unused) and returns the
  // weight of the assignment it stands for; on_bound receives every new lower bound on the weight paid.
  Outcome solve(int conflicts_per_call, Cost upper,
                const std::function<Cost(const std::vector<bool>&)>& on_model,
                const std::function<void(Cost)>& on_bound);

  [[nodiscard]] std::int64_t cores() const;
  [[nodiscard]] std::int64_t calls() const;

 private:
  struct Engine;
  std::unique_ptr<Engine> engine_;
};

}  // namespace systole::solver::exact
