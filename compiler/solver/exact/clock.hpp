// The safety net of every budget: has the wall clock run out?
#pragma once

#include <chrono>

namespace systole::solver::exact {

class Clock {
 public:
  // seconds <= 0: never runs out.
  explicit Clock(double seconds) : seconds_(seconds), start_(std::chrono::steady_clock::now()) {}

  [[nodiscard]] double elapsed() const {
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start_;
    return time.count();
  }
  [[nodiscard]] bool expired() const { return seconds_ > 0 && elapsed() >= seconds_; }

 private:
  double seconds_;
  std::chrono::steady_clock::time_point start_;
};

}  // namespace systole::solver::exact
