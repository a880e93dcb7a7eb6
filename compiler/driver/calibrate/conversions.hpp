// Conversions by themselves: a program of a map, one conversion and a map, so that nothing hides what it takes. Inside
// whole programs most conversions run beside other work, and what the machine attributes to them says little.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/driver/pipeline.hpp"
#include "sim/timing/timing.hpp"

namespace systole::driver {

struct LoneConversion {
  graph::TensorType type;  // in the graph
  isa::DType dtype = isa::DType::bf16;
  layout::Layout from, to;
  layout::Mechanism mechanism = layout::Mechanism::dma;
  layout::Boundary boundary = layout::Boundary::inside;

  // What it is, for reports; equal for equal ones.
  [[nodiscard]] std::string text() const;
};

// Of a program's Convert node.
[[nodiscard]] LoneConversion lone_conversion(const layout::LaidGraph& laid,
                                             const layout::Statement& statement,
                                             graph::NodeId convert);

// What DMA can transpose, or Vector in few blocks, is measured that way as well, and by the array, whatever was chosen: a first
// guess that never chooses one of them would not be corrected. The conversion itself comes first.
[[nodiscard]] std::vector<LoneConversion> with_rivals(const LoneConversion& conversion,
                                                      const isa::Machine& machine);

// Cycles attributed to it; none if it reads a source in an order that no graph input has.
[[nodiscard]] std::optional<double> measure_alone(const LoneConversion& conversion,
                                                  const Target& target, const sim::Timing& timing);

}  // namespace systole::driver
