// Reshape, Slice, Concat, Pad and Expand that move bytes: axis arithmetic turned into boxes. Layouts of operands and
// result agree, so that a box is one or a few transfers, or copies inside the partitions.
#include "compiler/lower/kernels/movement.hpp"

#include <algorithm>
#include <numeric>

#include "compiler/lower/pieces.hpp"
#include "isa/base/error.hpp"

namespace systole::lower {
namespace {

std::size_t at(int axis) {
  return static_cast<std::size_t>(axis);
}

// Whether every partition keeps its elements: both residents, the same long partition axes, each walked once, whole, in
// step.
bool inside_partitions(const Operand& from, const Operand& to, const MoveBox& box) {
  if (!from.resident || !to.resident || from.partitions != to.partitions) {
    return false;
  }
  const auto long_axes = [](const Operand& o) {
    std::vector<int> out;
    for (const int axis : o.partition_axes) {
      if (o.shape[at(axis)] > 1) {
        out.push_back(axis);
      }
    }
    return out;
  };
  const std::vector<int> a = long_axes(from);
  const std::vector<int> b = long_axes(to);
  if (a.size() != b.size()) {
    return false;
  }
  for (std::size_t i = 0; i < a.size(); ++i) {
    const bool kept = std::ranges::any_of(box.steps, [&](const BoxStep& s) {
      return s.source_axis == a[i] && s.destination_axis == b[i] && s.source_step == 1 &&
             s.destination_step == 1 && s.extent == from.shape[at(a[i])] &&
             s.extent == to.shape[at(b[i])];
    });
    if (!kept || box.source_begin[at(a[i])] != 0 || box.destination_begin[at(b[i])] != 0) {
      return false;
    }
  }
  return true;
}

// The resident tensor's elements of the box in one range of partitions, with one dim per step.
Tile box_tile(Builder& builder, const Operand& operand, const std::vector<std::int64_t>& begin,
              const std::vector<int>& axes, const std::vector<std::int64_t>& steps,
              const std::vector<std::int64_t>& extents, Span partitions, bool by_blocks) {
  Region region{partitions, {}, by_blocks};
  for (const int axis : operand.free_axes) {
    region.free.push_back({0, operand.shape[at(axis)]});
  }
  const Tile all = builder.read(operand.tensor, region);
  const std::size_t shift = by_blocks ? 1 : 0;
  Tile out = all;
  out.dims.resize(shift);
  for (std::size_t i = 0; i < operand.free_axes.size(); ++i) {
    out.offset +=
        begin[at(operand.free_axes[i])] * all.dims[i + shift].stride * isa::size_of(all.dtype);
  }
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const int place = axes[i] < 0 ? -1 : position_of(operand.free_axes, axes[i]);
    const std::int64_t stride = place < 0 ? 0 : all.dims[at(place) + shift].stride;
    out.dims.push_back(make_dim(stride * steps[i], extents[i]));
  }
  return out;
}

void copy_inside(Builder& builder, const Operand& from, const Operand& to, const MoveBox& box) {
  std::vector<int> source_axes;
  std::vector<int> destination_axes;
  std::vector<std::int64_t> source_steps;
  std::vector<std::int64_t> destination_steps;
  std::vector<std::int64_t> extents;
  for (const BoxStep& step : box.steps) {
    if (position_of(to.free_axes, step.destination_axis) >= 0 && step.extent > 1) {
      source_axes.push_back(step.source_axis);
      source_steps.push_back(step.source_step);
      destination_axes.push_back(step.destination_axis);
      destination_steps.push_back(step.destination_step);
      extents.push_back(step.extent);
    }
  }
  const std::int64_t partitions = builder.machine().partitions;
  for_each_partition_range(
      to.partitions, partitions, to.partitions, [&](Span range, bool by_blocks) {
        const Tile in = box_tile(builder, from, box.source_begin, source_axes, source_steps,
                                 extents, range, by_blocks);
        const Tile out = box_tile(builder, to, box.destination_begin, destination_axes,
                                  destination_steps, extents, range, by_blocks);
        builder.copy(out, in);
      });
}

// A box whose steps walk the axes of both sides in parallel.
MoveBox parallel(const graph::Shape& shape, std::size_t source_rank) {
  MoveBox out;
  out.source_begin.assign(source_rank, 0);
  out.destination_begin.assign(shape.size(), 0);
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    out.steps.push_back({static_cast<int>(axis), 1, static_cast<int>(axis), 1, shape[axis]});
  }
  return out;
}

