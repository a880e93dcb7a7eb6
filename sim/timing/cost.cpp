#include "sim/timing/cost.hpp"

#include <algorithm>
#include <variant>

namespace systole::sim {
namespace {

using isa::Access;
using isa::DType;
using isa::Space;

bool in_psum(const Access& access) {
  return access.space == Space::psum;
}

bool two_byte_float(const Access& access) {
  return isa::is_float(access.dtype) && isa::size_of(access.dtype) == 2;
}

// Bytes between neighbours along the innermost dim.
std::int64_t innermost_stride(const Access& access) {
  for (int d = access.rank - 1; d >= 0; --d) {
    const isa::Dim& dim = access.dims[static_cast<std::size_t>(d)];
    if (dim.extent > 1) {
      return std::abs(std::int64_t{dim.stride}) * isa::size_of(access.dtype);
    }
  }
  return isa::size_of(access.dtype);
}

bool unit_stride(const Access& access) {
  return innermost_stride(access) == isa::size_of(access.dtype);
}

std::int64_t halves(std::int64_t n) {
  return (n + 1) / 2;
}

// ---- Vector, Scalar, GpSimd: cycles for N elements by the instruction's rule, strides aside.

std::int64_t cycles(const isa::LoadStationary&, const Timing&) {
  return 0;
}  // see tensor_cycles
std::int64_t cycles(const isa::Multiply&, const Timing&) {
  return 0;
}

std::int64_t cycles(const isa::TensorTensor& op, const Timing&) {
  const std::int64_t n = isa::free_elements(op.out);
  if (in_psum(op.a) != in_psum(op.b)) {
    return n;
  }
  const bool simple =
      op.op == isa::AluOp::add || op.op == isa::AluOp::multiply || op.op == isa::AluOp::subtract;
  const bool bf16 =
      op.a.dtype == DType::bf16 && op.b.dtype == DType::bf16 && op.out.dtype == DType::bf16;
  const bool sbuf = !in_psum(op.a) && !in_psum(op.b) && !in_psum(op.out);
  const bool dense = unit_stride(op.a) && unit_stride(op.b) && unit_stride(op.out);
  return simple && bf16 && sbuf && dense ? n : 2 * n;
}
std::int64_t cycles(const isa::TensorScalar& op, const Timing&) {
  return isa::free_elements(op.in);
}
std::int64_t cycles(const isa::ScalarTensorTensor& op, const Timing&) {
  const std::int64_t n = isa::free_elements(op.out);
  const bool bf16 = op.in.dtype == DType::bf16 && op.other.dtype == DType::bf16;
  const bool fast =
      bf16 && op.op0 == isa::AluOp::subtract && op.op1 == isa::AluOp::multiply && n % 2 == 0;
  return fast ? n : 2 * n;
}
std::int64_t cycles(const isa::TensorReduce& op, const Timing&) {
  const std::int64_t n = isa::free_elements(op.in);
  const bool bf16 = op.in.dtype == DType::bf16 && op.out.dtype == DType::bf16;
  return bf16 && (op.op == isa::AluOp::add || op.op == isa::AluOp::max) ? halves(n) : n;
}
std::int64_t cycles(const isa::TensorScan& op, const Timing&) {
  return 2 * isa::free_elements(op.out);
}
std::int64_t cycles(const isa::Copy& op, const Timing&) {
  return isa::free_elements(op.in);
}
std::int64_t cycles(const isa::CopyPredicated& op, const Timing&) {
  const std::int64_t n = isa::free_elements(op.out);
  return in_psum(op.in) != in_psum(op.predicate) ? n : 2 * n;
}
std::int64_t cycles(const isa::Memset& op, const Timing&) {
  const std::int64_t n = isa::free_elements(op.out);
  return op.value == 0.0F && two_byte_float(op.out) ? halves(n) : n;
}
std::int64_t cycles(const isa::Reciprocal& op, const Timing& timing) {
  return timing.reciprocal_factor * isa::free_elements(op.in);
}
std::int64_t cycles(const isa::Transpose32& op, const Timing&) {
  return isa::free_elements(op.in);
}
std::int64_t cycles(const isa::Shuffle32& op, const Timing&) {
  return isa::free_elements(op.in);
}
std::int64_t cycles(const isa::BatchNormStats& op, const Timing&) {
  return isa::free_elements(op.in);
}
std::int64_t cycles(const isa::BatchNormAggregate& op, const Timing&) {
  return (13 * isa::free_elements(op.in) + 2) / 3;
}
std::int64_t cycles(const isa::Max8& op, const Timing&) {
  return isa::free_elements(op.in);
}
std::int64_t cycles(const isa::FindIndex8& op, const Timing&) {
  return isa::free_elements(op.in);
}
std::int64_t cycles(const isa::MatchReplace8& op, const Timing&) {
  return isa::free_elements(op.in);
}
std::int64_t cycles(const isa::Activation& op, const Timing&) {
  return isa::free_elements(op.in);
}
std::int64_t cycles(const isa::Iota& op, const Timing&) {
  return isa::free_elements(op.out);
}
std::int64_t cycles(const isa::AffineSelect& op, const Timing&) {
  return isa::free_elements(op.in);
}
std::int64_t cycles(const isa::PartitionReduce& op, const Timing& timing) {
  return timing.gpsimd_partition_reduce_factor * isa::free_elements(op.in);
}
// 150 + n / C of the reference with n = 1 element per index: C = 8 / min(4 / size, 1).
std::int64_t cycles(const isa::LocalGather& op, const Timing&) {
  const std::int64_t indices = isa::free_elements(op.index) * 16;  // of a core's 16 partitions
  return (indices + 7) / 8;
}
std::int64_t cycles(const isa::Dma&, const Timing&) {
  return 0;
}
std::int64_t cycles(const isa::DmaIndirect& op, const Timing& timing) {
  return timing.indirect_row_cycles * isa::elements(op.index);
}
std::int64_t cycles(const isa::Nop&, const Timing&) {
  return 0;
}
std::int64_t cycles(const isa::LoadTable&, const Timing&) {
  return 0;
}

std::int64_t operation_cycles(const isa::Operation& operation, const Timing& timing) {
  return visit([&timing](const auto& op) { return cycles(op, timing); }, operation);
}

// ---- Tensor engine.

// Cycles per column, all passes together.
std::int64_t column_cycles(const isa::Multiply& op, const Timing& timing) {
  if (op.moving.dtype != DType::f32) {
    return 1;
  }
  const bool one_pass = op.zero_one || (op.transpose_mode && timing.fp32_transpose_single_pass);
  return std::int64_t{one_pass ? 1 : timing.fp32_passes} * timing.fp32_cycles_per_column;
}

std::int64_t columns(const isa::Multiply& op, const Timing& timing) {
  const std::int64_t rate = op.double_row ? timing.fp8_columns_per_cycle : 1;
  return (isa::free_elements(op.moving) + rate - 1) / rate;
}

std::int64_t multiply_cycles(const isa::Multiply& op, const Timing& timing) {
  return column_cycles(op, timing) *
         std::max<std::int64_t>(columns(op, timing), timing.multiply_min_cycles);
}

std::int64_t stationary_cycles(const isa::LoadStationary& op, const Timing& timing) {
  const std::int64_t m = isa::free_elements(op.stationary);
  const std::int64_t rate = std::int64_t{timing.stationary_columns_per_cycle} *
                            (op.double_row ? timing.fp8_columns_per_cycle : 1);
  const std::int64_t once =
      std::max<std::int64_t>((m + rate - 1) / rate, timing.stationary_min_cycles);
  return op.stationary.dtype == DType::f32
             ? once * timing.fp32_passes * timing.fp32_cycles_per_column
             : once;
}

bool wide_stride(const isa::Operation& operation, const Timing& timing) {
  bool wide = false;
  isa::for_each_access(operation, [&](const Access& access, bool) {
    wide = wide ||
           (isa::free_elements(access) > 1 && innermost_stride(access) >= timing.wide_stride_bytes);
  });
  return wide;
}

bool is_transfer(const isa::Operation& operation) {
  return operation.holds<isa::Dma>() || operation.holds<isa::DmaIndirect>();
}

double latency_ns(isa::Engine engine, const Timing& timing) {
  switch (engine) {
    case isa::Engine::tensor:
      return timing.multiply_latency_ns;
    case isa::Engine::vector:
      return timing.vector_latency_ns;
    case isa::Engine::scalar:
      return timing.scalar_latency_ns;
    case isa::Engine::gpsimd:
      return timing.gpsimd_latency_ns;
    case isa::Engine::sync:
      return 0;
  }
  return 0;
}

Cost tensor_cost(const isa::Operation& operation, const Timing& timing) {
  const auto* load = operation.get_if<isa::LoadStationary>();
  const Ticks stream = ticks_of_cycles(timing, isa::Engine::tensor,
                                       stream_cycles(operation, isa::Engine::tensor, timing));
  const double latency =
      load != nullptr ? timing.stationary_latency_ns : timing.multiply_latency_ns;
  Cost cost{stream, stream, stream, ticks_of_ns(timing, latency), false, Ticks(0)};
  if (const auto* multiply = operation.get_if<isa::Multiply>()) {
    const std::int64_t unused =
        std::max<std::int64_t>(0, timing.multiply_min_cycles - columns(*multiply, timing));
    cost.filler =
        ticks_of_cycles(timing, isa::Engine::tensor, column_cycles(*multiply, timing) * unused);
  }
  return cost;
}

Cost control_cost(const isa::Operation& operation, isa::Engine engine, const Timing& timing) {
  const bool transfer = is_transfer(operation);
  Ticks time = ticks_of_ns(timing, transfer ? timing.dma_trigger_ns : timing.control_ns);
  if (operation.holds<isa::DmaIndirect>()) {  // GpSimd builds the descriptors
    time += ticks_of_cycles(timing, engine,
                            timing.gpsimd_start_cycles + operation_cycles(operation, timing));
  }
  time = std::max(time, Ticks(1));
  return {time, time, time, Ticks(0), false, Ticks(0)};
}

}  // namespace

int performance_mode(const isa::Operation& operation, const Timing& timing) {
  if (!timing.vector_performance_modes) {
    return 1;
  }
  if (const auto* op = operation.get_if<isa::TensorTensor>()) {
    const bool sbuf = !in_psum(op->a) && !in_psum(op->b);
    return sbuf && two_byte_float(op->a) && two_byte_float(op->b) && two_byte_float(op->out) ? 2
                                                                                             : 1;
  }
  const Access* in = nullptr;
  const Access* out = nullptr;
  if (const auto* copy = operation.get_if<isa::Copy>()) {
    in = &copy->in;
    out = &copy->out;
  } else if (const auto* scalar = operation.get_if<isa::TensorScalar>()) {
    in = &scalar->in;
    out = &scalar->out;
  }
  if (in == nullptr || !two_byte_float(*in) || !two_byte_float(*out)) {
    return 1;
  }
  const bool dense = unit_stride(*in) && unit_stride(*out);
  const int psum_sides = (in_psum(*in) ? 1 : 0) + (in_psum(*out) ? 1 : 0);
  if (psum_sides == 0) {
    return dense ? 4 : 2;
  }
  return dense && psum_sides == 1 ? 2 : 1;
}

std::int64_t stream_cycles(const isa::Operation& operation, isa::Engine engine,
                           const Timing& timing) {
  std::int64_t count = 0;
  if (const auto* multiply = operation.get_if<isa::Multiply>()) {
    count = multiply_cycles(*multiply, timing);
  } else if (const auto* load = operation.get_if<isa::LoadStationary>()) {
    count = stationary_cycles(*load, timing);
  } else {
    count = operation_cycles(operation, timing);
  }
  if (wide_stride(operation, timing)) {
    count *= timing.wide_stride_factor;
  }
  const int mode = engine == isa::Engine::vector ? performance_mode(operation, timing) : 1;
  if (mode > 1) {
    // Two inputs at twice the rate is what the bf16 rule of tensor_tensor already says.
    const auto* pair = operation.get_if<isa::TensorTensor>();
    count = pair != nullptr ? std::min(count, isa::free_elements(pair->out))
                            : (count + mode - 1) / mode;
  }
  return count;
}

Cost cost_of(const isa::Operation& operation, isa::Engine engine, const isa::Machine& machine,
             const Timing& timing) {
  (void)machine;
  if (is_transfer(operation) || operation.holds<isa::Nop>() || operation.holds<isa::LoadTable>()) {
    return control_cost(operation, engine, timing);
  }
  if (engine == isa::Engine::tensor) {
    return tensor_cost(operation, timing);
  }
  std::int64_t count = stream_cycles(operation, engine, timing);
  std::int64_t extra = timing.issue_overhead_cycles;
  if (engine == isa::Engine::gpsimd) {  // its start contains the opening of the accesses
    count += timing.gpsimd_start_cycles;
    extra = 0;
  }
  if (const auto* activation = operation.get_if<isa::Activation>();
      activation != nullptr && activation->with_reduce) {
    count += timing.reduce_readout_cycles;
  }
  const std::int64_t floor = timing.min_issue_cycles;
  Cost cost;
  cost.stream = ticks_of_cycles(timing, engine, count);
  cost.busy = ticks_of_cycles(timing, engine, std::max(count, floor));
  cost.interval = ticks_of_cycles(timing, engine, std::max(count + extra, floor));
  cost.latency = ticks_of_ns(timing, latency_ns(engine, timing));
  cost.performance_mode = engine == isa::Engine::vector && performance_mode(operation, timing) > 1;
  return cost;
}

}  // namespace systole::sim
