// A program: what the compiler hands to the machine, and all that it hands over.
//
// Five in-order instruction streams, the number of semaphores (all start at 0), the HBM tensors with their roles, and
// the table of sources that instructions name. Constants carry their bytes, already in storage order; inputs and
// outputs say how the host's row-major array maps to storage.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "isa/base/id.hpp"
#include "isa/instruction.hpp"
#include "isa/machine.hpp"

namespace systole::isa {

enum class Role : std::uint8_t { input, output, constant, scratch };

struct HbmTensor {
  std::string name;
  Role role = Role::scratch;
  DType dtype = DType::f32;
  // Storage extents, outermost first, padding included; storage axis i holds logical axis order[i] of `shape`.
  // The host's array (inputs, outputs) is row-major over `shape`; storage is row-major over `storage`.
  std::vector<std::int64_t> shape;
  std::vector<int> order;
  std::vector<std::int64_t> storage;
  // Constants: storage bytes, or empty when the data is absent (weight-free models: timing only).
  std::shared_ptr<const std::vector<std::byte>> data;

  bool operator==(const HbmTensor& other) const;
};
[[nodiscard]] std::int64_t elements(const HbmTensor& tensor);  // of storage
[[nodiscard]] std::int64_t storage_bytes(const HbmTensor& tensor);

enum class SourceKind : std::uint8_t { operation, conversion, boundary };
struct Source {
  std::string name;  // "conv1 (Convolution)", "conv1/out: (C|H,W) -> (H|C,W)"
  SourceKind kind = SourceKind::operation;
  bool operator==(const Source&) const = default;
};

struct Program {
  std::string name;
  std::string machine;            // name of the machine it was compiled for
  std::uint64_t fingerprint = 0;  // of its architecture
  int semaphores = 0;
  IdVector<TensorId, HbmTensor> tensors;
  IdVector<SourceId, Source> sources;
  std::array<std::vector<Instruction>, engine_count> streams;

  bool operator==(const Program&) const = default;
};

// What the instruction serves, for messages; "no source" if it names none.
[[nodiscard]] std::string source_name(const Program& program, const Instruction& instruction);

}  // namespace systole::isa
