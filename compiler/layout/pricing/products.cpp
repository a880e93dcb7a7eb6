// Tensor engine: passes of at most array_rows contracted indices, tiles of at most array_columns
// results, instructions of at most moving_max columns; every finished tile is evicted from PSUM
// once.
#include "compiler/layout/pricing/work.hpp"

namespace systole::layout {

namespace {

std::size_t at(int i) {
  return static_cast<std::size_t>(i);
}

// Banks that accumulate side by side with one loaded stationary tile.
constexpr std::int64_t columns_groups = 4;

// Products of extents by class of label and by what lies on the partitions.
struct Sizes {
  std::int64_t batch = 1;
  std::int64_t own_stationary = 1, own_moving = 1;
  std::int64_t k = 1;
  std::int64_t k_rows = 1;    // on the operands' partitions
  std::int64_t own_rows = 1;  // stationary's own labels on the result's partitions
};

std::int64_t product_of(const graph::Shape& shape, const Iterators& labels, std::uint64_t mask) {
  std::int64_t product = 1;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    product *= (mask & bit(labels[axis])) != 0 ? shape[axis] : 1;
  }
  return product;
}

std::int64_t partition_product(const Layout& layout, const graph::Shape& shape,
                               const Iterators& labels, std::uint64_t mask) {
  std::int64_t product = 1;
  for (int i = 0; i < layout.split; ++i) {
    const int axis = layout.order[at(i)];
    product *= (mask & bit(labels[at(axis)])) != 0 ? shape[at(axis)] : 1;
  }
  return product;
}

Sizes sizes_of(const graph::Contraction& op, const NodeViews& node, std::size_t stationary) {
  const std::uint64_t lhs = mask_of(op.lhs);
  const std::uint64_t rhs = mask_of(op.rhs);
  const std::uint64_t out = mask_of(op.out);
  const std::uint64_t own = stationary == 0 ? lhs & ~rhs : rhs & ~lhs;
  const std::uint64_t other = stationary == 0 ? rhs & ~lhs : lhs & ~rhs;
  const graph::Shape& lhs_shape = *node.site.shapes[0];
  const graph::Shape& out_shape = *node.site.shapes[2];
  Sizes sizes;
  sizes.batch = product_of(out_shape, op.out, lhs & rhs);
  sizes.own_stationary = product_of(out_shape, op.out, own);
  sizes.own_moving = product_of(out_shape, op.out, other);
  sizes.k = product_of(lhs_shape, op.lhs, rhs & ~out);
  sizes.k_rows = partition_product(node.configuration.inputs[0], lhs_shape, op.lhs, rhs & ~out);
  sizes.own_rows = partition_product(node.configuration.output, out_shape, op.out, own);
  return sizes;
}

// Elements in the time of one where neighbours of the result, written one label's values after the
// other, lie far apart: what is inside the moving operand's own labels in the result.
constexpr double wide_stride_factor = 2;

double stride_factor(const graph::Contraction& op, const NodeViews& node, std::uint64_t own) {
  const Layout& layout = node.configuration.output;
  const graph::Shape& shape = *node.site.shapes[2];
  std::int64_t stride = node.views[2].bytes;
  for (std::size_t i = layout.order.size(); i-- > static_cast<std::size_t>(layout.split);) {
    const int axis = layout.order[i];
    if (shape[at(axis)] != 1 && (own & bit(op.out[at(axis)])) != 0) {
      return stride >= wide_stride_bytes ? wide_stride_factor : 1;
    }
    stride *= shape[at(axis)];
  }
  return 1;
}

// An operand in another element type than the array multiplies is copied first, unless DMA converts
// it on the way.
void convert(Work& work, const View& view, bool wide_operand, bool fp32) {
  if (wide_operand && !fp32 && !view.hbm) {
    work.elementwise(Feature::vector_element, 1, view.per_partition());
  }
}

// Both operands are loaded once if one of them can stay in SBUF; otherwise blocks of the moving one's columns stay in turn,
// two at a time, and the stationary one comes again for each.
double stationary_loads(const NodeViews& node, std::size_t stationary,
                        const isa::Machine& machine) {
  const auto bytes = [&node](std::size_t i) {
    return node.views[i].per_partition() * node.views[i].bytes;
  };
  const std::int64_t room = machine.sbuf_bytes / 4 * 3;
  const std::int64_t moving = bytes(1 - stationary);
  return std::min(bytes(stationary), moving) <= room ? 1.0
                                                     : static_cast<double>(parts(moving, room / 2));
}

void operands(Work& work, const NodeViews& node, std::size_t stationary, bool fp32,
              double stationary_times) {
  for (std::size_t i = 0; i < 2; ++i) {
    work.operand(node.views[i], i == stationary ? stationary_times : 1.0);
    convert(work, node.views[i], node.dtypes[i] == isa::DType::f32, fp32);
  }
}

bool multiplies_fp32(const NodeViews& node) {
  return node.dtypes[0] == isa::DType::f32 && node.dtypes[1] == isa::DType::f32;
}

}  // namespace

