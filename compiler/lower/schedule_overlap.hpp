// Which bytes an operand touches, and whether two operands can touch the same ones.
//
// A Touch is one operand of a tile instruction: a byte range of a buffer (or of an HBM tensor)
// times a partition range, and the access pattern itself for the exact question. Offsets count from
// the start of the buffer or tensor.
#pragma once

#include <vector>

#include "compiler/lower/tile.hpp"

namespace systole::lower {

struct Touch {
  bool write = false;
  BufferId buffer;       // on chip
  isa::TensorId tensor;  // HBM
  isa::ByteRange bytes;
  isa::PartitionRange partitions;       // HBM: [0, 1)
  const isa::Access* access = nullptr;  // one of them; none: the whole range
  const isa::DmaAccess* dma = nullptr;
  std::uint32_t without = 0;  // bit d: dim d of the pattern stands at one index, inside `bytes`
};

// False only if the two surely share no byte (they may be called overlapping without being so). The
// byte ranges and partition ranges are compared first; then, for each stride S of either pattern,
// the positions modulo S.
[[nodiscard]] bool may_overlap(const Touch& a, const Touch& b);

// The touch as rows with gaps between them: its longest strides taken apart as long as that makes at
// most `most` rows; perhaps the touch itself alone. Their union is the touch.
[[nodiscard]] std::vector<Touch> rows_of(const Touch& touch, std::size_t most);

// Whether the pattern leaves no byte of its byte range and partition range out.
[[nodiscard]] bool fills_its_range(const Touch& touch);

// The operands of an instruction, in the order of TileInstruction::buffers. Hands f a Touch each.
template <class F>
void for_each_touch(const TileInstruction& item, F&& f);

namespace detail {

[[nodiscard]] Touch touch_of(const isa::Access& access, bool write, BufferId buffer);
[[nodiscard]] Touch touch_of(const isa::DmaAccess& access, bool write, BufferId buffer);
[[nodiscard]] Touch whole_tensor(isa::TensorId tensor, bool write);

}  // namespace detail

template <class F>
void for_each_touch(const TileInstruction& item, F&& f) {
  std::size_t operand = 0;
  const auto next = [&item, &operand] {
    check(operand < item.buffers.size(), "a tile instruction names fewer buffers than operands");
    return item.buffers[operand++];
  };
  const isa::Operation& operation = item.instruction.operation;
  isa::for_each_access(operation, [&](const isa::Access& access, bool write) {
    f(detail::touch_of(access, write, next()));
  });
  const auto side = [&](const isa::DmaAccess& access, bool write) {
    const bool on_chip = access.space != isa::Space::hbm;
    f(detail::touch_of(access, write, on_chip ? next() : BufferId()));
  };
  if (const auto* dma = operation.get_if<isa::Dma>()) {
    side(dma->source, false);
    side(dma->destination, true);
  } else if (const auto* indirect = operation.get_if<isa::DmaIndirect>()) {
    f(detail::whole_tensor(indirect->table.tensor, indirect->scatter));
    side(indirect->rows_side, !indirect->scatter);
  }
  check(operand == item.buffers.size(), "a tile instruction names more buffers than operands");
}

}  // namespace systole::lower
