// A recipe through all stages, in the layouts of a strategy: greedy with the analytic prices unless another is named.
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

struct Choice {
  std::string strategy = "greedy";
  std::string costs = "analytic";  // of the machine
};

[[nodiscard]] lower::Lowered lowered_model(const std::string& recipe, const isa::Machine& machine,
                                           layout::Precision precision, const Dims& dims = {},
                                           const Choice& choice = {});

// What its bf16 program takes on the timed machine.
[[nodiscard]] sim::Report measured_model(const std::string& recipe, const isa::Machine& machine,
                                         const Dims& dims = {}, const Choice& choice = {});

}  // namespace systole::test
