#include "compiler/lower/schedule_engines.hpp"

#include <algorithm>

namespace systole::lower {
namespace {

// Ticks per cycle of each engine's clock (2.8, 1.12, 1.4, 1.4, 1.4 GHz on v2; the same ratios on
// v3).
constexpr std::array<std::int64_t, isa::engine_count> ticks_per_cycle = {2, 5, 4, 4, 4};
constexpr std::int64_t shortest = 64;             // cycles between two instructions of one engine
constexpr std::int64_t overhead = 60;             // cycles of opening an access that stay visible
constexpr std::int64_t stationary_columns = 4;    // a cycle
constexpr std::int64_t stationary_shortest = 16;  // cycles of a load of them
constexpr std::int64_t gpsimd_start = 150;        // cycles
constexpr std::int64_t sum_readout = 64;          // cycles, of an activation's sums
constexpr std::int64_t apart_bytes = 16;          // from element to element: half the rate

bool in_psum(const isa::Access& access) {
  return access.space == isa::Space::psum;
}

// Bytes between neighbours along the innermost dim.
std::int64_t innermost_stride(const isa::Access& access) {
  for (int d = access.rank - 1; d >= 0; --d) {
    const isa::Dim& dim = access.dims[static_cast<std::size_t>(d)];
    if (dim.extent > 1) {
      return std::abs(std::int64_t{dim.stride}) * isa::size_of(access.dtype);
    }
  }
  return isa::size_of(access.dtype);
}

struct Shape {
  std::int64_t elements = 0;  // of the largest operand, per partition
  bool bf16 = true;           // all operands
  bool dense = true;          // all operands
  bool apart = false;         // some operand jumps far from element to element
};

Shape shape_of(const isa::Operation& operation) {
  Shape shape;
  isa::for_each_access(operation, [&shape](const isa::Access& access, bool) {
    const std::int64_t elements = isa::free_elements(access);
    const std::int64_t stride = innermost_stride(access);
    shape.elements = std::max(shape.elements, elements);
    shape.bf16 = shape.bf16 && access.dtype == isa::DType::bf16;
    shape.dense = shape.dense && stride == isa::size_of(access.dtype);
    shape.apart = shape.apart || (elements > 1 && stride >= apart_bytes);
  });
  return shape;
}

// Two tiles are read one after the other, except one in PSUM and one in SBUF, and quick kinds of 2-byte elements.
bool reads_in_turn(const isa::Operation& operation, const Shape& shape) {
  if (const auto* pair = operation.get_if<isa::TensorTensor>()) {
    const bool sbuf = !in_psum(pair->a) && !in_psum(pair->b) && !in_psum(pair->out);
    const bool quick = pair->op == isa::AluOp::add || pair->op == isa::AluOp::multiply ||
                       pair->op == isa::AluOp::subtract;
    return in_psum(pair->a) == in_psum(pair->b) && !(quick && sbuf && shape.bf16 && shape.dense);
  }
  return operation.holds<isa::ScalarTensorTensor>() || operation.holds<isa::CopyPredicated>();
}

std::int64_t vector_cycles(const isa::Operation& operation, const Shape& shape) {
  if (operation.holds<isa::Reciprocal>()) {
    return 8 * shape.elements;
  }
  if (operation.holds<isa::Memset>() && shape.bf16) {
    return shape.elements / 2;
  }
  if (const auto* reduce = operation.get_if<isa::TensorReduce>()) {
    const bool quick = reduce->op == isa::AluOp::add || reduce->op == isa::AluOp::max;
    return shape.bf16 && quick ? shape.elements / 2 : shape.elements;
  }
  return (reads_in_turn(operation, shape) ? 2 : 1) * shape.elements;
}

isa::Activation activation_on(const isa::Access& in, const isa::Access& out,
                              isa::Function function) {
  isa::Activation activation;
  activation.in = in;
  activation.out = out;
  activation.function = function;
  return activation;
}

bool floats(const isa::Access& in, const isa::Access& out) {
  return isa::is_float(in.dtype) && isa::is_float(out.dtype);
}

std::optional<isa::Operation> activation_of(const isa::Copy& op) {
  if (!floats(op.in, op.out)) {
    return std::nullopt;
  }
  return activation_on(op.in, op.out, isa::Function::copy);
}

// in * s0 + s1, in * s0, in + s0, max(in, 0). Operands keep their order, so the buffers do.
std::optional<isa::Operation> activation_of(const isa::TensorScalar& op) {
  if (!floats(op.in, op.out)) {
    return std::nullopt;
  }
  const bool single = op.op1 == isa::AluOp::bypass;
  isa::Activation out = activation_on(op.in, op.out, isa::Function::copy);
  if (op.op0 == isa::AluOp::multiply && (single || op.op1 == isa::AluOp::add)) {
    out.scale = op.s0;
    if (!single) {
      out.bias = op.s1;
    }
    return out;
  }
  if (op.op0 == isa::AluOp::add && single) {
    out.bias = op.s0;
    return out;
  }
  const bool zero = !op.s0.per_partition && op.s0.value == 0.0F;
  if (op.op0 == isa::AluOp::max && single && zero) {
    return activation_on(op.in, op.out, isa::Function::relu);
  }
  return std::nullopt;
}

Duration array_duration(const isa::Operation& operation, const Shape& shape) {
  const std::int64_t period = ticks_per_cycle[static_cast<std::size_t>(isa::Engine::tensor)];
  std::int64_t cycles = 0;
  std::int64_t passes = shape.apart ? 2 : 1;
  if (const auto* multiply = operation.get_if<isa::Multiply>()) {
    cycles = std::max(isa::free_elements(multiply->moving), shortest);
    passes *= multiply->moving.dtype == isa::DType::f32 ? (multiply->zero_one ? 2 : 4) : 1;
  } else {
    const auto& load = operation.get<isa::LoadStationary>();
    cycles =
        std::max(isa::free_elements(load.stationary) / stationary_columns, stationary_shortest);
    passes *= load.stationary.dtype == isa::DType::f32 ? 4 : 1;
  }
  return {period * passes * cycles, period * passes * cycles};
}

}  // namespace

Duration estimated(const isa::Operation& operation, isa::Engine engine,
                   const isa::Machine& machine) {
  const std::int64_t period = ticks_per_cycle[static_cast<std::size_t>(engine)];
  const Shape shape = shape_of(operation);
  std::int64_t cycles = shape.elements;
  if (engine == isa::Engine::tensor) {
    return array_duration(operation, shape);
  }
  if (engine == isa::Engine::vector) {
    cycles = vector_cycles(operation, shape);
    if (machine.generation == isa::Generation::v3 && shape.bf16) {
      cycles /= 2;
    }
  }
  cycles *= shape.apart ? 2 : 1;
  if (engine == isa::Engine::gpsimd) {
    cycles = gpsimd_start + 2 * cycles;
  }
  const auto* activation = operation.get_if<isa::Activation>();
  cycles += activation != nullptr && activation->with_reduce ? sum_readout : 0;
  return {period * cycles, period * std::max(cycles + overhead, shortest)};
}

std::optional<isa::Operation> as_executed_on(const isa::Operation& operation, isa::Engine engine,
                                             const isa::Machine& machine) {
  if (isa::executes_on(operation, engine, machine.scalar_copy)) {
    return operation;
  }
  if (engine != isa::Engine::scalar) {
    return std::nullopt;
  }
  if (const auto* copy = operation.get_if<isa::Copy>()) {
    return activation_of(*copy);
  }
  if (const auto* arithmetic = operation.get_if<isa::TensorScalar>()) {
    return activation_of(*arithmetic);
  }
  return std::nullopt;
}

std::optional<isa::Function> table_of(const isa::Operation& operation) {
  const auto* activation = operation.get_if<isa::Activation>();
  if (activation == nullptr || activation->function == isa::Function::copy) {
    return std::nullopt;
  }
  return activation->function;
}

}  // namespace systole::lower
