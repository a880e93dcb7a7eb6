// What executing an instruction may touch: simulated memory, the weights that lie in the tensor
// engine's array, and scratch rows that are reused from one instruction to the next. And operands
// as rows of values.
//
// Values: an instruction whose data operands are all integers computes in 64-bit integers (exact
// for every element type); everything else computes in fp32, as the engines do.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "isa/convert.hpp"
#include "isa/instruction.hpp"
#include "isa/machine.hpp"
#include "sim/memory/memory.hpp"
#include "sim/memory/walk.hpp"

namespace systole::sim {

// The stationary operand: weights[(row * pairs + pair) * columns + column]. Only double-row loads use pair 1.
struct Array {
  int rows = 0;
  int columns = 0;
  int pairs = 1;  // 2 on machines with fp8_double_row
  std::vector<float> weights;
};

struct Scratch {
  std::array<std::vector<float>, 6> floats;
  std::array<std::vector<std::int64_t>, 6> integers;
  std::array<std::vector<std::byte>, 3> bytes;
  std::vector<float> moving;  // the moving operand, packed for the multiply kernel
  std::vector<float> product;

  template <class T>
  [[nodiscard]] T* row(std::size_t slot, std::int64_t elements) {
    auto& buffer = [&]() -> auto& {
      if constexpr (std::is_same_v<T, float>) {
        return floats[slot];
      } else {
        return integers[slot];
      }
    }
    ();
    if (buffer.size() < static_cast<std::size_t>(elements)) {
      buffer.resize(static_cast<std::size_t>(elements));
    }
    return buffer.data();
  }
  [[nodiscard]] std::byte* row_bytes(std::size_t slot, std::int64_t count) {
    if (bytes[slot].size() < static_cast<std::size_t>(count)) {
      bytes[slot].resize(static_cast<std::size_t>(count));
    }
    return bytes[slot].data();
  }
};

struct Context {
  Context(const isa::Machine& of, Memory& in);

  const isa::Machine& machine;
  Memory& memory;
  Array array;
  Scratch scratch;
  std::string fault;  // set by an execute that met an impossible value (an index out of range)
};

// Reads rows of an operand as T (float or int64). A dense fp32 row is read in place.
template <class T>
class Reader {
 public:
  Reader(Context& context, const isa::Access& access, std::size_t slot)
      : context_(context), access_(access), walk_(walk_of(access)), slot_(slot) {}

  [[nodiscard]] std::int64_t size() const { return walk_.elements; }
  // Row p of the operand, p counted from its first partition. Valid until the next call.
  [[nodiscard]] const T* row(int p) {
    const std::byte* base = context_.memory.partition(access_.space, access_.partition + p);
    const std::byte* dense = base + walk_.offset;
    if constexpr (std::is_same_v<T, float>) {
      if (walk_.dense() && access_.dtype == isa::DType::f32 && walk_.offset % 4 == 0) {
        return reinterpret_cast<const float*>(dense);
      }
    }
    const std::int64_t bytes = walk_.elements * walk_.element_size;
    if (!walk_.dense()) {
      std::byte* gathered = context_.scratch.row_bytes(0, bytes);
      gather(walk_, base, gathered);
      dense = gathered;
    }
    T* values = context_.scratch.row<T>(slot_, walk_.elements);
    isa::load(access_.dtype, std::span<const std::byte>(dense, static_cast<std::size_t>(bytes)),
              std::span<T>(values, static_cast<std::size_t>(walk_.elements)));
    return values;
  }

 private:
  Context& context_;
  isa::Access access_;
  Walk walk_;
  std::size_t slot_;
};

// Writes rows of an operand: fill buffer(), then commit(p) rounds it to the element type and stores
// it.
template <class T>
class Writer {
 public:
  Writer(Context& context, const isa::Access& access, std::size_t slot)
      : context_(context),
        access_(access),
        walk_(walk_of(access)),
        values_(context.scratch.row<T>(slot, walk_.elements)) {}

  [[nodiscard]] std::int64_t size() const { return walk_.elements; }
  [[nodiscard]] T* buffer() { return values_; }
  void commit(int p) {
    std::byte* base = context_.memory.partition(access_.space, access_.partition + p);
    const std::int64_t bytes = walk_.elements * walk_.element_size;
    std::byte* dense = walk_.dense() ? base + walk_.offset : context_.scratch.row_bytes(1, bytes);
    isa::store(access_.dtype, std::span<const T>(values_, static_cast<std::size_t>(walk_.elements)),
               std::span<std::byte>(dense, static_cast<std::size_t>(bytes)));
    if (!walk_.dense()) {
      scatter(walk_, dense, base);
    }
  }

 private:
  Context& context_;
  isa::Access access_;
  Walk walk_;
  T* values_;
};

// The value of a scalar operand for row p.
template <class T>
[[nodiscard]] T scalar_value(Context& context, const isa::Scalar& scalar, int p) {
  if (!scalar.per_partition) {
    return static_cast<T>(scalar.value);
  }
  const std::byte* at = context.memory.partition(scalar.access.space, scalar.access.partition + p) +
                        scalar.access.offset;
  if constexpr (std::is_same_v<T, float>) {
    return isa::load_float(scalar.access.dtype, at);
  } else {
    return isa::load_integer(scalar.access.dtype, at);
  }
}

// Calls f with a value of the type to compute in: int64 if all are integers, float otherwise.
template <class F, class... A>
void with_value_type(F&& f, const A&... accesses) {
  if ((!isa::is_float(accesses.dtype) && ...)) {
    f(std::int64_t{});
  } else {
    f(float{});
  }
}

}  // namespace systole::sim
