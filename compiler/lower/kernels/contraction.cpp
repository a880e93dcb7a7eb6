// Contraction on the tensor engine.
//
// The stationary operand's tile [k rows, m columns] is loaded into the array and the moving
// operand's tiles [k rows, n] stream through it; the results [m, n] add up in PSUM while k runs,
// and are evicted to the result once. Either argument may be the stationary one (the mechanism says
// which): its m labels become the partitions of the result.
//
// A group of m tiles x n tiles accumulates at once, k outermost: each loaded tile serves several
// multiplies, each weight tile several moving tiles in a row, and at the start work begins with the
// first k rows that arrive. The loops around the groups and what they reload: contraction_blocking.
// With several k blocks, partial sums wait in SBUF in fp32.
//
// Batch labels on the partitions of the operands select rows inside a partition block, on those of
// the result a range of its partitions; free ones select a slice. k labels that are not on the
// partitions are further passes.
//
// Types: see product_type; whole numbers: contraction_integer.
#include <algorithm>
#include <optional>

#include "compiler/lower/hoist.hpp"
#include "compiler/lower/kernels/contraction_groups.hpp"
#include "compiler/lower/kernels/contraction_integer.hpp"
#include "compiler/lower/kernels/contraction_loader.hpp"
#include "compiler/lower/pieces.hpp"
#include "compiler/lower/strip.hpp"

namespace systole::lower {
namespace {

// Beside a digit, per element: the number and two quotients in i32.
constexpr int digit_bytes = 12;

class Kernel {
 public:
  // strips: of the moving operand's own label, if it is made strip by strip.
  Kernel(Builder& builder, const Space& space, const Arithmetic& arithmetic,
         std::vector<Span> strips)
      : builder_(builder),
        machine_(builder.machine()),
        space_(space),
        arithmetic_(arithmetic),
        strips_(std::move(strips)),
        out_resident_(builder.is_resident(space.out.tensor)),
        gathers_(!out_resident_ && batch_is_innermost()),
        prefetched_(task().prefetched),
        blocking_(choose_blocking(task())),
        grouping_(space_, machine_, blocking_, out_resident_, static_cast<int>(passes())),
        stationary_(builder, space_, space_.stationary, arithmetic.dtype,
                    blocking_.stationary.whole, blocking_.k_steps),
        moving_(builder, space_, space_.moving, arithmetic.dtype, blocking_.moving.whole,
                blocking_.k_steps) {}

  void run() {
    if (gathers_) {
      run_gathered();
      return;
    }
    std::vector<Ranges> blocks = blocks_by_strips();
    strip_blocks_ = blocks.empty() ? 0 : strips_.size();
    for (const Ranges& batch :
         blocks.empty() ? cut(space_.all(), space_.batch, 1) : std::vector<Ranges>()) {
      for (const Ranges& columns : cut(batch, space_.n, blocking_.n)) {
        for (const Ranges& block : cut(columns, space_.m, blocking_.m)) {
          blocks.push_back(block);
        }
      }
    }
    run_blocks(blocks);
  }

 private:
  // Of a moving operand that is made strip by strip, the first rows of the result take one strip after the other, so that
  // work begins with the first one; by the time of the other rows all are there. Empty: not so.
  [[nodiscard]] std::vector<Ranges> blocks_by_strips() const {
    const std::int64_t m = space_.extent(space_.m);
    const bool whole =
        blocking_.n >= space_.extent(space_.n) &&
        blocking_.k_steps >= static_cast<std::int64_t>(grouping_.steps_of(space_.all()).size());
    if (strips_.size() < 2 || !prefetched_ || !whole || passes() > 1) {
      return {};
    }
    const std::int64_t group = blocking_.m_tiles * machine_.array_columns;
    const std::int64_t half = (m / 2 + group - 1) / group * group;
    const std::vector<Ranges> rows = cut(space_.all(), space_.m, std::min(half, blocking_.m));
    std::vector<Ranges> blocks;
    for (const Span& strip : strips_) {
      blocks.push_back(rows.front());
      blocks.back()[static_cast<std::size_t>(space_.n.front())] = strip;
    }
    blocks.insert(blocks.end(), rows.begin() + 1, rows.end());
    return blocks;
  }

