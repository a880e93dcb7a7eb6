#include "compiler/lower/kernels/chunks.hpp"

#include <algorithm>
#include <iterator>

#include "isa/base/error.hpp"

namespace systole::lower {
namespace {

// Long enough that a transfer's rows and an instruction's elements hide their fixed costs several times over; shorter
// than a whole tensor, so that loads, work and stores of neighbouring chunks overlap.
constexpr std::int64_t streamed_row_bytes = 16384;
// Of one instruction where nothing is staged: short enough that the next operator follows piece by
// piece on another engine.
constexpr std::int64_t resident_elements = 2048;

void chunks_from(const std::vector<std::int64_t>& extents, const std::vector<std::int64_t>& steps,
                 std::size_t axis, std::vector<Span>& spans,
                 const std::function<void(const std::vector<Span>&)>& f) {
  if (axis == extents.size()) {
    f(spans);
    return;
  }
  for (std::int64_t begin = 0; begin < extents[axis]; begin += steps[axis]) {
    spans[axis] = {begin, std::min(steps[axis], extents[axis] - begin)};
    chunks_from(extents, steps, axis + 1, spans, f);
  }
}

void boxes_from(const std::vector<std::int64_t>& extents, std::size_t axis, std::int64_t begin,
                std::int64_t count, Box box, std::vector<Box>& out) {
  if (count == 0) {
    return;
  }
  if (axis == extents.size()) {
    out.push_back(std::move(box));
    return;
  }
  std::int64_t inner = 1;
  for (std::size_t i = axis + 1; i < extents.size(); ++i) {
    inner *= extents[i];
  }
  // A first partial row, whole rows, a last partial row.
  const auto part = [&](std::int64_t index, std::int64_t rows, std::int64_t from, std::int64_t n) {
    if (rows == 0 || n == 0) {
      return;
    }
    Box next = box;
    next.spans.push_back({index, rows});
    boxes_from(extents, axis + 1, from, n, std::move(next), out);
  };
  std::int64_t index = begin / inner;
  const std::int64_t from = begin % inner;
  if (from != 0 || count < inner) {
    const std::int64_t n = std::min(count, inner - from);
    part(index, 1, from, n);
    count -= n;
    box.offset += n;
    ++index;
  }
  const std::int64_t rows = count / inner;
  part(index, rows, 0, rows > 0 ? inner : 0);
  box.offset += rows * inner;
  part(index + rows, 1, 0, count - rows * inner);
}

}  // namespace

void for_each_chunk(const std::vector<std::int64_t>& extents, std::int64_t limit,
                    const std::function<void(const std::vector<Span>&)>& f, bool even) {
  std::vector<std::int64_t> steps(extents.size(), 1);
  std::int64_t room = std::max<std::int64_t>(limit, 1);
  for (std::size_t i = extents.size(); i-- > 0 && room > 0;) {
    if (extents[i] == 0) {
      return;
    }
    steps[i] = std::min(extents[i], room);
    if (even) {
      const std::int64_t pieces = (extents[i] + steps[i] - 1) / steps[i];
      steps[i] = (extents[i] + pieces - 1) / pieces;
    }
    room = steps[i] == extents[i] ? room / extents[i] : 0;
  }
  if (product(extents) == 0) {
    return;
  }
  std::vector<Span> spans(extents.size());
  chunks_from(extents, steps, 0, spans, f);
}

std::vector<Box> boxes_of(const std::vector<std::int64_t>& extents, std::int64_t begin,
                          std::int64_t count) {
  std::vector<Box> out;
  boxes_from(extents, 0, begin, count, {}, out);
  return out;
}

void for_each_partition_range(std::int64_t extent, std::int64_t partitions, std::int64_t blocks,
                              const std::function<void(Span, bool by_blocks)>& f) {
  const std::int64_t whole = extent / partitions;
  for (std::int64_t block = 0; block < whole; block += blocks) {
    const std::int64_t count = std::min(blocks, whole - block);
    f({block * partitions, count * partitions}, count > 1);
  }
  if (extent > whole * partitions) {
    f({whole * partitions, extent - whole * partitions}, false);
  }
}

std::int64_t product(const std::vector<std::int64_t>& values) {
  std::int64_t out = 1;
  for (const std::int64_t v : values) {
    out *= v;
  }
  return out;
}

std::int64_t elements_of(const std::vector<Span>& spans) {
  std::int64_t out = 1;
  for (const Span& span : spans) {
    out *= span.extent;
  }
  return out;
}

Operand operand_of(const Builder& builder, graph::TensorId tensor) {
  const layout::LaidGraph& laid = builder.laid();
  Operand out;
  out.tensor = tensor;
  out.shape = laid.graph.tensors[tensor].shape;
  out.dtype = laid.storage[tensor];
  out.resident = builder.is_resident(tensor);
  const layout::Layout& layout = laid.layouts[tensor];
  for (std::size_t i = 0; i < layout.order.size(); ++i) {
    const bool across = i < static_cast<std::size_t>(layout.split);
    (across ? out.partition_axes : out.free_axes).push_back(layout.order[i]);
  }
  out.partitions = product(extents_of(out, out.partition_axes));
  return out;
}

std::vector<std::int64_t> extents_of(const Operand& operand, const std::vector<int>& axes) {
  std::vector<std::int64_t> out;
  for (const int axis : axes) {
    out.push_back(operand.shape[static_cast<std::size_t>(axis)]);
  }
  return out;
}

int position_of(const std::vector<int>& axes, int axis) {
  const auto found = std::ranges::find(axes, axis);
  return found == axes.end() ? -1 : static_cast<int>(found - axes.begin());
}

std::vector<int> long_axes(const graph::Shape& shape, const std::vector<int>& axes) {
  std::vector<int> out;
  std::ranges::copy_if(axes, std::back_inserter(out),
                       [&](int axis) { return shape[static_cast<std::size_t>(axis)] > 1; });
  return out;
}

Region region_of(const Operand& operand, Span partitions, const std::vector<Span>& spans,
                 bool by_blocks) {
  Region out{partitions, {}, by_blocks};
  for (const int axis : operand.free_axes) {
    out.free.push_back(spans[static_cast<std::size_t>(axis)]);
  }
  return out;
}

std::int64_t chunk_elements(const Builder& builder, std::int64_t bytes) {
  if (bytes == 0) {
    return std::min(resident_elements, builder.machine().access_extent_max);
  }
  const std::int64_t room = builder.staging_bytes() / (2 * bytes);
  return std::max<std::int64_t>(
      1, std::min({room, streamed_row_bytes / 4, builder.machine().access_extent_max}));
}

}  // namespace systole::lower
