// The other published programs: products of small depth with large outputs, a state-space scan, an optimiser step.
#pragma once

#include "isa/machine.hpp"
#include "isa/program.hpp"

namespace systole::sim {

// State-space scan over [channels, 512] with 16 states, fp32: per 128 channels and state five dependent Vector
// instructions (two with one operand in PSUM), an exponential on Scalar, two broadcasts on Tensor.
[[nodiscard]] isa::Program state_space_scan(int channels, const isa::Machine& machine);

// AdamW over a [rows, columns] fp32 parameter, tiles of 128 rows: reads parameter, gradient and both moments, writes
// the parameter; Vector work of 11 elements-times per element, square and root on Scalar.
[[nodiscard]] isa::Program optimiser_step(std::int64_t rows, std::int64_t columns,
                                          const isa::Machine& machine);

// Batched fp32 product with K = 64: both operands of a batch element stay in SBUF, rows of the result leave whole.
[[nodiscard]] isa::Program shallow_product(int batch, std::int64_t m, std::int64_t n,
                                           const isa::Machine& machine);

}  // namespace systole::sim
