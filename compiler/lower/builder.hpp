// Builds a tile program: the vocabulary in which the kernels of lower/kernels are written.
//
// A kernel asks for pieces of laid-out tensors as tiles (read), for room to compute in (scratch, psum), for the place of its
// result (write ... finish), and emits instructions on tiles. Whether a tensor is resident in SBUF or streamed from HBM,
// where it starts, and which DMA is needed, is the builder's business.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "compiler/layout/laid_graph.hpp"
#include "compiler/lower/stages.hpp"
#include "compiler/lower/tile.hpp"
#include "isa/machine.hpp"

namespace systole::lower {

// A rectangular piece in SBUF or PSUM: partitions x dims. dims outermost first, strides in elements.
struct Tile {
  BufferId buffer;
  isa::Space space = isa::Space::sbuf;
  isa::DType dtype = isa::DType::f32;
  int partition = 0;
  int partitions = 0;
  std::int64_t offset = 0;  // bytes from the start of the buffer
  std::vector<isa::Dim> dims;
};

[[nodiscard]] Tile slice(const Tile& tile, int dim, std::int64_t begin, std::int64_t extent,
                         std::int64_t step = 1);
[[nodiscard]] Tile slice_partitions(const Tile& tile, int begin, int count);
[[nodiscard]] Tile permute(const Tile& tile, const std::vector<int>& order);  // of dims
[[nodiscard]] Tile broadcast_dim(const Tile& tile, int at,
                                 std::int64_t extent);  // inserts a stride-0 dim
[[nodiscard]] Tile drop_dim(const Tile& tile, int dim,
                            std::int64_t index);  // the rest at one index of dim
[[nodiscard]] Tile split_dim(const Tile& tile, int dim,
                             std::int64_t inner);  // into (extent / inner, inner)
[[nodiscard]] Tile reinterpret(const Tile& tile,
                               isa::DType dtype);  // same bytes, type of equal size
[[nodiscard]] std::int64_t free_elements(const Tile& tile);
// The access pattern, adjacent dims merged where possible. check()s that at most four remain: kernels loop over more.
[[nodiscard]] isa::Access access(const Tile& tile);
[[nodiscard]] int merged_rank(const Tile& tile);

struct Span {
  std::int64_t begin = 0;
  std::int64_t extent = 1;
};

// A scalar operand of an instruction: an immediate, or one element per partition (a tile of one element).
struct ScalarOperand {
  ScalarOperand(float immediate) : value(immediate) {}              // NOLINT: implicit by design
  ScalarOperand(const isa::Scalar& scalar) : value(scalar.value) {  // NOLINT: immediates only
    check(!scalar.per_partition, "a per-partition scalar operand needs a tile");
  }
  ScalarOperand(const Tile& elements)
      : per_partition(true), tile(elements) {}  // NOLINT: implicit by design

  float value = 0.0F;
  bool per_partition = false;
  Tile tile;
};

// A piece of a laid-out tensor: a range of its linear partition index (at most machine.partitions long) and a range of
// every free axis, in layout order. A range of several blocks is allowed if it starts on a block and has only whole ones
// (multiples of machine.partitions): its tile has one more dim, the blocks, outermost, also if there is but one block and
// `blocks` is set.
struct Region {
  Span partitions;
  std::vector<Span> free;
  bool blocks = false;
};
[[nodiscard]] Region whole(const layout::LaidGraph& laid,
                           graph::TensorId tensor);  // partitions not limited to 128

class Epilogue;

class Builder {
 public:
  Builder(const layout::LaidGraph& laid, const Residency& residency, const isa::Machine& machine);

  [[nodiscard]] const layout::LaidGraph& laid() const;
  [[nodiscard]] const isa::Machine& machine() const;

  // SBUF bytes per partition that one kernel may use for staging (resident tensors already set aside).
  [[nodiscard]] std::int64_t staging_bytes() const;

  // The node that the following is for: sets staging_bytes to what its live residents leave.
  void begin_node(graph::NodeId node);
  // All that follows is charged to this source (operator, conversion or boundary transfer).
  void begin_source(std::string name, isa::SourceKind kind);

