// Functions that models write out in pieces and the machine has as one.
#pragma once

#include "compiler/layout/laid_graph.hpp"

namespace systole::lower {

// x / 2 * (1 + erf(x / sqrt 2)), in any order of its factors and all in one layout, becomes gelu(x). What nothing else
// reads then is dropped.
[[nodiscard]] layout::LaidGraph with_whole_functions(layout::LaidGraph laid);

}  // namespace systole::lower
