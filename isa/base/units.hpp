// Strong types for times and sizes. Explicit in, explicit out (.count()), no mixing.
//
// Ticks: the simulator's time base; 1/5.6 GHz on v2 machines, 1/4.8 GHz on v3, so that every engine period is a whole
// number of ticks (Tensor 2, Vector 5, Scalar/GpSimd/reference 4).
// Cycles: cycles of the reference clock (1.4 GHz on trn1, 1.2 GHz on trn2), the currency of costs and reports.
#pragma once

#include <compare>
#include <cstdint>

namespace systole {

template <class Tag>
class Quantity {
 public:
  constexpr Quantity() = default;
  constexpr explicit Quantity(std::int64_t count) : count_(count) {}
  [[nodiscard]] constexpr std::int64_t count() const { return count_; }

  constexpr auto operator<=>(const Quantity&) const = default;
  constexpr Quantity& operator+=(Quantity other) {
    count_ += other.count_;
    return *this;
  }
  constexpr Quantity& operator-=(Quantity other) {
    count_ -= other.count_;
    return *this;
  }
  friend constexpr Quantity operator+(Quantity a, Quantity b) { return Quantity(a.count_ + b.count_); }
  friend constexpr Quantity operator-(Quantity a, Quantity b) { return Quantity(a.count_ - b.count_); }
  friend constexpr Quantity operator*(Quantity a, std::int64_t n) { return Quantity(a.count_ * n); }

 private:
  std::int64_t count_ = 0;
};

using Ticks = Quantity<struct TicksTag>;
using Cycles = Quantity<struct CyclesTag>;
using Bytes = Quantity<struct BytesTag>;

}  // namespace systole
