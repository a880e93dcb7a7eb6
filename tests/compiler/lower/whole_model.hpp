// A recipe through all stages, in the layouts of the greedy strategy with the analytic prices.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "compiler/layout/storage.hpp"
#include "compiler/lower/stages.hpp"
#include "isa/machine.hpp"
#include "sim/simulate.hpp"

namespace systole::test {

using Dims = std::map<std::string, std::int64_t>;

[[nodiscard]] lower::Lowered lowered_model(const std::string& recipe, const isa::Machine& machine,
                                           layout::Precision precision, const Dims& dims = {});

// What its bf16 program takes on the timed machine.
[[nodiscard]] sim::Report measured_model(const std::string& recipe, const isa::Machine& machine,
                                         const Dims& dims = {});

}  // namespace systole::test