  [[nodiscard]] BlockingTask task() const {
    const std::int64_t room = builder_.staging_bytes() - (gathers_ ? 2 * gathering_bytes() : 0);
    BlockingTask task{space_, machine_, room, 1, true, {}, {}};
    task.row_parts =
        static_cast<std::int64_t>(legal_parts(machine_, rows_of(space_, space_.all())).size());
    task.f32 = arithmetic_.dtype == isa::DType::f32;
    task.passes = passes();
    task.k_steps_max = arithmetic_.k_steps_max;
    const auto streamed = [this](const Placed& placed, int digits) {
      const bool in_place = builder_.is_resident(placed.tensor) &&
                            builder_.laid().storage[placed.tensor] == arithmetic_.dtype;
      return Streamed{!in_place, isa::size_of(arithmetic_.dtype) + (digits > 1 ? digit_bytes : 0),
                      false, !builder_.is_stored(placed.tensor)};
    };
    task.stationary = streamed(space_.stationary, arithmetic_.stationary_digits);
    task.moving = streamed(space_.moving, arithmetic_.moving_digits);
    const auto known_early = [this](const Placed& placed) {
      const graph::Graph& graph = builder_.laid().graph;
      graph::TensorId tensor = placed.tensor;
      if (!builder_.is_stored(tensor)) {
        tensor = graph.nodes[graph.tensors[tensor].producer].inputs[0];
      }
      return builder_.is_resident(tensor) || is_held(builder_.laid(), tensor) ||
             graph.tensors[tensor].kind != graph::TensorKind::intermediate;
    };
    task.prefetched =
        !builder_.emitted().empty() && known_early(space_.stationary) && known_early(space_.moving);
    task.out_staged = !out_resident_;
    task.out_bytes = isa::size_of(builder_.laid().storage[space_.out.tensor]);
    return task;
  }

  // Whether the elements of one batch are far from each other in the result, and those of the
  // batches side by side: each batch alone would be stored element by element.
  [[nodiscard]] bool batch_is_innermost() const {
    const Labels& free = space_.out.free_labels;
    const auto is_batch = [this](int label) {
      return std::ranges::find(space_.batch, label) != space_.batch.end();
    };
    const auto inner = std::find_if(free.rbegin(), free.rend(), [this](int label) {
      return space_.extents[static_cast<std::size_t>(label)] > 1;
    });
    return inner != free.rend() && is_batch(*inner) &&
           std::ranges::none_of(space_.out.partition_labels, is_batch);
  }

  [[nodiscard]] std::int64_t gathering_bytes() const { return builder_.staging_bytes() / 8; }

  // One row tile of the result after the other, all batches that fit side by side.
  void run_gathered() {
    const int size = isa::size_of(builder_.laid().storage[space_.out.tensor]);
    const std::int64_t room = std::max<std::int64_t>(1, gathering_bytes() / size);
    for (const Ranges& batches : cut(space_.all(), space_.batch, room)) {
      const std::int64_t most = std::max<std::int64_t>(1, room / volume(batches, space_.batch));
      for (const Ranges& columns : cut(batches, space_.n, std::min(most, blocking_.n))) {
        for (const RowTile& tile : grouping_.row_tiles(columns)) {
          gather(tile);
        }
      }
    }
  }

  void gather(const RowTile& tile) {
    const Region region = region_of(space_.out, tile.box, tile.partitions);
    gathered_box_ = tile.box;
    gathered_partitions_ = tile.partitions;
    gathered_ = builder_.write(space_.out.tensor, region);
    run_blocks(cut(tile.box, space_.batch, 1));
    builder_.finish(space_.out.tensor, region, *gathered_);
  }

  // ---- one block

  void run_blocks(const std::vector<Ranges>& blocks) {
    std::vector<Group> groups;
    for (std::size_t b = 0; b < blocks.size(); ++b) {
      if (b == 0) {
        groups = grouping_.groups_of(blocks[b]);
      }
      std::vector<Group> later;
      if (b + 1 < blocks.size()) {
        later = grouping_.groups_of(blocks[b + 1]);
      }
      partial_.assign(groups.front().block_tiles * groups.front().spans, {});
      const std::size_t begin = builder_.emitted().size();
      for (std::size_t g = 0; g < groups.size(); ++g) {
        const Group* next = g + 1 < groups.size() ? &groups[g + 1] : nullptr;
        run_group(groups[g], next == nullptr && !later.empty() ? &later.front() : next);
      }
      if (b < strip_blocks_) {
        hoist(builder_.emitted(), begin);
      }
      groups = std::move(later);
    }
  }

