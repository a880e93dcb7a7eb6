// Does an instruction stay inside the memories, and do its operands agree in size? What isa/verify
// proves for a whole program is asked here again for one instruction, cheaply: execution relies on
// it.
#pragma once

#include <string>

#include "isa/instruction.hpp"
#include "isa/machine.hpp"
#include "isa/program.hpp"

namespace systole::sim {

// Empty if all is well, otherwise a phrase that names the operand and the limit.
[[nodiscard]] std::string find_out_of_range(const isa::Instruction& instruction,
                                            const isa::Program& program,
                                            const isa::Machine& machine);

}  // namespace systole::sim
