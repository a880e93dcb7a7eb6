// The operands of an elementwise operator over one chunk of its output.
#pragma once

#include <optional>
#include <vector>

#include "compiler/lower/kernels/chunks.hpp"

namespace systole::lower {

// How one operand enters an instruction: an immediate, one element per partition, or a tile with the output's dims.
struct MapInput {
  enum class Form : std::uint8_t { immediate, per_partition, tile };
  Form form = Form::tile;
  float value = 0.0F;  // immediate
  Tile tile;  // per_partition: one element; tile: the chunk's extents, stride 0 where broadcast
  isa::DType dtype = isa::DType::f32;

  [[nodiscard]] ScalarOperand scalar() const {
    return form == Form::immediate ? ScalarOperand(value) : ScalarOperand(tile);
  }
};

// A chunk: partitions of the output (one range inside a block, or whole blocks) and spans of its free axes.
struct MapChunk {
  Span partitions;
  bool by_blocks = false;
  std::vector<Span> free;
};

class MapReader {
 public:
  MapReader(Builder& builder, graph::TensorId input, const Operand& output);

  [[nodiscard]] MapInput read(const MapChunk& chunk);
  // The negative number per partition of a chunk that is_scalar_in: of an operand with rows all are negated at once.
  [[nodiscard]] std::optional<Tile> negative_of(const MapChunk& chunk);
  // Bytes per partition and element of the output that a chunk of this operand occupies in staging.
  [[nodiscard]] std::int64_t staged_bytes() const;
  // Whether a chunk inside one block sees one number per partition, or one altogether.
  [[nodiscard]] bool may_be_scalar() const;
  // Elements of the output inside a partition that see one number, if a partition has several such rows of a useful
  // length and the operand lies at hand; else 0. A chunk of one row sees one number per partition.
  [[nodiscard]] std::int64_t row_elements() const;
  [[nodiscard]] bool is_scalar_in(const MapChunk& chunk) const;
  [[nodiscard]] std::optional<float> immediate() const { return immediate_; }
  // Whether whole blocks can be read at once.
  [[nodiscard]] bool reads_blocks() const { return across_ != Across::some; }

 private:
  enum class Across : std::uint8_t {
    all,
    none,
    some
  };  // which of the output's partition axes the operand has

  [[nodiscard]] int own_axis(int output_axis) const;  // -1: broadcast along it
  [[nodiscard]] std::vector<Span> own_free(const MapChunk& chunk) const;
  [[nodiscard]] Tile fetch(const MapChunk& chunk);
  [[nodiscard]] bool repeats_by_array(const std::vector<std::int64_t>& extents) const;
  void repeat_row(const Tile& tile, const Tile& row);
  [[nodiscard]] Tile aligned(const Tile& tile, const MapChunk& chunk) const;

  Builder& builder_;
  Operand output_;
  Operand input_;
  Across across_ = Across::all;
  std::int64_t repeat_ = 1;  // of some: partitions after which the operand begins again
  std::optional<float> immediate_;
  // Tiles fetched lately, with the places they are from: chunks share broadcast operands. Small ones are kept beyond
  // the last.
  struct Fetched {
    std::vector<Span> place;
    Tile tile;
    std::int64_t bytes = 0;  // of staging; 0 in place
  };
  [[nodiscard]] const Tile& remembered(const MapChunk& chunk);
  std::vector<Fetched> fetched_;
  struct Negatives {
    Span partitions;
    bool by_blocks = false;
    Tile tile;  // [blocks if by blocks, free axes]
  };
  std::vector<Negatives> negatives_;
};

// The value of a one-element constant that an instruction can take as an exact immediate.
[[nodiscard]] std::optional<float> immediate_of(const layout::LaidGraph& laid,
                                                graph::TensorId tensor);

// Fills `tile` (one partition per index of the output's partition range) with the input's elements for those indices, where
// the input lacks some of the output's partition axes or orders them otherwise. walk gives the rest: begin of every
// logical axis of the input and the free steps. own: the input's axis for each of the output's partition axes, or -1.
void load_partition_range(Builder& builder, const Tile& tile, graph::TensorId input,
                          const Operand& output, const std::vector<int>& own, Span partitions,
                          const Builder::Walk& walk);

}  // namespace systole::lower