class Movement {
 public:
  Movement(Builder& builder, graph::NodeId node)
      : b_(builder), node_(builder.laid().graph.nodes[node]), shape_(shape_of(node_.output)) {}

  void operator()(const graph::Transpose& op) const {
    MoveBox box = parallel(shape_, shape_.size());
    for (std::size_t axis = 0; axis < shape_.size(); ++axis) {
      box.steps[axis].source_axis = op.perm[axis];
    }
    move_box(b_, node_.inputs[0], node_.output, box);
  }

  void operator()(const graph::Reshape&) const { b_.relabel(node_.inputs[0], node_.output); }

  void operator()(const graph::Slice& op) const {
    MoveBox box = parallel(shape_, shape_.size());
    box.source_begin = op.starts;
    for (std::size_t axis = 0; axis < shape_.size(); ++axis) {
      box.steps[axis].source_step = op.steps[axis];
    }
    move_box(b_, node_.inputs[0], node_.output, box);
  }

  void operator()(const graph::Concat& op) const {
    std::int64_t begin = 0;
    for (const graph::TensorId input : node_.inputs) {
      const graph::Shape& shape = shape_of(input);
      MoveBox box = parallel(shape, shape.size());
      box.destination_begin[at(op.axis)] = begin;
      begin += shape[at(op.axis)];
      if (graph::elements(shape) > 0) {
        move_box(b_, input, node_.output, box);
      }
    }
  }

  void operator()(const graph::Pad& op) const {
    const graph::Shape& in = shape_of(node_.inputs[0]);
    MoveBox box = parallel(shape_, shape_.size());
    bool nothing_kept = false;
    bool interior = false;
    std::vector<Span> filled;  // the part of the output between the first and the last kept element
    for (std::size_t axis = 0; axis < shape_.size(); ++axis) {
      // Input element i stands at low + i * step of the output, if that is inside.
      const std::int64_t step = op.interior[axis] + 1;
      const std::int64_t low = op.low[axis];
      const std::int64_t first = low >= 0 ? 0 : (-low + step - 1) / step;
      const std::int64_t room = shape_[axis] - 1 - low;
      const std::int64_t last = std::min(in[axis] - 1, room < 0 ? -1 : room / step);
      const std::int64_t count = std::max<std::int64_t>(0, last - first + 1);
      nothing_kept = nothing_kept || count == 0;
      interior = interior || (step > 1 && count > 1);
      box.source_begin[axis] = first;
      box.destination_begin[axis] = low + first * step;
      box.steps[axis].destination_step = step;
      box.steps[axis].extent = count;
      filled.push_back({low + first * step, count == 0 ? 0 : (count - 1) * step + 1});
    }
    const auto value = static_cast<float>(op.value);
    std::vector<Span> whole;
    for (const std::int64_t extent : shape_) {
      whole.push_back({0, extent});
    }
    if (nothing_kept || interior) {
      fill_box(b_, node_.output, whole, value);
    } else {
      fill_around(whole, filled, value);
    }
    if (!nothing_kept) {
      move_box(b_, node_.inputs[0], node_.output, box);
    }
  }

  void operator()(const graph::Expand&) const {
    const graph::Shape& in = shape_of(node_.inputs[0]);
    MoveBox box = parallel(shape_, in.size());
    const std::size_t shift = shape_.size() - in.size();
    for (std::size_t axis = 0; axis < shape_.size(); ++axis) {
      const bool own = axis >= shift && in[axis - shift] == shape_[axis];
      box.steps[axis].source_axis = own ? static_cast<int>(axis - shift) : -1;
    }
    move_box(b_, node_.inputs[0], node_.output, box);
  }

  template <class Other>
  void operator()(const Other&) const {
    check(false, "not a data movement");
  }

 private:
  [[nodiscard]] const graph::Shape& shape_of(graph::TensorId tensor) const {
    return b_.laid().graph.tensors[tensor].shape;
  }

