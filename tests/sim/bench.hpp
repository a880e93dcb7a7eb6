// One machine's memory on a bench: put values into operands, execute one instruction, read values back. Values are placed
// and read through isa's one-element conversions and a plain four-fold loop over the pattern, not through sim's walks.
#pragma once

#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "isa/base/random.hpp"
#include "isa/convert.hpp"
#include "isa/machine.hpp"
#include "sim/instructions/execute.hpp"
#include "sim/memory/memory.hpp"
#include "tests/sim/builder.hpp"

namespace systole::sim::testing {

// Byte offsets in a partition of the pattern's elements, in order.
inline std::vector<std::int64_t> offsets(const isa::Access& access) {
  std::vector<std::int64_t> at{access.offset};
  for (int d = 0; d < access.rank; ++d) {
    std::vector<std::int64_t> next;
    for (const std::int64_t base : at) {
      for (int i = 0; i < access.dims[static_cast<std::size_t>(d)].extent; ++i) {
        next.push_back(base + std::int64_t{access.dims[static_cast<std::size_t>(d)].stride} * i *
                                  isa::size_of(access.dtype));
      }
    }
    at = std::move(next);
  }
  return at;
}

using Rows = std::vector<std::vector<double>>;  // [partition][element]

class Bench {
 public:
  explicit Bench(const char* name = "trn1") : Bench(isa::read_machine(name)) {}
  explicit Bench(isa::Machine of)
      : machine(std::move(of)), memory(machine, program), context(machine, memory) {}

  void put(const isa::Access& access, const Rows& rows) {
    const auto at = offsets(access);
    for (int p = 0; p < access.partitions; ++p) {
      for (std::size_t i = 0; i < at.size(); ++i) {
        isa::store_double(access.dtype, rows[static_cast<std::size_t>(p)][i],
                          byte(access, p, at[i]));
      }
    }
  }
  [[nodiscard]] Rows get(const isa::Access& access) {
    const auto at = offsets(access);
    Rows rows(static_cast<std::size_t>(access.partitions));
    for (int p = 0; p < access.partitions; ++p) {
      for (const std::int64_t offset : at) {
        rows[static_cast<std::size_t>(p)].push_back(
            isa::load_double(access.dtype, byte(access, p, offset)));
      }
    }
    return rows;
  }
  // Random values, as the operand holds them after rounding to its type.
  Rows fill(const isa::Access& access, double low, double high) {
    Rows rows(static_cast<std::size_t>(access.partitions));
    for (auto& row : rows) {
      for (std::size_t i = 0; i < offsets(access).size(); ++i) {
        const double value = low + (high - low) * random.uniform();
        row.push_back(isa::is_float(access.dtype) ? value : std::floor(value));
      }
    }
    put(access, rows);
    return get(access);
  }
  void run(const isa::Operation& operation) { execute_operation(operation, context); }

  isa::Program program;
  isa::Machine machine;
  Memory memory;
  Context context;
  Random random{7};

 private:
  std::byte* byte(const isa::Access& access, int p, std::int64_t offset) {
    return memory.partition(access.space, access.partition + p) + offset;
  }
};

// A pattern of two dims: rows of `inner` elements `pitch` elements apart.
inline isa::Access strided(isa::Space space, isa::DType dtype, int partitions, int outer, int pitch,
                           int inner, int step, int offset, int partition = 0) {
  isa::Access access = row(space, dtype, partitions, 1, offset, partition);
  access.rank = 2;
  access.dims[0] = {pitch, outer};
  access.dims[1] = {step, inner};
  return access;
}

}  // namespace systole::sim::testing
