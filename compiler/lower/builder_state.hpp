// What a Builder remembers. Private to builder*.cpp.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "compiler/lower/builder.hpp"
#include "compiler/lower/epilogue.hpp"
#include "compiler/lower/storage.hpp"

namespace systole::lower {

struct Builder::State {
  const layout::LaidGraph& laid;
  const Residency& residency;
  const isa::Machine& machine;
  TileProgram program;
  isa::SourceId source;
  std::map<std::pair<std::string, isa::SourceKind>, isa::SourceId> sources;
  std::int64_t staging = 0;
  // Storage of root tensors: one of the two is valid once it has been asked for.
  IdVector<graph::TensorId, BufferId> buffers;
  IdVector<graph::TensorId, isa::TensorId> tensors;
  std::map<std::pair<int, isa::DType>, Tile> constants;  // identity, ones, zeros
  std::map<graph::TensorId, std::shared_ptr<Epilogue>> epilogues;
  std::map<std::vector<std::int64_t>, Tile>
      held;                     // pieces of held tensors, see is_held, and what is kept
  std::int64_t kept_bytes = 0;  // per partition

  [[nodiscard]] Epilogue* epilogue(graph::TensorId tensor) const {
    const auto found = epilogues.find(tensor);
    return found == epilogues.end() ? nullptr : found->second.get();
  }

  [[nodiscard]] bool resident(graph::TensorId tensor) const {
    return residency.resident[residency.root[tensor]] != 0;
  }
  [[nodiscard]] View view(graph::TensorId tensor) const;
  // The end of a transfer at the tensor's first element; makes the storage on first use.
  [[nodiscard]] End end(graph::TensorId tensor);
  [[nodiscard]] BufferId buffer(graph::TensorId tensor);
  [[nodiscard]] isa::TensorId hbm(graph::TensorId tensor);
  // The resident region as it lies, if one operand can address it.
  [[nodiscard]] std::optional<Tile> in_place(graph::TensorId tensor, const Region& region);
  [[nodiscard]] Tile fresh(graph::TensorId tensor, const Region& region, isa::DType dtype,
                           int partition);
  [[nodiscard]] Transfer transfer(graph::TensorId tensor, const Region& region, const Tile& tile,
                                  bool to_tile);
  [[nodiscard]] Transfer transfer(graph::TensorId tensor, const Walk& walk, const Tile& tile,
                                  bool to_tile);
  void emit_dma(const Transfer& transfer);
};

// The end of a transfer at a tile's first element.
[[nodiscard]] End end_of(const Tile& tile);

}  // namespace systole::lower