  void run_group(const Group& group, const Group* next) {
    if (group.begins_round) {
      weight_ = select_digits(group.turn.pass);
      begin_loads(group.block, group.k_blocks);
    }
    const auto sums = accumulate(group, next);
    for (std::size_t t = 0; t < group.tiles.size(); ++t) {
      Tile& waiting = partial_[(group.first_tile + t) * group.spans + group.span_index];
      if (group.turn.first && !group.turn.last) {
        waiting = room_for_sums(group.tiles[t], group.span);
      }
      evict(group.tiles[t], group.span, sums[t], waiting, group.turn);
    }
  }

  // Which digits of the operands a pass multiplies; products beyond 31 bits are none.
  [[nodiscard]] std::vector<std::pair<int, int>> digit_pairs() const {
    std::vector<std::pair<int, int>> pairs;
    for (int s = 0; s < arithmetic_.stationary_digits; ++s) {
      for (int m = 0; m < arithmetic_.moving_digits && s + m < 4; ++m) {
        pairs.emplace_back(s, m);
      }
    }
    return pairs;
  }
  [[nodiscard]] std::int64_t passes() const {
    return static_cast<std::int64_t>(digit_pairs().size());
  }

  // Returns the weight of the pass's products: a power of 256.
  [[nodiscard]] std::int64_t select_digits(int pass) {
    const auto [stationary, moving] = digit_pairs()[static_cast<std::size_t>(pass)];
    stationary_.select_digit(stationary, arithmetic_.stationary_digits);
    moving_.select_digit(moving, arithmetic_.moving_digits);
    return std::int64_t{1} << (8 * (stationary + moving));
  }

  void begin_loads(const Ranges& block, bool k_blocks) {
    Ranges box = block;
    for (const int label : space_.k_free) {
      box[static_cast<std::size_t>(label)] =
          blocking_.k_free_whole ? Span{0, space_.extents[static_cast<std::size_t>(label)]}
                                 : Span{0, 0};
    }
    stationary_.begin_block(box);
    moving_.begin_block(box);
    if (k_blocks) {
      stationary_.forget();
      moving_.forget();
    }
  }

  // Operands that are transposed on the way: those of a group are made while the group before it
  // accumulates, part by part, so that the array finds them when it is free; before it if that one
  // takes all banks.
  void prepare(const Group& group, std::size_t part, std::size_t parts) {
    const std::size_t count = group.steps.size();
    for (std::size_t k = part * count / parts; k < (part + 1) * count / parts; ++k) {
      const Step& step = group.steps[k];
      if (moving_.turns()) {
        for (const Ranges& box : cut(group.span, space_.n, machine_.moving_max)) {
          moving_.prepare(step.rows, with_k(box, step));
        }
      }
      if (stationary_.turns()) {
        for (const RowTile& tile : group.tiles) {
          stationary_.prepare(step.rows, with_k(tile.box, step));
        }
      }
    }
  }

  // The sums over the group's steps, in PSUM: for each row tile, the columns of its span in pieces
  // that one multiply takes.
  [[nodiscard]] std::vector<std::vector<Tile>> accumulate(const Group& group, const Group* next) {
    const std::vector<RowTile>& tiles = group.tiles;
    const std::vector<Step>& steps = group.steps;
    const std::vector<Ranges> columns = cut(group.span, space_.n, machine_.moving_max);
    const bool all_banks =
        static_cast<std::int64_t>(tiles.size() * columns.size()) >= machine_.psum_banks;
    prepare(group, 0, 1);
    if (next != nullptr && all_banks) {
      prepare(*next, 0, 1);
    }
    std::vector<std::vector<Tile>> sums(tiles.size());
    for (std::size_t t = 0; t < tiles.size(); ++t) {
      for (const Ranges& box : columns) {
        sums[t].push_back(
            builder_.psum(static_cast<int>(tiles[t].partitions.extent), extents_of(box), "sums"));
      }
    }
    const std::size_t together = steps.size() - staggered_steps(group);
    const auto multiply = [&](std::size_t k, std::size_t first, std::size_t last) {
      std::vector<Tile> moving;
      for (const Ranges& box : columns) {
        moving.push_back(addressable(moving_.get(steps[k].rows, with_k(box, steps[k]), space_.n)));
      }
      for (std::size_t t = first; t < last; ++t) {
        builder_.load_stationary(addressable(stationary_.get(
                                     steps[k].rows, with_k(tiles[t].box, steps[k]), space_.m_rows)),
                                 0);
        for (std::size_t c = 0; c < columns.size(); ++c) {
          builder_.multiply(moving[c], sums[t][c], k > 0);
        }
      }
      if (next != nullptr && !all_banks && first == 0) {
        prepare(*next, k, steps.size());
      }
    };
    for (std::size_t k = 0; k < together; ++k) {
      multiply(k, 0, tiles.size());
    }
    for (std::size_t t = 0; t < tiles.size(); ++t) {
      for (std::size_t k = together; k < steps.size(); ++k) {
        multiply(k, t, t + 1);
      }
    }
    return sums;
  }

