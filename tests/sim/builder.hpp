// Hand-written programs for tests, one call per instruction.
#pragma once

#include <cstddef>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "isa/machine.hpp"
#include "isa/program.hpp"

namespace systole::sim::testing {

// A pattern over `partitions` partitions and a dense row of n elements at byte `offset`.
inline isa::Access row(isa::Space space, isa::DType dtype, int partitions, int n, int offset = 0,
                       int partition = 0) {
  isa::Access access;
  access.space = space;
  access.dtype = dtype;
  access.partition = static_cast<std::int16_t>(partition);
  access.partitions = static_cast<std::int16_t>(partitions);
  access.rank = 1;
  access.offset = offset;
  access.dims[0] = {1, n};
  return access;
}
inline isa::Access sbuf(isa::DType dtype, int partitions, int n, int offset = 0,
                        int partition = 0) {
  return row(isa::Space::sbuf, dtype, partitions, n, offset, partition);
}
inline isa::Access psum(int partitions, int n, int offset = 0, int partition = 0) {
  return row(isa::Space::psum, isa::DType::f32, partitions, n, offset, partition);
}
inline isa::Scalar per_partition(isa::DType dtype, int partitions, int offset, int partition = 0) {
  isa::Scalar scalar;
  scalar.per_partition = true;
  scalar.access = sbuf(dtype, partitions, 1, offset, partition);
  scalar.access.rank = 0;
  return scalar;
}

class Builder {
 public:
  explicit Builder(const isa::Machine& machine) {
    program.name = "test";
    program.machine = machine.name;
    program.fingerprint = isa::fingerprint(machine);
    program.sources.add({"test", isa::SourceKind::operation});
  }

  isa::TensorId tensor(const std::string& name, isa::Role role, isa::DType dtype,
                       std::vector<std::int64_t> shape) {
    isa::HbmTensor t;
    t.name = name;
    t.role = role;
    t.dtype = dtype;
    t.shape = shape;
    t.storage = std::move(shape);
    for (std::size_t i = 0; i < t.shape.size(); ++i) {
      t.order.push_back(static_cast<int>(i));
    }
    return program.tensors.add(std::move(t));
  }

  isa::SemaphoreId semaphore() {
    return isa::SemaphoreId(static_cast<std::size_t>(program.semaphores++));
  }

  // `signals` may be invalid.
  isa::Instruction& add(isa::Engine engine, isa::Operation operation,
                        std::vector<isa::SemaphoreWait> waits = {}, isa::SemaphoreId signal = {}) {
    isa::Instruction instruction;
    instruction.engine = engine;
    instruction.source = isa::SourceId(0);
    instruction.waits = std::move(waits);
    instruction.signal = signal;
    instruction.operation = std::move(operation);
    auto& stream = program.streams[static_cast<std::size_t>(engine)];
    stream.push_back(std::move(instruction));
    return stream.back();
  }

  // Rows of a [partitions, n] tensor, from `first_row`, to or from the same pattern in SBUF.
  static isa::DmaAccess hbm_rows(isa::TensorId tensor, isa::DType dtype, int rows, int n,
                                 std::int64_t pitch, std::int64_t offset = 0) {
    isa::DmaAccess access;
    access.space = isa::Space::hbm;
    access.dtype = dtype;
    access.tensor = tensor;
    access.offset = offset;
    access.rank = 2;
    access.dims[0] = {pitch, rows, false};
    access.dims[1] = {1, n, false};
    return access;
  }
  static isa::DmaAccess sbuf_rows(isa::DType dtype, int rows, int n, int offset = 0,
                                  int partition = 0) {
    isa::DmaAccess access;
    access.space = isa::Space::sbuf;
    access.dtype = dtype;
    access.partition = static_cast<std::int16_t>(partition);
    access.offset = offset;
    access.rank = 2;
    access.dims[0] = {1, rows, true};
    access.dims[1] = {1, n, false};
    return access;
  }
  isa::Instruction& load(isa::TensorId tensor, isa::DType dtype, int rows, int n, int offset,
                         isa::SemaphoreId signal, isa::Engine engine = isa::Engine::sync,
                         std::uint8_t ring = 0) {
    isa::Dma dma;
    dma.source = hbm_rows(tensor, dtype, rows, n, n);
    dma.destination = sbuf_rows(dtype, rows, n, offset);
    dma.ring = ring;
    return add(engine, dma, {}, signal);
  }
  isa::Instruction& store(isa::TensorId tensor, isa::DType dtype, int rows, int n, int offset,
                          std::vector<isa::SemaphoreWait> waits, isa::SemaphoreId signal = {},
                          isa::Engine engine = isa::Engine::sync, std::uint8_t ring = 0) {
    isa::Dma dma;
    dma.source = sbuf_rows(dtype, rows, n, offset);
    dma.destination = hbm_rows(tensor, dtype, rows, n, n);
    dma.ring = ring;
    return add(engine, dma, std::move(waits), signal);
  }

  isa::Program program;
};

template <class T>
std::vector<std::byte> bytes_of(const std::vector<T>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}
template <class T>
std::vector<T> values_of(const std::vector<std::byte>& bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

}  // namespace systole::sim::testing
