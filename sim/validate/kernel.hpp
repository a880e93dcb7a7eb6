// Hand-written programs: what the published points and the benchmarks are made of.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "isa/machine.hpp"
#include "isa/program.hpp"

namespace systole::sim {

// `n` neighbouring elements from byte `offset` in each of `partitions` partitions.
[[nodiscard]] isa::Access row(isa::Space space, isa::DType dtype, int partitions, std::int64_t n,
                              std::int64_t offset, int partition = 0);
[[nodiscard]] inline isa::Access in_sbuf(isa::DType dtype, int partitions, std::int64_t n,
                                         std::int64_t offset, int partition = 0) {
  return row(isa::Space::sbuf, dtype, partitions, n, offset, partition);
}
[[nodiscard]] inline isa::Access in_psum(int partitions, std::int64_t n, std::int64_t offset,
                                         int partition = 0) {
  return row(isa::Space::psum, isa::DType::f32, partitions, n, offset, partition);
}

// A [rows, columns] tile of a row-major HBM matrix of `pitch` columns.
struct Tile {
  isa::TensorId tensor;
  std::int64_t pitch = 0;
  std::int64_t row = 0;
  std::int64_t column = 0;
  int rows = 0;
  std::int64_t columns = 0;
};

// A semaphore with the number of signals emitted so far.
struct Counter {
  isa::SemaphoreId id;
  std::int32_t count = 0;

  [[nodiscard]] isa::SemaphoreId signal() {
    ++count;
    return id;
  }
  // The first n signals have happened; n <= 0 needs no wait.
  [[nodiscard]] isa::SemaphoreWait at(std::int32_t n) const { return {id, n}; }
  [[nodiscard]] isa::SemaphoreWait now() const { return {id, count}; }
};

class Kernel {
 public:
  Kernel(std::string name, const isa::Machine& machine);

  [[nodiscard]] isa::TensorId matrix(const std::string& name, isa::Role role, isa::DType dtype,
                                     std::int64_t rows, std::int64_t columns);
  [[nodiscard]] isa::SemaphoreId semaphore() {
    return isa::SemaphoreId(static_cast<std::size_t>(program_.semaphores++));
  }
  [[nodiscard]] Counter counter() { return {semaphore(), 0}; }
  // Waits for 0 or less are dropped.
  isa::Instruction& emit(isa::Engine engine, isa::Operation operation,
                         std::vector<isa::SemaphoreWait> waits = {}, isa::SemaphoreId signal = {});
  // Tile to or from SBUF, one row per partition, rows at byte `offset`.
  void load(const Tile& tile, std::int64_t offset, int ring, std::vector<isa::SemaphoreWait> waits,
            isa::SemaphoreId signal, isa::Engine engine = isa::Engine::sync);
  void store(const Tile& tile, std::int64_t offset, int ring, std::vector<isa::SemaphoreWait> waits,
             isa::SemaphoreId signal, isa::Engine engine = isa::Engine::sync);
  // Following instructions serve this source.
  void source(const std::string& name);

  [[nodiscard]] const isa::Program& program() const { return program_; }
  [[nodiscard]] isa::Program take() { return std::move(program_); }

 private:
  [[nodiscard]] isa::DmaAccess hbm_side(const Tile& tile) const;
  [[nodiscard]] isa::DmaAccess sbuf_side(const Tile& tile, std::int64_t offset) const;

  isa::Program program_;
  isa::SourceId source_;
};

}  // namespace systole::sim
