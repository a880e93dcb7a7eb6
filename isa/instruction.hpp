// The instruction set: one struct per operation, a variant of them, and the frame (engine, waits, signal, source) that
// every instruction has. Semantics are stated beside each struct; costs are in hardware.md section 6 and belong to the
// simulator. N = elements per partition. Arithmetic is fp32 unless stated; results are rounded to the output's type.
//
// Adding one: the struct here and its field table (isa/fields.hpp), its name in Operation, execute and occupancy in
// sim/instructions. A missing one does not compile.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <variant>
#include <vector>

#include "isa/access.hpp"
#include "isa/base/one_of.hpp"
#include "isa/base/short_list.hpp"

namespace systole::isa {

enum class Engine : std::uint8_t { tensor, vector, scalar, gpsimd, sync };
inline constexpr int engine_count = 5;

// Two-operand arithmetic. Comparisons and logic give 1 or 0. bypass gives the first operand.
enum class AluOp : std::uint8_t {
  bypass, add, subtract, multiply, divide, max, min, power, modulo,
  equal, not_equal, less, less_equal, greater, greater_equal,
  logical_and, logical_or, logical_xor, bitwise_and, bitwise_or, bitwise_xor,
  shift_left, shift_right, abs_max
};

// f(x) of the Scalar engine's table.
enum class Function : std::uint8_t {
  copy, relu, sigmoid, tanh, exp, log, sqrt, rsqrt, square, abs, sign, erf, gelu, gelu_tanh, silu, softplus,
  sin, cos, tan, asin, acos, atan, sinh, cosh, asinh, acosh, atanh, reciprocal, floor, ceil, round, mish
};

enum class Comparison : std::uint8_t { equal, not_equal, less, less_equal, greater, greater_equal };

// A scalar operand: an immediate, or one fp32-convertible element per partition (access of rank 0, as many partitions
// as the data operand).
struct Scalar {
  float value = 0.0F;
  bool per_partition = false;
  Access access{};
  bool operator==(const Scalar&) const = default;
};

// ---- Tensor engine. dst[M, N] (PSUM, fp32) = stationary[K, M]^T x moving[K, N].

// Loads stationary[K partitions, M free] (SBUF) into rows partition..partition+K-1 and columns column..column+M-1 of
// the array. It stays until overwritten. K, M <= array rows/columns; row and column starts follow the tiling rule
// (multiples of the tile size, hardware.md 1.3).
//
// double_row (machines with fp8_double_row, both operands f8e4 or f8e5): every element of the array holds and multiplies a
// pair. stationary is [K, 2, M] and moving [K, 2, N], the pair's index in the outermost dim: out[M, N] = the sum over K
// and both of the pair, in one pass. Not with tiles of columns, nor with transpose_mode.
struct LoadStationary {
  Access stationary;
  std::int16_t column = 0;  // = start partition of the outputs it serves
  bool double_row = false;
  bool operator==(const LoadStationary&) const = default;
};

// out[M, N] (+)= loaded^T x moving[K, N]; uses the array rows of moving's partitions and the columns of out's
// partitions. Output inside one PSUM bank. accumulate = false overwrites, true adds to fp32 that an earlier Multiply
// wrote. transpose_mode (v3): moving is a permutation matrix; values pass bit-exactly, out keeps the 2-byte type.
// zero_one: a promise that stationary or moving holds only 0 and 1 (halves the fp32 cost).
struct Multiply {
  Access moving;
  Access out;
  bool accumulate = false;
  bool transpose_mode = false;
  bool zero_one = false;
  bool double_row = false;
  bool operator==(const Multiply&) const = default;
};

// ---- Vector engine (many also on GpSimd, some on Scalar: see executes_on).

struct TensorTensor {  // out = a op b; same partitions and N; not both inputs in PSUM
  Access a;
  Access b;
  Access out;
  AluOp op = AluOp::add;
  bool operator==(const TensorTensor&) const = default;
};

struct TensorScalar {  // out = (in op0 s0) op1 s1; reverse: s op x. op1 = bypass: one operation
  Access in;
  Access out;
  AluOp op0 = AluOp::bypass;
  AluOp op1 = AluOp::bypass;
  bool reverse0 = false;
  bool reverse1 = false;
  Scalar s0{};
  Scalar s1{};
  bool operator==(const TensorScalar&) const = default;
};

struct ScalarTensorTensor {  // out = (in op0 scalar) op1 other; in and other not both in PSUM
  Access in;
  Access other;
  Access out;
  AluOp op0 = AluOp::multiply;
  AluOp op1 = AluOp::add;
  Scalar scalar{};
  bool operator==(const ScalarTensorTensor&) const = default;
};

struct TensorReduce {  // reduces the last `axes` dims of in by op (add, max, min, multiply); out: the dims before
  Access in;
  Access out;
  AluOp op = AluOp::add;
  std::int8_t axes = 1;
  bool negate = false;  // out = -result
  bool operator==(const TensorReduce&) const = default;
};

struct TensorScan {  // r[i] = (a[i] op0 r[i-1]) op1 b[i] along N, r[-1] = initial; out = r
  Access a;
  Access b;
  Access out;
  AluOp op0 = AluOp::multiply;
  AluOp op1 = AluOp::add;
  Scalar initial{};
  bool operator==(const TensorScan&) const = default;
};

struct Copy {  // out = in, converted; partitions may move by whole quadrants (access.hpp)
  Access in;
  Access out;
  bool operator==(const Copy&) const = default;
};

struct CopyPredicated {  // out[i] = in[i] where predicate[i] (integer type) != 0, otherwise unchanged
  Access predicate;
  Access in;
  Access out;
  bool operator==(const CopyPredicated&) const = default;
};

struct Memset {  // out = value, converted
  Access out;
  float value = 0.0F;
  bool operator==(const Memset&) const = default;
};

struct Reciprocal {
  Access in;
  Access out;
  bool operator==(const Reciprocal&) const = default;
};

struct Transpose32 {  // one [<=32 partitions, <=32 elements] block: out[f, p] = in[p, f]
  Access in;
  Access out;
  bool operator==(const Transpose32&) const = default;
};

struct Shuffle32 {  // in every quadrant: out lane i = in lane mask[i]; 255 leaves out's lane as it is
  Access in;
  Access out;
  std::array<std::uint8_t, 32> mask{};
  bool operator==(const Shuffle32&) const = default;
};

struct BatchNormStats {  // N <= 512; out: count, mean, M2 of even elements, then of odd ones (6 values)
  Access in;
  Access out;
  bool operator==(const BatchNormStats&) const = default;
};

struct BatchNormAggregate {  // in: groups of (count, mean, M2), N multiple of 3; out: mean, variance (2 values)
  Access in;
  Access out;
  bool operator==(const BatchNormAggregate&) const = default;
};

struct Max8 {  // the eight largest of N (8..16384), descending
  Access in;
  Access out;
  bool operator==(const Max8&) const = default;
};

struct FindIndex8 {  // out (u32): index in `in` of each of the 8 values; the first unused match, N if absent
  Access values;
  Access in;
  Access out;
  bool operator==(const FindIndex8&) const = default;
};

struct MatchReplace8 {  // out = in with the first match of each of the 8 values replaced by value
  Access values;
  Access in;
  Access out;
  float value = 0.0F;
  bool operator==(const MatchReplace8&) const = default;
};

// ---- Scalar engine.

struct Activation {  // out = f(in * scale + bias); reduce (optional, 1 per partition): sum of out over N is written
  Access in;
  Access out;
  Function function = Function::copy;
  bool with_reduce = false;
  Scalar scale{1.0F, false, {}};
  Scalar bias{};
  Access reduce{};
  bool operator==(const Activation&) const = default;
};

// ---- GpSimd engine (SBUF only).

struct Iota {  // out[p, i0..i3] = base + p * partition_step + sum steps[d] * i_d (out i32 or float)
  Access out;
  std::int64_t base = 0;
  std::int32_t partition_step = 0;
  std::array<std::int32_t, Access::max_rank> steps{};
  bool operator==(const Iota&) const = default;
};

struct AffineSelect {  // value = base + p*partition_step + sum steps*i; out = (value cmp 0) ? in : fill
  Access in;
  Access out;
  Comparison comparison = Comparison::greater_equal;
  std::int64_t base = 0;
  std::int32_t partition_step = 0;
  std::array<std::int32_t, Access::max_rank> steps{};
  float fill = 0.0F;
  bool operator==(const AffineSelect&) const = default;
};

struct PartitionReduce {  // out[0, n] = op over partitions of in[p, n] (add, max, min, multiply)
  Access in;
  Access out;
  AluOp op = AluOp::add;
  bool operator==(const PartitionReduce&) const = default;
};

struct LocalGather {  // per partition: out[p, i] = in[p, index[p, i]] (index u16/i32/u32; elements along in's N)
  Access in;
  Access index;
  Access out;
  bool operator==(const LocalGather&) const = default;
};

// ---- DMA, triggered from any engine's stream. The stream goes on; the signal fires when the last byte has landed.

struct Dma {  // destination = source, converted if the types differ
  DmaAccess source;
  DmaAccess destination;
  std::uint8_t ring = 0;
  bool transpose = false;   // uses the transposing path (isa/transposition.hpp); the pattern still says what moves
  bool accumulate = false;  // destination += source (fp32 inside; half rate)
  bool operator==(const Dma&) const = default;
};

// Row i of the enumeration of `index` (SBUF, i32, one per row) selects which slab of the HBM table moves. Gather:
// out row i = table[offset + index[i] * row_stride ..][row]; scatter: the other way. Every index must be in [0, bound),
// otherwise the machine refuses. Descriptors are built by software: GpSimd's stream only. `rows_side` enumerates one row per index: its first dim is the row.
struct DmaIndirect {
  DmaAccess table;          // hbm; dims describe one row
  Access index;             // one index per partition (rank 0) or along N of one partition
  DmaAccess rows_side;      // dims[0] = row, then as table's dims
  std::int64_t row_stride = 0;  // elements of the table
  std::int64_t bound = 0;
  std::uint8_t ring = 0;
  bool scatter = false;
  bool operator==(const DmaIndirect&) const = default;
};

// ---- Control.

struct LoadTable {  // the table of a function, ahead of the activations that need it (they load it themselves otherwise)
  Function function = Function::exp;
  bool operator==(const LoadTable&) const = default;
};

struct Nop {  // only waits and signals
  bool operator==(const Nop&) const = default;
};

// All of them, in the order of the container's codes.
using Operations =
    std::variant<LoadStationary, Multiply, TensorTensor, TensorScalar, ScalarTensorTensor, TensorReduce, TensorScan,
                 Copy, CopyPredicated, Memset, Reciprocal, Transpose32, Shuffle32, BatchNormStats,
                 BatchNormAggregate, Max8, FindIndex8, MatchReplace8, Activation, Iota, AffineSelect,
                 PartitionReduce, LocalGather, Dma, DmaIndirect, Nop, LoadTable>;
using Operation = OneOf<Operations>;

struct SemaphoreTag;
using SemaphoreId = Id<SemaphoreTag>;
struct SourceTag;
using SourceId = Id<SourceTag>;  // the operator, conversion or boundary transfer that an instruction serves

struct SemaphoreWait {  // starts when the semaphore's value >= at_least
  SemaphoreId semaphore;
  std::int32_t at_least = 0;
  bool operator==(const SemaphoreWait&) const = default;
};

using WaitList = ShortList<SemaphoreWait>;

struct Instruction {
  Engine engine = Engine::sync;
  SourceId source;
  SemaphoreId signal;  // invalid = none; +1 on completion (DMA: when the transfer is complete)
  WaitList waits;
  Operation operation;
  bool operator==(const Instruction&) const = default;
};

// Columns that pass: half of the operand's elements per partition where they are pairs.
[[nodiscard]] std::int64_t columns_of(const LoadStationary& load);
[[nodiscard]] std::int64_t columns_of(const Multiply& multiply);

// Engines that can execute the operation on this generation, given where its operands lie (GpSimd has no PSUM).
[[nodiscard]] bool executes_on(const Operation& operation, Engine engine, bool scalar_copy);
[[nodiscard]] std::string_view name_of(const Operation& operation);
[[nodiscard]] std::string_view name_of(Engine engine);

// Calls f(access, bool is_write) for every on-chip operand, in declaration order (scalars only if per_partition,
// Activation.reduce only if with_reduce; both sides of a CopyPredicated/Shuffle32 output are also reads where lanes are
// kept, reported as write). DMA sides are not Accesses: handle Dma and DmaIndirect separately (index is reported here).
template <class F>
void for_each_access(Operation& operation, F&& f);
template <class F>
void for_each_access(const Operation& operation, F&& f);

}  // namespace systole::isa

#include "isa/accesses.inl.hpp"
