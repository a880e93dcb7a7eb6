// What an operator or a conversion is priced at: counts of work per feature, and cycles per feature (the terms of a price).
// Units: each count's own; cycles of the reference clock. Where the counts come from: cost_model.hpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace systole::layout {

enum class Feature : std::uint8_t {
  column,              // moving columns through the array, 2-byte types and smaller
  column_fp32,         // the same in fp32
  stationary_load,     // stationary operands loaded
  stationary_column,   // their columns
  vector_element,      // elements per partition and pass on the vector engine
  fused_element,       // ... of maps that can run in the kernel of their operand's producer
  scalar_element,      // ... on the scalar engine
  gpsimd_element,      // ... on GpSimd
  instruction,         // instructions of vector, scalar and GpSimd engines
  short_row,           // DMA rows shorter than long_row, per DMA engine
  long_byte,           // bytes in longer rows, per DMA engine
  transfer,            // DMA starts that something waits for
  handover,            // one engine waiting for another's first result
  follower,            // maps that can run in the kernel of their operand's producer
  table,               // functions of the scalar engine, which loads a table for each
  transpose_hbm_byte,  // bytes of the blocks that DMA transposes on the way from HBM, per DMA engine
  transpose_sbuf_byte,  // ... from SBUF
  turned_block,         // blocks that the vector engine turns
};
inline constexpr std::size_t feature_count = 18;
[[nodiscard]] std::string_view name_of(Feature feature);

using Features = std::array<double, feature_count>;

struct Price {
  std::array<std::int64_t, feature_count> terms{};  // cycles; indexed by Feature
  std::int64_t total = 0;                           // cycles
  bool operator==(const Price&) const = default;
};

}  // namespace systole::layout
