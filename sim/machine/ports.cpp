#include "sim/machine/ports.hpp"

#include <algorithm>
#include <bit>

namespace systole::sim {
namespace {

constexpr std::size_t number(isa::Engine engine) {
  return static_cast<std::size_t>(engine);
}

}  // namespace

void Ports::wait_for_banks(isa::Engine other, std::uint32_t banks, Grant& grant) const {
  const auto& until = bank_until_[number(other)];
  for (std::uint32_t rest = banks; rest != 0; rest &= rest - 1) {
    const Ticks free = until[static_cast<std::size_t>(std::countr_zero(rest))];
    if (free > grant.at) {
      grant = {free, true};
    }
  }
}

Ports::Grant Ports::earliest(isa::Engine engine, const Operands& operands, bool performance_mode,
                             Ticks now) const {
  Grant grant{now, false};
  const auto wait_for = [&grant](Ticks until) {
    if (until > grant.at) {
      grant = {until, false};
    }
  };
  if (operands.sbuf && engine == isa::Engine::vector &&
      (!timing_.vector_gpsimd_share_sbuf || performance_mode)) {
    wait_for(sbuf_until_[number(isa::Engine::gpsimd)]);
  }
  if (operands.sbuf && engine == isa::Engine::gpsimd) {
    wait_for(timing_.vector_gpsimd_share_sbuf ? shared_bus_until_
                                              : sbuf_until_[number(isa::Engine::vector)]);
  }
  if (!operands.psum) {
    return grant;
  }
  if (engine == isa::Engine::vector || engine == isa::Engine::scalar) {
    const isa::Engine other =
        engine == isa::Engine::vector ? isa::Engine::scalar : isa::Engine::vector;
    if (timing_.vector_scalar_share_psum) {
      wait_for_banks(other, operands.banks, grant);
    } else {
      wait_for(psum_until_[number(other)]);
    }
    wait_for_banks(isa::Engine::tensor, operands.banks, grant);
  } else if (engine == isa::Engine::tensor) {
    wait_for_banks(isa::Engine::vector, operands.banks, grant);
    wait_for_banks(isa::Engine::scalar, operands.banks, grant);
  }
  return grant;
}

void Ports::hold(isa::Engine engine, const Operands& operands, bool performance_mode, Ticks until) {
  if (operands.sbuf) {
    sbuf_until_[number(engine)] = std::max(sbuf_until_[number(engine)], until);
    if (performance_mode) {
      shared_bus_until_ = std::max(shared_bus_until_, until);
    }
  }
  if (operands.psum) {
    psum_until_[number(engine)] = std::max(psum_until_[number(engine)], until);
    for (std::uint32_t rest = operands.banks; rest != 0; rest &= rest - 1) {
      Ticks& bank = bank_until_[number(engine)][static_cast<std::size_t>(std::countr_zero(rest))];
      bank = std::max(bank, until);
    }
  }
}

}  // namespace systole::sim