  // The last steps of a product's last group are taken tile by tile, so that what follows can begin with the first tile;
  // where operands only arrive during the product, all tiles wait for the last of them anyway.
  [[nodiscard]] std::size_t staggered_steps(const Group& group) const {
    const bool ends = group.turn.last && group.first_tile + group.tiles.size() == group.block_tiles;
    return ends && prefetched_ && !blocking_.bound_by_loads && group.tiles.size() > 1
               ? group.steps.size() / 2
               : 0;
  }

  [[nodiscard]] Ranges with_k(const Ranges& box, const Step& step) const {
    Ranges out = box;
    for (const int label : space_.k_free) {
      out[static_cast<std::size_t>(label)] = step.box[static_cast<std::size_t>(label)];
    }
    return out;
  }

  [[nodiscard]] std::vector<std::int64_t> extents_of(const Ranges& box) const {
    std::vector<std::int64_t> extents;
    for (const int label : space_.n) {
      extents.push_back(box[static_cast<std::size_t>(label)].extent);
    }
    return extents;
  }

  // A tile that one operand can address: itself, or a copy of it if its pattern is too wild.
  [[nodiscard]] Tile addressable(const Tile& tile) {
    if (fits_access(machine_, tile)) {
      return tile;
    }
    std::vector<std::int64_t> extents;
    for (const isa::Dim& dim : tile.dims) {
      extents.push_back(dim.extent);
    }
    const Tile dense =
        builder_.scratch(tile.partitions, extents, tile.dtype, "operand", tile.partition);
    builder_.copy(dense, tile);
    return dense;
  }

  [[nodiscard]] Tile room_for_sums(const RowTile& tile, const Ranges& span) {
    return builder_.scratch(static_cast<int>(tile.partitions.extent), extents_of(span),
                            arithmetic_.whole_numbers ? isa::DType::i32 : isa::DType::f32,
                            "partial sums");
  }

  // ---- results

  void evict(const RowTile& tile, const Ranges& span, const std::vector<Tile>& sums,
             const Tile& partial, const Turn& turn) {
    Ranges held = tile.box;
    for (const int label : space_.n) {
      held[static_cast<std::size_t>(label)] = span[static_cast<std::size_t>(label)];
    }
    const Region region = region_of(space_.out, held, tile.partitions);
    Tile out;
    if (turn.last && gathers_) {
      out = slice_partitions(*gathered_,
                             static_cast<int>(tile.partitions.begin - gathered_partitions_.begin),
                             static_cast<int>(tile.partitions.extent));
    } else if (turn.last) {
      out = builder_.write(space_.out.tensor, region);
    }
    const std::vector<Ranges> columns = cut(held, space_.n, machine_.moving_max);
    for (std::size_t c = 0; c < columns.size(); ++c) {
      const bool alone = turn.first && turn.last;
      const Tile waiting = alone ? Tile{} : part_of_sums(partial, held, columns[c]);
      const Tile to =
          turn.last ? piece(out, space_.out, gathers_ ? gathered_box_ : held, columns[c], space_.n)
                    : waiting;
      if (turn.first) {
        builder_.copy(to, sums[c]);
      } else {
        const Tile fresh = arithmetic_.whole_numbers ? as_whole_numbers(sums[c], weight_) : sums[c];
        builder_.tensor_tensor(isa::AluOp::add, to, waiting, fresh);
      }
    }
    if (turn.last && !gathers_) {
      builder_.finish(space_.out.tensor, region, out);
    }
  }

  // Out of PSUM into i32, where they are added exactly.
  [[nodiscard]] Tile as_whole_numbers(const Tile& sums, std::int64_t weight) {
    std::vector<std::int64_t> extents;
    for (const isa::Dim& dim : sums.dims) {
      extents.push_back(dim.extent);
    }
    const Tile out = builder_.scratch(sums.partitions, extents, isa::DType::i32, "whole sums");
    builder_.copy(out, sums);
    if (weight > 1) {
      builder_.tensor_scalar(out, out, isa::AluOp::multiply, static_cast<float>(weight));
    }
    return out;
  }