  // Fills `whole` without `inside`, axis by axis: below, above, then between them the same on the next axes.
  void fill_around(std::vector<Span> whole, const std::vector<Span>& inside, float value) const {
    for (std::size_t axis = 0; axis < whole.size(); ++axis) {
      const Span outer = whole[axis];
      const Span inner = inside[axis];
      whole[axis] = {outer.begin, inner.begin - outer.begin};
      fill_box(b_, node_.output, whole, value);
      whole[axis] = {inner.begin + inner.extent,
                     outer.begin + outer.extent - inner.begin - inner.extent};
      fill_box(b_, node_.output, whole, value);
      whole[axis] = inner;
    }
  }

  Builder& b_;
  const graph::Node& node_;
  const graph::Shape& shape_;
};

}  // namespace

void move_box(Builder& builder, graph::TensorId from, graph::TensorId to, const MoveBox& box) {
  if (std::ranges::any_of(box.steps, [](const BoxStep& step) { return step.extent == 0; })) {
    return;
  }
  const Operand source = operand_of(builder, from);
  const Operand destination = operand_of(builder, to);
  if (inside_partitions(source, destination, box)) {
    copy_inside(builder, source, destination, box);
    return;
  }
  Builder::Walk a{box.source_begin, {}, {}};
  Builder::Walk b{box.destination_begin, {}, {}};
  for (const BoxStep& step : box.steps) {
    a.free.push_back({step.source_axis, step.source_step, step.extent});
    b.free.push_back({step.destination_axis, step.destination_step, step.extent});
  }
  builder.move(from, a, to, b);
}

void fill_box(Builder& builder, graph::TensorId tensor, const std::vector<Span>& box, float value) {
  if (elements_of(box) == 0) {
    return;
  }
  const Operand operand = operand_of(builder, tensor);
  std::vector<Span> spread;
  for (const int axis : operand.partition_axes) {
    spread.push_back(box[at(axis)]);
  }
  std::vector<std::int64_t> extents;
  for (const int axis : operand.free_axes) {
    extents.push_back(box[at(axis)].extent);
  }
  if (operand.resident && elements_of(spread) == operand.partitions) {
    // Every partition: in place.
    for_each_partition_range(operand.partitions, builder.machine().partitions, operand.partitions,
                             [&](Span range, bool by_blocks) {
                               Region region{range, {}, by_blocks};
                               for (const int axis : operand.free_axes) {
                                 region.free.push_back(box[at(axis)]);
                               }
                               builder.memset(builder.write(tensor, region), value);
                             });
    return;
  }
  // A row of the value in one partition, written again and again.
  const std::int64_t longest =
      std::min(product(extents), chunk_elements(builder, isa::size_of(operand.dtype)));
  std::int64_t length = 0;
  Tile row;
  for_each_chunk(extents, longest, [&](const std::vector<Span>& chunk) {
    if (elements_of(chunk) > length) {
      length = elements_of(chunk);
      row = builder.scratch(1, {length}, operand.dtype, "fill");
      builder.memset(row, value);
    }
    Builder::Walk walk;
    for (const Span& span : box) {
      walk.begin.push_back(span.begin);
    }
    Tile repeated = row;
    repeated.dims.clear();
    for (std::size_t i = 0; i < spread.size(); ++i) {
      walk.free.push_back({operand.partition_axes[i], 1, spread[i].extent});
      repeated.dims.push_back(make_dim(0, spread[i].extent));
    }
    std::int64_t stride = elements_of(chunk);
    for (std::size_t i = 0; i < chunk.size(); ++i) {
      walk.begin[at(operand.free_axes[i])] += chunk[i].begin;
      walk.free.push_back({operand.free_axes[i], 1, chunk[i].extent});
      stride /= chunk[i].extent;
      repeated.dims.push_back(make_dim(stride, chunk[i].extent));
    }
    builder.scatter(repeated, tensor, walk);
  });
}

void lower_movement(Builder& builder, graph::NodeId node) {
  std::visit(Movement(builder, node), builder.laid().graph.nodes[node].op);
}

}  // namespace systole::lower
