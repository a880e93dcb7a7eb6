// A chain of elementwise operators on one piece of their common shape: each step takes the value of the step before it
// and perhaps other operands. Neighbouring steps that one instruction can do (a scale, a shift, a function) are one.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "compiler/lower/epilogue.hpp"
#include "compiler/lower/kernels/map_operands.hpp"

namespace systole::lower {

class MapChain {
 public:
  // Nodes in order, all with outputs of the same shape and layout. `value`: the tensor that the first node takes from
  // a producer; invalid if the first node reads all of its operands.
  MapChain(Builder& builder, const std::vector<graph::NodeId>& nodes, graph::TensorId value);

  // Staging bytes per element beside the producer's own.
  [[nodiscard]] std::int64_t bytes() const;
  [[nodiscard]] bool reads_blocks() const;
  // Whether some operand is one number per partition.
  [[nodiscard]] bool has_partition_scalars() const;
  // Elements of the shortest row that sees one number of an operand with several numbers per partition; 0: none.
  [[nodiscard]] std::int64_t row_elements() const;
  // Whether the last instruction can add up what it makes without taking longer.
  [[nodiscard]] bool ends_in_function() const;
  [[nodiscard]] const Operand& output() const { return output_; }
  // The steps are one instruction on floats, so that the producer may write the chain's result in place of its own.
  [[nodiscard]] bool is_one_instruction() const;
  // The element type in which the producer's value is best handed over.
  [[nodiscard]] isa::DType handover_type() const;

  // Runs the chain on a chunk. value: the producer's piece, with the output's dims (none: the first step reads). out: where the
  // result goes; value may be the same tile.
  // sum: one element per partition that is to take the sum of the result. Returns whether it does: if the last
  // instruction can add up what it makes.
  bool run(const MapChunk& chunk, const std::optional<Tile>& value, const Tile& out,
           const std::optional<Tile>& sum = std::nullopt);

  // If all that has been written to the producer's tile since `first` are copies, they become the chain's first
  // instruction: true if that was possible; then the chain goes on behind it.
  [[nodiscard]] bool absorb(const MapChunk& chunk, const Tile& value, std::size_t first);
  void run_rest(const MapChunk& chunk, const Tile& value, const Tile& out);

 private:
  struct Step {
    graph::Map op;
    isa::DType dtype = isa::DType::f32;  // of its output
    int through = -1;                    // the argument that is the value of the step before
    std::vector<std::optional<MapReader>> readers;  // the others
    isa::SourceId source;
  };
  // Steps [begin, end) as function(scale * x + bias). A power of two behind the bias scales both, exactly.
  struct Group {
    std::size_t begin = 0;
    std::size_t end = 0;
    std::optional<ScalarOperand> scale;
    std::optional<ScalarOperand> bias;
    std::optional<isa::Function> function;
  };

  void choose_source(Step& step);
  [[nodiscard]] std::optional<ScalarOperand> scalar_of(Step& step, const MapChunk& chunk,
                                                       bool negative);
  [[nodiscard]] bool extend(Group& group, Step& step, const MapChunk& chunk);
  [[nodiscard]] Group group_at(std::size_t begin, const MapChunk& chunk);
  [[nodiscard]] std::size_t static_group() const;
  bool go(std::size_t begin, const MapChunk& chunk, std::optional<Tile> value, bool owned,
          const Tile& out, const std::optional<Tile>& sum = std::nullopt);
  void emit_group(const Group& group, const Tile& out, const Tile& in);
  [[nodiscard]] bool emit_summing(const Group& group, const Tile& out, const Tile& in,
                                  const Tile& sum);
  [[nodiscard]] ScalarOperand scaled(const ScalarOperand& operand, float factor);
  [[nodiscard]] static std::optional<float> power_of(const Group& group, const isa::Access& in);
  [[nodiscard]] bool absorb_pair(const MapChunk& chunk, const Tile& value,
                                 const std::vector<std::size_t>& copies, std::size_t before);
  [[nodiscard]] bool redirect(const Tile& value, const Tile& out);
  [[nodiscard]] isa::Operation operation_of(const Group& group, const isa::Access& in,
                                            const isa::Access& out, int first_partition,
                                            std::vector<BufferId>& buffers,
                                            bool activation = false) const;
  [[nodiscard]] Tile like(const Tile& tile, isa::DType dtype);

  Builder& b_;
  Operand output_;
  std::vector<Step> steps_;
  std::optional<MapReader> source_;  // what the first step works on, if no producer hands it over
  isa::DType value_type_ = isa::DType::f32;  // of the producer's value
  std::size_t absorbed_ = 0;                 // steps that the last absorb() took
  std::vector<std::size_t> absorbing_;       // by these of the emitted instructions
};

// The chain of a host's followers, for its producer's writes.
[[nodiscard]] std::shared_ptr<Epilogue> make_epilogue(Builder& builder,
                                                      const std::vector<graph::NodeId>& followers,
                                                      graph::TensorId value);

}  // namespace systole::lower
