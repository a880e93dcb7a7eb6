// Solving what is left by elimination, if that is affordable.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/solver/exact/dual.hpp"
#include "compiler/solver/exact/order.hpp"
#include "compiler/solver/exact/residual.hpp"
#include "compiler/solver/exact/state.hpp"

namespace systole::solver::exact {

// The live rest of the problem, in parts, with the cheapest elimination order found for each.
struct Plan {
  Residual residual;
  std::vector<int> incumbent;  // values of the best known assignment
  std::vector<Part> parts;
  std::vector<Order> orders;  // per part
  double cells = 0;
  double bytes = 0;
  Cost scale = 1;
  bool repeats = false;  // layers repeat: true costs are kept, and equal bags are computed once

  // What the best known assignment costs in a part, constant left out: nothing dearer is of interest.
  [[nodiscard]] Cost cap(const Part& part) const;
};

// enough, most: stop looking for better orders below so many cells per part, and for any above. Needs an assignment in
// state (best or trial). Cells are infinite when a part has no order.
Plan plan_elimination(State& state, const Dual& dual, double enough, double most);

// Eliminates every part and offers the optimum; the state is closed afterwards. False when the clock ran out first.
bool eliminate_all(State& state, Plan plan);

// The same for large parts with only the entries below a growing threshold (sparse.hpp), as long as `entries` suffice;
// raises the bound by what is proven. Returns whether the state is closed.
bool eliminate_sparsely(State& state, const Plan& plan, std::int64_t entries);

}  // namespace systole::solver::exact