  // Several sources may share a kernel: an identity to charge, and charging it (the source before is returned).
  [[nodiscard]] isa::SourceId add_source(std::string name, isa::SourceKind kind);
  isa::SourceId charge(isa::SourceId source);
  [[nodiscard]] isa::SourceId source() const;

  // ---- fusion: maps that run inside this node's kernel, and what takes the pieces of a tensor that is never stored.
  [[nodiscard]] const std::vector<graph::NodeId>& followers(graph::NodeId node) const;
  [[nodiscard]] const std::vector<graph::NodeId>& reducers(graph::NodeId node) const;
  [[nodiscard]] bool is_stored(graph::TensorId tensor) const;  // not inlined
  void attach(graph::TensorId tensor, std::shared_ptr<Epilogue> epilogue);
  void detach(graph::TensorId tensor);

  // ---- reading. The tile has one dim per free axis of the region, in layout order.
  struct ReadOptions {
    isa::DType dtype;       // wanted element type; converted on the way if it differs
    bool any_dtype = true;  // take the tensor's own type
    int partition = -1;     // required start partition; -1: any legal one
  };
  // In place if the tensor is resident and the piece is legally placed; otherwise copied by DMA into a fresh tile.
  [[nodiscard]] Tile read(graph::TensorId tensor, const Region& region, const ReadOptions& options);
  [[nodiscard]] Tile read(graph::TensorId tensor, const Region& region);

  // A general gather by DMA: the fresh tile has partitions and dims as listed; each step walks one logical axis of the
  // tensor (axis -1: repeat the same elements) from `begin`. Partition steps, outermost first, multiply to at most
  // machine.partitions. Splits into as many transfers as storage and DMA limits need. Everything in range.
  struct Step {
    int axis = -1;
    std::int64_t step = 1;
    std::int64_t extent = 1;
  };
  struct Walk {
    std::vector<std::int64_t> begin;  // per logical axis
    std::vector<Step> partitions;
    std::vector<Step> free;
    bool transpose = false;  // load, and move by its source: on the DMA engines' transposing path, what it can do
  };
  [[nodiscard]] Tile gather(graph::TensorId tensor, const Walk& walk, const ReadOptions& options,
                            int partition = 0);
  // The same into (a piece of) a tile that exists already, laid out as the walk says.
  void load(const Tile& tile, graph::TensorId tensor, const Walk& walk);
  // The same walk the other way: writes a tile's elements to the tensor's storage by DMA.
  void scatter(const Tile& tile, graph::TensorId tensor, const Walk& walk);

  // What `load` makes of a piece of a tensor, only once for all strips if it is held (see is_held). `piece` tells it from
  // the tensor's others.
  [[nodiscard]] Tile held(graph::TensorId tensor, std::vector<std::int64_t> piece,
                          const std::function<Tile()>& load);

  // What `make` makes of a piece of a computed tensor, only once for all kernels, while little is kept.
  [[nodiscard]] Tile kept(graph::TensorId tensor, std::vector<std::int64_t> piece,
                          const std::function<Tile()>& make);

  // ---- writing. write gives the tile to fill (in place if resident, else staging); finish stores what was staged.
  [[nodiscard]] Tile write(graph::TensorId tensor, const Region& region);
  void finish(graph::TensorId tensor, const Region& region, const Tile& tile);
  // Whether instructions may write this region in place (resident, start partition legal): kernels that produce at a fixed
  // partition offset ask before choosing it.
  [[nodiscard]] bool writes_in_place(graph::TensorId tensor, const Region& region) const;
  [[nodiscard]] bool is_resident(graph::TensorId tensor) const;
  // The HBM storage of a tensor that is not resident (row-major over its layout's order), for indirect transfers.
  [[nodiscard]] isa::TensorId hbm(graph::TensorId tensor);

  // ---- room
  [[nodiscard]] Tile scratch(int partitions, std::vector<std::int64_t> extents, isa::DType dtype,
                             std::string name, int partition = 0);
  [[nodiscard]] Tile psum(int partitions, std::vector<std::int64_t> extents, std::string name,
                          int partition = 0);  // f32

