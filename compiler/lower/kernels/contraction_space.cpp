#include "compiler/lower/kernels/contraction_space.hpp"

#include <algorithm>

namespace systole::lower {
namespace {

std::size_t at(int label) {
  return static_cast<std::size_t>(label);
}

bool has(const Labels& labels, int label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

}  // namespace

Placed place_labels(const layout::LaidGraph& laid, graph::TensorId tensor, const Labels& labels,
                    std::size_t count) {
  const layout::Layout& layout = laid.layouts[tensor];
  const graph::Shape& shape = laid.graph.tensors[tensor].shape;
  Placed out;
  out.tensor = tensor;
  out.padding = layout.padding;
  out.partition_strides.assign(count, 0);
  for (std::size_t i = 0; i < layout.order.size(); ++i) {
    const int label = labels[at(layout.order[i])];
    (i < at(layout.split) ? out.partition_labels : out.free_labels).push_back(label);
  }
  for (std::size_t i = at(layout.split); i-- > 0;) {
    const int axis = layout.order[i];
    out.partition_strides[at(labels[at(axis)])] = out.partitions;
    out.partitions *= shape[at(axis)];
  }
  return out;
}

std::int64_t Space::extent(const Labels& labels) const {
  std::int64_t product = 1;
  for (const int label : labels) {
    product *= extents[at(label)];
  }
  return product;
}

Ranges Space::all() const {
  Ranges box;
  for (const std::int64_t extent : extents) {
    box.push_back({0, extent});
  }
  return box;
}

Space space_of(const layout::LaidGraph& laid, const graph::Node& node, const graph::Contraction& op,
               bool lhs_stationary) {
  int count = 0;
  for (const Labels* labels : {&op.lhs, &op.rhs, &op.out}) {
    for (const int label : *labels) {
      count = std::max(count, label + 1);
    }
  }
  Space space;
  space.extents.assign(at(count), 1);
  for (std::size_t argument = 0; argument < 2; ++argument) {
    const Labels& labels = argument == 0 ? op.lhs : op.rhs;
    for (std::size_t axis = 0; axis < labels.size(); ++axis) {
      space.extents[at(labels[axis])] = laid.graph.tensors[node.inputs[argument]].shape[axis];
    }
  }
  const Labels& own = lhs_stationary ? op.lhs : op.rhs;
  const Labels& other = lhs_stationary ? op.rhs : op.lhs;
  space.stationary = place_labels(laid, node.inputs[lhs_stationary ? 0 : 1], own, at(count));
  space.moving = place_labels(laid, node.inputs[lhs_stationary ? 1 : 0], other, at(count));
  space.out = place_labels(laid, node.output, op.out, at(count));
  const auto wide = [&space](int label) { return space.extents[at(label)] != 1; };
  for (const int label : space.stationary.free_labels) {
    if (wide(label)) {
      (has(other, label) ? (has(op.out, label) ? space.batch : space.k_free) : space.m)
          .push_back(label);
    }
  }
  for (const int label : space.stationary.partition_labels) {
    if (wide(label)) {
      check(has(other, label), "the stationary operand's own label on its partitions");
      (has(op.out, label) ? space.batch : space.k_rows).push_back(label);
    }
  }
  for (const int label : space.moving.free_labels) {
    if (wide(label) && !has(own, label)) {
      space.n.push_back(label);
    }
  }
  for (const int label : space.out.partition_labels) {
    if (has(space.m, label)) {
      space.m_rows.push_back(label);
    }
  }
  return space;
}

std::int64_t volume(const Ranges& box, const Labels& labels) {
  std::int64_t product = 1;
  for (const int label : labels) {
    product *= box[at(label)].extent;
  }
  return product;
}

Region region_of(const Placed& placed, const Ranges& box, const Span& partitions) {
  Region region;
  region.partitions = partitions;
  for (const int label : placed.free_labels) {
    region.free.push_back(box[at(label)]);
  }
  return region;
}

std::int64_t first_partition(const Placed& placed, const Ranges& box) {
  std::int64_t index = 0;
  for (const int label : placed.partition_labels) {
    index += box[at(label)].begin * placed.partition_strides[at(label)];
  }
  return index;
}

std::vector<Ranges> cut(const Ranges& box, const Labels& labels, std::int64_t most) {
  std::vector<Ranges> boxes{box};
  std::int64_t rest = volume(box, labels);
  for (const int label : labels) {
    if (rest <= most) {
      break;
    }
    const Span span = box[at(label)];
    const std::int64_t inner = rest / span.extent;
    const std::int64_t step = std::max<std::int64_t>(1, most / std::max<std::int64_t>(inner, 1));
    std::vector<Ranges> next;
    for (const Ranges& outer : boxes) {
      for (std::int64_t begin = 0; begin < span.extent; begin += step) {
        next.push_back(outer);
        next.back()[at(label)] = {span.begin + begin, std::min(step, span.extent - begin)};
      }
    }
    boxes = std::move(next);
    rest = inner * std::min(step, span.extent);
  }
  return boxes;
}

std::vector<Ranges> cut_for_tiles(const Ranges& box, const Labels& labels, std::int64_t most,
                                  std::int64_t tiles) {
  const std::int64_t tile = volume(cut(box, labels, most).front(), labels);
  for (std::int64_t count = tiles; count > 1; --count) {
    std::vector<Ranges> spans = cut(box, labels, count * tile);
    if (static_cast<std::int64_t>(cut(spans.front(), labels, most).size()) <= tiles) {
      return spans;
    }
  }
  return cut(box, labels, most);
}

Tile piece(const Tile& tile, const Placed& placed, const Ranges& held, const Ranges& box,
           const Labels& labels) {
  check(tile.dims.size() == placed.free_labels.size(), "a tile has one dim per free label");
  Tile out = tile;
  out.dims.assign(labels.size(), isa::Dim{0, 1});
  Tile source = tile;
  for (std::size_t d = 0; d < placed.free_labels.size(); ++d) {
    const int label = placed.free_labels[d];
    const Span& want = box[at(label)];
    source = slice(source, static_cast<int>(d), want.begin - held[at(label)].begin, want.extent);
    const auto place = std::find(labels.begin(), labels.end(), label);
    if (place != labels.end()) {
      out.dims[static_cast<std::size_t>(place - labels.begin())] = source.dims[d];
    } else {
      check(want.extent == 1, "a label that the piece leaves out has several values");
    }
  }
  out.offset = source.offset;
  return out;
}

std::vector<Span> legal_parts(const isa::Machine& machine, const Span& range, std::int64_t most) {
  std::vector<Span> parts;
  const std::int64_t end = range.begin + range.extent;
  for (std::int64_t at_index = range.begin; at_index < end;) {
    const std::int64_t start = at_index % machine.partitions;
    std::int64_t count = std::min({end - at_index, machine.partitions - start, most});
    if (start % machine.partition_quantum == 0) {
      while (start % isa::start_step(machine, static_cast<int>(count)) != 0) {
        count = std::min(count - 1,
                         std::int64_t{isa::start_step(machine, static_cast<int>(count))} / 2);
      }
    }
    parts.push_back({at_index, count});
    at_index += count;
  }
  return parts;
}

std::vector<Span> column_parts(const isa::Machine& machine, const Span& range) {
  return legal_parts(machine, range, machine.array_columns);
}

isa::DType product_type(const layout::LaidGraph& laid, graph::TensorId a, graph::TensorId b) {
  const bool wide = laid.storage[a] == isa::DType::f32 && laid.storage[b] == isa::DType::f32;
  const auto narrow = [](isa::DType type) { return type == isa::DType::bf16; };
  return wide && std::none_of(laid.storage.begin(), laid.storage.end(), narrow) ? isa::DType::f32
                                                                                : isa::DType::bf16;
}

ColumnTiles column_tiles(const isa::Machine& machine, std::int64_t columns) {
  std::int64_t distance = machine.row_tile_min;
  while (distance < columns) {
    distance *= 2;
  }
  distance = std::max<std::int64_t>(distance, isa::start_step(machine, static_cast<int>(columns)));
  const std::int64_t all = std::min(machine.array_columns, machine.partitions);
  return {std::max<std::int64_t>(1, all / distance), distance};
}

std::int64_t run_length(const Placed& placed, const Space& space, const Ranges& box) {
  std::int64_t run = 1;
  for (std::size_t d = placed.free_labels.size(); d-- > 0;) {
    const int label = placed.free_labels[d];
    run *= box[at(label)].extent;
    if (box[at(label)].extent != space.extents[at(label)]) {
      break;
    }
  }
  return run;
}

}  // namespace systole::lower
