// Who may work on SBUF and PSUM at the same time (hardware.md section 2).
//
//   Vector and GpSimd on SBUF   v2: one at a time. v3: together, unless Vector is in a performance mode, which borrows
//                               the bus that they share.
//   Vector and Scalar on PSUM   v2: one at a time. v3: together, unless they touch one bank.
//   Tensor and an evictor       together, unless they touch one bank: a bank that is being read takes no accumulation.
//
// A port is held while elements stream. Who asks first gets it; at one instant the order is that of the engines.
#pragma once

#include <array>

#include "isa/base/units.hpp"
#include "isa/instruction.hpp"
#include "sim/machine/operands.hpp"
#include "sim/timing/timing.hpp"

namespace systole::sim {

class Ports {
 public:
  explicit Ports(const Timing& timing) : timing_(timing) {}

  struct Grant {
    Ticks at;           // earliest start
    bool bank = false;  // what holds it up is a bank
  };
  [[nodiscard]] Grant earliest(isa::Engine engine, const Operands& operands, bool performance_mode,
                               Ticks now) const;
  void hold(isa::Engine engine, const Operands& operands, bool performance_mode, Ticks until);

 private:
  static constexpr std::size_t bank_limit = 32;
  void wait_for_banks(isa::Engine other, std::uint32_t banks, Grant& grant) const;

  const Timing& timing_;
  std::array<Ticks, isa::engine_count> sbuf_until_{};
  std::array<Ticks, isa::engine_count> psum_until_{};
  Ticks shared_bus_until_;  // by Vector in a performance mode
  std::array<std::array<Ticks, bank_limit>, isa::engine_count> bank_until_{};
};

}  // namespace systole::sim
