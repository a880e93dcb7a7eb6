// Movement: by DMA in rows as long as both sides allow, or by copies inside the partitions.
#include <algorithm>

#include "compiler/layout/block_turn.hpp"
#include "compiler/layout/pricing/work.hpp"

namespace systole::layout {

namespace {

std::size_t at(int i) {
  return static_cast<std::size_t>(i);
}

double bytes_of(const View& view) {
  return static_cast<double>(view.elements() * view.bytes);
}

// One side of a move. In HBM one partition's elements follow the other's, so that all axes may go on.
struct Side {
  const Layout& layout;
  const graph::Shape& shape;
  bool hbm = false;
};

// Axes that move bytes, by their place from the last axis (operands of a lower rank are aligned there).
std::vector<int> moving_axes(const Side& side) {
  std::vector<int> axes;
  for (std::size_t i = side.hbm ? 0 : at(side.layout.split); i < side.layout.order.size(); ++i) {
    const int axis = side.layout.order[i];
    if (side.shape[at(axis)] != 1) {
      axes.push_back(static_cast<int>(side.shape.size()) - axis);
    }
  }
  return axes;
}

// Elements that stay neighbours: along the innermost axes that both sides have in the same order, up to and including the
// first along which one of them is longer.
std::int64_t common_run(const Side& from, const Side& to) {
  const std::vector<int> a = moving_axes(from);
  const std::vector<int> b = moving_axes(to);
  std::int64_t run = 1;
  for (std::size_t i = 1; i <= std::min(a.size(), b.size()) && a[a.size() - i] == b[b.size() - i];
       ++i) {
    const auto back = at(a[a.size() - i]);
    const std::int64_t before = from.shape[from.shape.size() - back];
    const std::int64_t after = to.shape[to.shape.size() - back];
    run *= std::min(before, after);
    if (before != after) {
      break;
    }
  }
  return run;
}

}  // namespace

// Both sides row-major: out to HBM and back, in rows that neither side breaks.
void price_reshape(Work& work, const NodeViews& node) {
  if (node.configuration.mechanism == Mechanism::alias) {
    return;
  }
  const View& in = node.views[0];
  const View& out = node.views[1];
  const double row = static_cast<double>(std::min(in.free, out.free) * in.bytes);
  work.rows(bytes_of(in), row, out.partitions);
  work.add(Feature::transfer, 1);
  if (!in.hbm && !out.hbm) {
    work.rows(bytes_of(out), row, out.partitions);
    work.add(Feature::transfer, 1);
  }
}

// Slice, Concat, Pad, Expand: copies inside the partitions if only free axes change extent and both
// sides are on chip.
void price_resize(Work& work, const NodeViews& node) {
  const std::size_t last = node.views.size() - 1;
  const View& out = node.views[last];
  const Layout& layout = node.configuration.output;
  bool by_dma = false;
  for (std::size_t i = 0; i < last; ++i) {
    const View& in = node.views[i];
    const View& moved = in.elements() < out.elements() ? in : out;
    const bool across = in.partitions != out.partitions;
    if (!across && !in.hbm && !out.hbm) {
      work.elementwise(Feature::vector_element, 1, moved.per_partition());
      continue;
    }
    const std::int64_t run =
        common_run({node.configuration.inputs[i], *node.site.shapes[i], in.hbm},
                   {layout, *node.site.shapes[last], out.hbm});
    work.rows(bytes_of(moved), static_cast<double>(run * moved.bytes), moved.partitions);
    by_dma = true;
  }
  if (std::holds_alternative<graph::Pad>(node.site.node->op)) {
    work.elementwise(Feature::vector_element, 1, out.per_partition());  // filled first
  }
  work.add(by_dma ? Feature::transfer : Feature::handover, 1);  // operands move side by side
}

void price_gather(Work& work, const NodeViews& node) {
  const View& out = node.views[2];
  const View& indices = node.views[1];
  work.operand(indices);
  work.rows(bytes_of(out), static_cast<double>(out.free * out.bytes), out.partitions);
  work.elementwise(Feature::gpsimd_element, 1,
                   indices.elements());  // descriptors are built by software
  work.add(Feature::transfer, 2);
}

void price_gather_elements(Work& work, const NodeViews& node) {
  work.operand(node.views[0]);
  work.operand(node.views[1]);
  work.elementwise(Feature::gpsimd_element, 4, node.views[2].per_partition());
  work.add(Feature::handover, 2);
  work.result(node.views[2]);
}

void price_scatter(Work& work, const NodeViews& node) {
  const View& data = node.views[0];
  const View& updates = node.views[2];
  work.rows(bytes_of(data), static_cast<double>(data.free * data.bytes), data.partitions);
  work.rows(bytes_of(updates), static_cast<double>(updates.free * updates.bytes),
            updates.partitions);
  work.elementwise(Feature::gpsimd_element, 1, node.views[1].elements());
  work.add(Feature::transfer, 3);
}

namespace {

// Spread over the DMA engines by the partitions of the side written, or read if that is HBM. Many
// short rows into few partitions would queue at one engine: lowering puts them in order in HBM
// first and then reads long ones.
void convert_by_dma(Work& work, const View& from, const View& to, std::int64_t run) {
  constexpr std::int64_t short_row_bytes = 512;
  constexpr std::int64_t few_rows = 64;
  const std::int64_t all = work.machine().partitions;
  const std::int64_t source = from.hbm ? all : std::min(from.partitions, all);
  const bool through_hbm = !to.hbm && 4 * std::min(to.partitions, all) <= source &&
                           run * to.bytes < short_row_bytes && from.elements() / run > few_rows;
  const auto row = static_cast<double>(run * from.bytes);
  if (through_hbm) {
    work.rows(bytes_of(from), row, source);
    work.add(Feature::transfer, 1);
    View ordered = to;
    ordered.hbm = true;
    work.stream(ordered);
  } else {
    work.rows(bytes_of(from), row, to.hbm ? source : to.partitions);
  }
  work.add(Feature::transfer, 1);
}

// Copies inside the partitions, one per index of the partition axes that only one side has. Where
// the innermost axis changes, the stride is long on one side.
void convert_inside(Work& work, const View& from, const View& to, std::int64_t run,
                    std::int64_t copies) {
  work.operand(from);
  work.elementwise(Feature::vector_element, run > 1 ? 1 : 2, from.per_partition());
  work.add(Feature::instruction, static_cast<double>(copies - 1));
  work.add(Feature::handover, 1);
  work.result(to);
}

// [rows, columns] tiles through the array as the stationary operand, an identity moving; what
// arrives in PSUM is evicted.
void convert_by_array(Work& work, const View& from, const View& to, bool fp32) {
  const isa::Machine& machine = work.machine();
  if (from.elements() == 0) {
    return;
  }
  const std::int64_t rest = std::max<std::int64_t>(1, from.free / to.partitions);
  const auto tiles = static_cast<double>(from.blocks * to.blocks * rest);
  work.operand(from);
  const std::int64_t rows = std::min<std::int64_t>(from.partitions, machine.array_rows);
  work.multiply(fp32, fp32 ? tiles / 2 : tiles,
                rows);  // the identity holds only 0 and 1: half the passes
  work.stationary(tiles, std::min<std::int64_t>(to.partitions, machine.array_columns), rows);
  const double evicted = static_cast<double>(to.blocks * rest * from.partitions);
  work.add(Feature::vector_element, evicted);
  work.add(Feature::instruction, std::max(1.0, evicted / static_cast<double>(std::min<std::int64_t>(
                                                             machine.moving_max, 4 * rows))));
  work.add(Feature::handover, 3);
  work.result(to);
}

// Blocks that all DMA engines write together, straight from where the tensor lies. In SBUF, the maker is waited for before
// and the transfer after.
void convert_by_turning_dma(Work& work, const View& from, const View& to,
                            const isa::Transposition& turned) {
  const isa::Machine& machine = work.machine();
  const std::int64_t bytes = isa::blocks_of(turned, machine) * machine.partitions * from.bytes;
  work.add(from.hbm ? Feature::transpose_hbm_byte : Feature::transpose_sbuf_byte,
           static_cast<double>(bytes));
  work.add(Feature::transfer, 1);
  if (!from.hbm) {
    work.add(Feature::handover, 2);
  }
  work.result(to);
}

// Bytes between neighbours along the innermost of these axes in a side's free dim.
std::int64_t bytes_between(const std::vector<int>& axes, const View& side, const Layout& layout,
                           const graph::Shape& shape) {
  std::int64_t stride = side.bytes;
  for (std::size_t i = layout.order.size(); !axes.empty() && i-- > at(layout.split);) {
    if (layout.order[i] == axes.back()) {
      return stride;
    }
    stride *= shape[at(layout.order[i])];
  }
  return 0;
}

// One instruction of Vector per block, at half the rate where its elements lie far apart on either side.
void convert_by_blocks(Work& work, const View& from, const View& to, const BlockTurn& turn,
                       bool apart) {
  const auto blocks = static_cast<double>(turn.blocks());
  work.operand(from);
  work.add(Feature::turned_block, blocks);
  if (apart) {
    work.add(Feature::vector_element, blocks * static_cast<double>(block_lanes(work.machine())));
  }
  work.add(Feature::handover, 1);
  work.result(to);
}

// Extent of the long partition axes before the last `kept`.
std::int64_t leading(const Layout& layout, const graph::Shape& shape, std::size_t kept) {
  const std::vector<int> axes = partition_axes(layout, shape);
  std::int64_t extent = 1;
  for (std::size_t i = 0; i + kept < axes.size(); ++i) {
    extent *= shape[at(axes[i])];
  }
  return extent;
}

}  // namespace

Features conversion_features(Mechanism mechanism, const graph::Shape& shape, isa::DType dtype,
                             const Layout& from, const Layout& to, Boundary boundary,
                             const CostModel& model, const isa::Machine& machine) {
  const PricingContext context{model, machine};
  Work work(context);
  const bool output = boundary == Boundary::output;
  const View source = view_of(from, shape, dtype, output ? Boundary::inside : boundary, context);
  const View result =
      view_of(to, shape, dtype,
              output && identity_order(to, shape) ? Boundary::output : Boundary::inside, context);
  if (boundary == Boundary::passing) {
    work.elementwise(Feature::vector_element, 1,
                     source.per_partition());  // no map follows in the producer's kernel
  }
  if (mechanism == Mechanism::reorder) {
    const std::size_t kept = *kept_partition_axes(from, to, shape, machine.partitions);
    convert_inside(work, source, result, common_run({from, shape}, {to, shape}),
                   leading(from, shape, kept) * leading(to, shape, kept));
  } else if (mechanism == Mechanism::array_transpose) {
    convert_by_array(work, source, result, dtype == isa::DType::f32);
  } else if (mechanism == Mechanism::dma) {
    convert_by_dma(work, source, result, common_run({from, shape}, {to, shape}));
  } else if (mechanism == Mechanism::dma_transpose) {
    convert_by_turning_dma(work, source, result, *transposition_of(from, to, shape));
  } else if (mechanism == Mechanism::vector_transpose) {
    const BlockTurn turn = *block_turn_of(from, to, shape, machine);
    const std::int64_t widest = std::max(bytes_between(turn.to.cut, source, from, shape),
                                         bytes_between(turn.from.cut, result, to, shape));
    convert_by_blocks(work, source, result, turn, widest >= wide_stride_bytes);
  }
  return work.features();
}

namespace {

// The product with an identity would turn integers into rounded floats.
bool array_takes(isa::DType dtype) {
  return isa::is_float(dtype);
}

bool dma_turns(isa::DType dtype, const CostModel& model, const isa::Machine& machine) {
  return machine.dma_transpose && isa::size_of(dtype) == 2 && model.transpose_hbm_byte > 0 &&
         model.transpose_sbuf_byte > 0;
}

bool disjoint_partition(const Layout& a, const Layout& b) {
  return std::none_of(a.order.begin(), a.order.begin() + a.split, [&b](int axis) {
    return std::find(b.order.begin(), b.order.begin() + b.split, axis) != b.order.begin() + b.split;
  });
}

}  // namespace

Conversion price_conversion(const graph::Shape& shape, isa::DType dtype, const Layout& from,
                            const Layout& to, Boundary boundary, const CostModel& model,
                            const isa::Machine& machine) {
  Conversion best;
  if (from == to) {
    return best;
  }
  if (std::ranges::find(shape, 0) != shape.end()) {
    best.mechanism = Mechanism::dma;  // nothing moves
    return best;
  }
  bool first = true;
  const auto consider = [&](Mechanism mechanism) {
    const Price price = price_of(
        conversion_features(mechanism, shape, dtype, from, to, boundary, model, machine), model);
    if (first || price.total < best.price.total) {
      best = {mechanism, price};
      first = false;
    }
  };
  if (kept_partition_axes(from, to, shape, machine.partitions)) {
    consider(Mechanism::reorder);
  }
  if (array_takes(dtype) && disjoint_partition(from, to)) {
    consider(Mechanism::array_transpose);
  }
  consider(Mechanism::dma);
  if (dma_turns(dtype, model, machine) && transposition_of(from, to, shape).has_value()) {
    consider(Mechanism::dma_transpose);
  }
  if (model.turned_block > 0 && block_turn_of(from, to, shape, machine).has_value()) {
    consider(Mechanism::vector_transpose);
  }
  return best;
}

}  // namespace systole::layout
