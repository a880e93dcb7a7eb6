// The inner loop of elimination: for a run of neighbouring cells, the minimum over the eliminated variable.
//
//   out[i] = min over x of (scalar[x] + sum over f of vectors[f * values + x][i]),   0 <= i < length
//
// Entries carry the number x of the minimum in their lowest bits: stored table entries are multiples of mask + 1 and
// scalar[x] has x added, so that one minimum operation finds both. The kernel separates them again: choice[i] gets the
// low bits, out[i] the rest, capped at `cap` (which stands for "too dear to matter" and keeps sums from overflowing).
#pragma once

#include <cstddef>
#include <cstdint>

namespace systole::solver::exact {

template <class T>
struct Run {
  T* out = nullptr;
  std::uint16_t* choice = nullptr;
  std::size_t length = 0;
  int values = 0;   // of the eliminated variable
  int factors = 0;  // tables that vary along the run
  const T* const* vectors = nullptr;
  const T* scalar = nullptr;
  T cap = 0;
  T mask = 0;
};

// The fastest version for this processor, chosen once by the caller and passed around.
template <class T>
using Kernel = void (*)(const Run<T>&);

Kernel<std::int32_t> kernel32();
Kernel<std::int64_t> kernel64();

}  // namespace systole::solver::exact
