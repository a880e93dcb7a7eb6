// Sizes that no sensible program reaches: readers and isa/verify refuse larger ones, so that a damaged or hostile file
// cannot ask for more memory than it is long, and arithmetic on sizes cannot overflow.
#pragma once

#include <cstdint>

namespace systole::isa {

inline constexpr int semaphores_max = 1 << 22;
inline constexpr int tensor_rank_max = 16;
inline constexpr std::int64_t tensor_bytes_max = std::int64_t{1} << 40;

}  // namespace systole::isa
