#include "sim/instructions/execute.hpp"

#include <variant>

namespace systole::sim {

Context::Context(const isa::Machine& of, Memory& in) : machine(of), memory(in) {
  array.rows = of.array_rows;
  array.columns = of.array_columns;
  array.pairs = of.fp8_double_row ? 2 : 1;
  array.weights.resize(static_cast<std::size_t>(of.array_rows) *
                           static_cast<std::size_t>(of.array_columns * array.pairs),
                       0.0F);
}

void execute_operation(const isa::Operation& operation, Context& context) {
  visit([&context](const auto& op) { execute(op, context); }, operation);
}

void execute(const isa::Nop&, Context&) {}
void execute(const isa::LoadTable&, Context&) {}

}  // namespace systole::sim