  [[nodiscard]] Tile part_of_sums(const Tile& partial, const Ranges& held,
                                  const Ranges& columns) const {
    Tile out = partial;
    for (std::size_t d = 0; d < space_.n.size(); ++d) {
      const auto label = static_cast<std::size_t>(space_.n[d]);
      out = slice(out, static_cast<int>(d), columns[label].begin - held[label].begin,
                  columns[label].extent);
    }
    return out;
  }

  Builder& builder_;
  const isa::Machine& machine_;
  const Space& space_;
  Arithmetic arithmetic_;
  std::vector<Span> strips_;
  std::size_t strip_blocks_ = 0;  // the first blocks, one for each strip
  bool out_resident_;
  bool gathers_;  // several batches into one tile of the result
  Ranges gathered_box_;
  Span gathered_partitions_;
  std::optional<Tile> gathered_;
  bool prefetched_;  // the operands can have been loaded before the product begins
  Blocking blocking_;
  Grouping grouping_;
  Loader stationary_, moving_;
  std::int64_t weight_ = 1;    // of the products of this round
  std::vector<Tile> partial_;  // of the block, by tile and span
};

void write_zeros(Builder& builder, const Space& space) {
  const std::int64_t most = std::max<std::int64_t>(1, builder.staging_bytes() / 16);
  for (std::int64_t first = 0; first < space.out.partitions;
       first += builder.machine().partitions) {
    const Span partitions{
        first, std::min<std::int64_t>(builder.machine().partitions, space.out.partitions - first)};
    for (const Ranges& box : cut(space.all(), space.out.free_labels, most)) {
      const Region region = region_of(space.out, box, partitions);
      const Tile out = builder.write(space.out.tensor, region);
      builder.memset(out, 0.0F);
      builder.finish(space.out.tensor, region, out);
    }
  }
}

Arithmetic arithmetic_of(const Builder& builder, const Space& space) {
  const layout::LaidGraph& laid = builder.laid();
  const isa::DType stationary = laid.storage[space.stationary.tensor];
  const isa::DType moving = laid.storage[space.moving.tensor];
  if (!isa::is_float(stationary) && !isa::is_float(moving)) {
    return whole_number_arithmetic(magnitude_bound(laid.graph, space.stationary.tensor),
                                   magnitude_bound(laid.graph, space.moving.tensor),
                                   space.extent(space.k_rows) * space.extent(space.k_free),
                                   builder.machine().array_rows);
  }
  Arithmetic arithmetic;
  arithmetic.dtype = product_type(laid, space.stationary.tensor, space.moving.tensor);
  return arithmetic;
}

// The parts of the operand's only label of its own, if it is put together from parts along it.
std::vector<Span> strips_of(const layout::LaidGraph& laid, const Space& space,
                            const std::vector<int>& labels) {
  const graph::Tensor& moving = laid.graph.tensors[space.moving.tensor];
  std::vector<Span> out;
  if (moving.kind != graph::TensorKind::intermediate || space.n.size() != 1 ||
      space.extent(space.batch) > 1 ||
      laid.mechanisms[moving.producer] != layout::Mechanism::alias) {
    return out;
  }
  const graph::Node& maker = laid.graph.nodes[moving.producer];
  const auto* concat = std::get_if<graph::Concat>(&maker.op);
  if (concat == nullptr || labels[static_cast<std::size_t>(concat->axis)] != space.n.front()) {
    return out;
  }
  std::int64_t begin = 0;
  for (const graph::TensorId part : maker.inputs) {
    const std::int64_t extent =
        laid.graph.tensors[part].shape[static_cast<std::size_t>(concat->axis)];
    out.push_back({begin, extent});
    begin += extent;
  }
  return out;
}

}  // namespace

void lower_contraction(Builder& builder, graph::NodeId id) {
  const layout::LaidGraph& laid = builder.laid();
  const graph::Node& node = laid.graph.nodes[id];
  const auto& op = std::get<graph::Contraction>(node.op);
  const bool lhs_stationary = laid.mechanisms[id] == layout::Mechanism::lhs_stationary;
  const Space space = space_of(laid, node, op, lhs_stationary);
  if (graph::elements(laid.graph.tensors[node.output].shape) == 0) {
    return;
  }
  if (graph::elements(laid.graph.tensors[node.inputs[0]].shape) == 0) {
    write_zeros(builder, space);  // a sum over nothing
    return;
  }
  Kernel(builder, space, arithmetic_of(builder, space),
         is_later_strip(node) ? std::vector<Span>()
                              : strips_of(laid, space, lhs_stationary ? op.rhs : op.lhs))
      .run();
}

}  // namespace systole::lower