  // ---- constants of the machine, made once per program
  [[nodiscard]] Tile identity(isa::DType dtype);  // [array_rows, array_rows]
  [[nodiscard]] Tile ones(isa::DType dtype);      // [partitions, array_columns]
  [[nodiscard]] Tile zeros(isa::DType dtype);     // [partitions, moving_max]

  // ---- instructions (engine: the preferred one; any_engine lets the schedule choose). Tiles of one instruction have the
  // same partitions and, if one instruction's limits do not suffice, the same extents: then several are emitted.
  void load_stationary(const Tile& stationary, int column);
  void multiply(const Tile& moving, const Tile& out, bool accumulate, bool zero_one = false);
  void tensor_tensor(isa::AluOp op, const Tile& out, const Tile& a, const Tile& b);
  void tensor_scalar(const Tile& out, const Tile& in, isa::AluOp op0, const ScalarOperand& s0,
                     isa::AluOp op1 = isa::AluOp::bypass, const ScalarOperand& s1 = 0.0F,
                     bool reverse0 = false, bool reverse1 = false);
  void copy(const Tile& out, const Tile& in);
  void memset(const Tile& out, float value);
  void activation(isa::Function function, const Tile& out, const Tile& in,
                  const ScalarOperand& scale = 1.0F, const ScalarOperand& bias = 0.0F);
  // out = (in op0 scalar) op1 other
  void scalar_tensor_tensor(const Tile& out, const Tile& in, isa::AluOp op0,
                            const ScalarOperand& scalar, isa::AluOp op1, const Tile& other);
  void copy_predicated(const Tile& out, const Tile& in, const Tile& predicate);
  void reciprocal(const Tile& out, const Tile& in);
  void reduce(isa::AluOp op, const Tile& out, const Tile& in, int axes);
  // Anything else: the operation with patterns relative to buffers, and the buffers in operand order.
  void emit(isa::Operation operation, isa::Engine engine, std::vector<BufferId> buffers,
            bool any_engine = false);

  // A DMA between storage and storage: region of one tensor to a region of another (same counts), HBM or SBUF.
  void move(graph::TensorId from, const Walk& source, graph::TensorId to, const Walk& destination);

  // A tensor to another of the same shape, by way of HBM storage in the order of the second.
  void move_through_hbm(graph::TensorId from, graph::TensorId to);
  // The elements of one tensor to another in row-major order of both storages: a reshape between layouts in identity order,
  // or a change of element type under the same bytes. Through HBM where partitions do not nest.
  void relabel(graph::TensorId from, graph::TensorId to);

  // The HBM storage of a tensor that the program's environment sees (before its first use), and the copy of a whole
  // tensor to such storage (an output that is also something else).
  void bind(graph::TensorId tensor, isa::HbmTensor storage);
  void store(graph::TensorId tensor, isa::HbmTensor storage);

  // The instructions so far, for peephole improvements of what a kernel has just emitted.
  [[nodiscard]] std::vector<TileInstruction>& emitted();

  [[nodiscard]] TileProgram take();

 private:
  [[nodiscard]] std::optional<Tile> read_window_of_held(graph::TensorId tensor,
                                                        const Region& region,
                                                        const ReadOptions& options);

  struct State;
  std::shared_ptr<State> state_;
};

[[nodiscard]] std::string source_name(const layout::LaidGraph& laid, graph::NodeId node);

// ---- The kernels: one function per operator family, each in lower/kernels/NAME.cpp.
void lower_map(Builder& builder, graph::NodeId node);
void lower_reduce(Builder& builder, graph::NodeId node);  // standard and ones_matmul
void lower_arg_reduce(Builder& builder, graph::NodeId node);
void lower_contraction(Builder& builder, graph::NodeId node);
void lower_convolution(Builder& builder, graph::NodeId node);
void lower_window(Builder& builder, graph::NodeId node);
void lower_movement(Builder& builder,
                    graph::NodeId node);  // Reshape (dma), Slice, Concat, Pad, Expand
void lower_gather(Builder& builder, graph::NodeId node);  // Gather, GatherElements, ScatterND
void lower_convert(Builder& builder, graph::NodeId node);

}  // namespace systole::lower