void price_contraction(Work& work, const graph::Contraction& op, const NodeViews& node) {
  const std::size_t stationary = node.configuration.mechanism == Mechanism::lhs_stationary ? 0 : 1;
  const Sizes sizes = sizes_of(op, node, stationary);
  const isa::Machine& machine = work.machine();
  if (sizes.k_rows == 0 || sizes.own_rows == 0 || sizes.batch == 0) {
    return;
  }
  const bool fp32 = multiplies_fp32(node);
  const auto passes =
      static_cast<double>(parts(sizes.k_rows, machine.array_rows) * (sizes.k / sizes.k_rows));
  const std::int64_t tiles_per_batch =
      parts(sizes.own_rows, machine.array_columns) * (sizes.own_stationary / sizes.own_rows);
  const auto tiles = static_cast<double>(sizes.batch * tiles_per_batch);
  const std::int64_t chunks = parts(sizes.own_moving, machine.moving_max);
  work.multiply(fp32, tiles * passes, sizes.own_moving);
  work.stationary(tiles * passes * static_cast<double>(parts(chunks, columns_groups)),
                  std::min<std::int64_t>(sizes.own_rows, machine.array_columns), sizes.own_moving);
  const std::uint64_t own_moving =
      stationary == 0 ? mask_of(op.rhs) & ~mask_of(op.lhs) : mask_of(op.lhs) & ~mask_of(op.rhs);
  work.add(Feature::vector_element,
           tiles * static_cast<double>(sizes.own_moving) * stride_factor(op, node, own_moving));
  work.add(Feature::instruction, tiles * static_cast<double>(chunks));
  work.add(Feature::handover, 3);  // array, eviction, consumer
  operands(work, node, stationary, fp32, stationary_loads(node, stationary, machine));
  work.result(node.views[2]);
}

void price_convolution(Work& work, const graph::Convolution& op, const NodeViews& node) {
  const isa::Machine& machine = work.machine();
  const graph::Shape& x = *node.site.shapes[0];
  const graph::Shape& w = *node.site.shapes[1];
  const graph::Shape& out = *node.site.shapes[2];
  std::int64_t kernel = 1;
  std::int64_t pixels = out[0];
  for (std::size_t i = 2; i < out.size(); ++i) {
    kernel *= w[i];
    pixels *= out[i];
  }
  const bool fp32 = multiplies_fp32(node);
  const std::int64_t per_group = out[1] / std::max<std::int64_t>(1, op.groups);
  // Thin images: one kernel axis lies on the array's rows beside the channels.
  const bool folds =
      op.groups == 1 && out.size() > 2 && w[2] > 1 && x[1] * w[2] <= machine.array_rows;
  const auto passes =
      static_cast<double>(folds && node.configuration.mechanism == Mechanism::rhs_stationary
                              ? kernel / std::max<std::int64_t>(1, w[2])
                              : kernel * parts(x[1] / op.groups, machine.array_rows));
  if (node.configuration.mechanism ==
      Mechanism::standard) {  // depthwise, multiply and add per kernel position
    const std::int64_t blocks = parts(out[1], machine.partitions);
    work.elementwise(Feature::vector_element, 2.0 * static_cast<double>(kernel), blocks * pixels);
    work.add(Feature::handover, 1);
  } else if (node.configuration.mechanism == Mechanism::rhs_stationary) {
    const auto tiles = static_cast<double>(op.groups * parts(per_group, machine.array_columns));
    const std::int64_t chunks = parts(pixels, machine.moving_max);
    // Few filters: tiles of pixels side by side in the array's columns.
    const std::int64_t beside = std::max<std::int64_t>(
        1, machine.array_columns / std::max<std::int64_t>(per_group, machine.row_tile_min));
    work.multiply(fp32, tiles * passes, parts(pixels, beside));
    work.stationary(tiles * passes * static_cast<double>(parts(chunks, columns_groups)),
                    std::min<std::int64_t>(per_group, machine.array_columns),
                    parts(pixels, beside));
    if (folds) {  // the image once per folded position
      const View& image = node.views[0];
      work.rows(static_cast<double>(w[2] * image.elements() * image.bytes),
                static_cast<double>(image.free * image.bytes), image.partitions * w[2]);
    }
    work.add(Feature::vector_element, tiles * static_cast<double>(pixels));
    work.add(Feature::instruction, tiles * static_cast<double>(chunks));
    work.add(Feature::handover, 3);  // array, eviction, consumer
  } else {
    const std::int64_t across = partition_extent(node.configuration.output, out);
    if (across == 0) {
      return;
    }
    const auto tiles =
        static_cast<double>(parts(across, machine.array_columns) * (pixels / across));
    work.multiply(fp32, tiles * passes, out[1]);
    work.stationary(tiles * passes, std::min<std::int64_t>(across, machine.array_columns), out[1]);
    work.add(Feature::vector_element, tiles * static_cast<double>(out[1]));
    work.add(Feature::instruction, tiles * static_cast<double>(parts(out[1], machine.moving_max)));
    work.add(Feature::handover, 3);  // array, eviction, consumer
  }
  operands(work, node, 1, fp32, 1.0);
  work.result(node.views[2]);
}

}  // namespace systole::layout
