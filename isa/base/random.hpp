// A fixed generator and fixed distributions: the standard library's distributions differ between implementations, and
// every seeded input, weight and test instance of Systole must be the same everywhere. Generator: SplitMix64.
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>

namespace systole {

class Random {
 public:
  explicit constexpr Random(std::uint64_t seed) : state_(seed) {}

  constexpr std::uint64_t next() {
    state_ += 0x9e3779b97f4a7c15ULL;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31U);
  }
  // A whole number in [low, high], both included; needs low <= high.
  constexpr std::int64_t integer(std::int64_t low, std::int64_t high) {
    const auto span = static_cast<std::uint64_t>(high - low) + 1;
    return span == 0 ? static_cast<std::int64_t>(next())
                     : low + static_cast<std::int64_t>(next() % span);
  }
  // In [0, 1), 53 bits.
  constexpr double uniform() { return static_cast<double>(next() >> 11U) * 0x1.0p-53; }
  double normal() {
    const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform()));
    return radius * std::cos(2.0 * std::numbers::pi * uniform());
  }

 private:
  std::uint64_t state_;
};

}  // namespace systole
