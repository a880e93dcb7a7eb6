// A measured strategy as a JSON record: what `--json` of compare and the result file of bench have in common. Only what
// is the same on every run; wall-clock seconds are kept apart.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "compiler/driver/measure.hpp"

namespace systole::driver {

// Appends the members to `line`. Predicted figures if the strategy has an answer, measured ones if it was simulated.
void add_record(nlohmann::ordered_json& line, const Measured& row, const sim::Timing& timing);

}  // namespace systole::driver
