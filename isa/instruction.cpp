#include "isa/instruction.hpp"

#include <type_traits>

#include "isa/fields.hpp"
#include "isa/names.hpp"

namespace systole::isa {
namespace {

bool uses_psum(const Operation& operation) {
  bool found = false;
  for_each_access(operation, [&found](const Access& access, bool) {
    found = found || access.space == Space::psum;
  });
  return found;
}

bool is_bitwise(AluOp op) {
  return op == AluOp::bitwise_and || op == AluOp::bitwise_or || op == AluOp::bitwise_xor ||
         op == AluOp::shift_left || op == AluOp::shift_right;
}

// v3's Scalar engine: multiply then add, or one of them alone.
bool scalar_engine_pair(const TensorScalar& op) {
  const bool multiply_first =
      op.op0 == AluOp::multiply && (op.op1 == AluOp::add || op.op1 == AluOp::bypass);
  return multiply_first || (op.op0 == AluOp::add && op.op1 == AluOp::bypass);
}

// Engines of one operation as a bit set. GpSimd's bit is taken back by executes_on where an operand
// lies in PSUM. Sources: hardware.md section 3 ("where ops run") and section 6.
constexpr unsigned bit(Engine engine) {
  return 1U << static_cast<unsigned>(engine);
}
constexpr unsigned tensor_only = bit(Engine::tensor);
constexpr unsigned vector_only = bit(Engine::vector);
constexpr unsigned gpsimd_only = bit(Engine::gpsimd);
constexpr unsigned vector_or_gpsimd = vector_only | gpsimd_only;
constexpr unsigned every_engine = (1U << static_cast<unsigned>(engine_count)) - 1U;

unsigned engines_of(const LoadStationary&, bool) {
  return tensor_only;
}
unsigned engines_of(const Multiply&, bool) {
  return tensor_only;
}
unsigned engines_of(const TensorTensor& op, bool) {
  if (op.op == AluOp::power) {
    return gpsimd_only;
  }
  return is_bitwise(op.op) ? vector_only : vector_or_gpsimd;
}
unsigned engines_of(const TensorScalar& op, bool scalar_copy) {
  const unsigned base = is_bitwise(op.op0) || is_bitwise(op.op1) ? vector_only : vector_or_gpsimd;
  return base | (scalar_copy && scalar_engine_pair(op) ? bit(Engine::scalar) : 0U);
}
unsigned engines_of(const ScalarTensorTensor&, bool) {
  return vector_only;
}
unsigned engines_of(const TensorReduce&, bool) {
  return vector_only;
}
unsigned engines_of(const TensorScan&, bool) {
  return vector_only;
}
unsigned engines_of(const Copy&, bool scalar_copy) {
  return vector_or_gpsimd | (scalar_copy ? bit(Engine::scalar) : 0U);
}
unsigned engines_of(const CopyPredicated&, bool) {
  return vector_only;
}
unsigned engines_of(const Memset&, bool) {
  return vector_or_gpsimd;
}
unsigned engines_of(const Reciprocal&, bool) {
  return vector_only;
}
unsigned engines_of(const Transpose32&, bool) {
  return vector_only;
}
unsigned engines_of(const Shuffle32&, bool) {
  return vector_only;
}
unsigned engines_of(const BatchNormStats&, bool) {
  return vector_only;
}
unsigned engines_of(const BatchNormAggregate&, bool) {
  return vector_only;
}
unsigned engines_of(const Max8&, bool) {
  return vector_only;
}
unsigned engines_of(const FindIndex8&, bool) {
  return vector_only;
}
unsigned engines_of(const MatchReplace8&, bool) {
  return vector_only;
}
unsigned engines_of(const Activation&, bool) {
  return bit(Engine::scalar);
}
unsigned engines_of(const Iota&, bool) {
  return gpsimd_only;
}
unsigned engines_of(const AffineSelect&, bool) {
  return gpsimd_only;
}
unsigned engines_of(const PartitionReduce&, bool) {
  return gpsimd_only;
}
unsigned engines_of(const LocalGather&, bool) {
  return gpsimd_only;
}
unsigned engines_of(const Dma&, bool) {
  return every_engine;
}
unsigned engines_of(const DmaIndirect&, bool) {
  return gpsimd_only;
}
unsigned engines_of(const Nop&, bool) {
  return every_engine;
}
unsigned engines_of(const LoadTable&, bool) {
  return bit(Engine::scalar);
}

}  // namespace

std::int64_t columns_of(const LoadStationary& load) {
  return free_elements(load.stationary) / (load.double_row ? 2 : 1);
}
std::int64_t columns_of(const Multiply& multiply) {
  return free_elements(multiply.moving) / (multiply.double_row ? 2 : 1);
}

bool executes_on(const Operation& operation, Engine engine, bool scalar_copy) {
  const unsigned engines =
      visit([scalar_copy](const auto& op) { return engines_of(op, scalar_copy); }, operation);
  if ((engines & bit(engine)) == 0U) {
    return false;
  }
  return engine != Engine::gpsimd || !uses_psum(operation);
}

std::string_view name_of(const Operation& operation) {
  return visit([](const auto& op) { return table(Of<std::remove_cvref_t<decltype(op)>>{}).name; },
               operation);
}

std::string_view name_of(Engine engine) {
  return enum_name(engine);
}

}  // namespace systole::isa
