#include "compiler/lower/storage.hpp"

#include <utility>

#include "isa/base/error.hpp"
#include "isa/convert.hpp"

namespace systole::lower {
namespace {

std::size_t at(int axis) {
  return static_cast<std::size_t>(axis);
}

std::int64_t product(const std::vector<std::int64_t>& values) {
  std::int64_t out = 1;
  for (const std::int64_t v : values) {
    out *= v;
  }
  return out;
}

// Element types of the host that the machine has as well: their bytes are converted without a
// detour.
std::byte* store_element(const graph::Array& array, std::int64_t from, isa::DType dtype,
                         std::byte* to) {
  if (graph::is_float(array.type)) {
    isa::store_double(dtype, graph::get(array, from), to);
  } else {
    isa::store_integer(dtype, graph::get_integer(array, from), to);
  }
  return to + isa::size_of(dtype);
}

// Storage order: odometer over the storage extents, logical offset kept incrementally.
std::vector<std::byte> pack(const graph::Array& array, const isa::HbmTensor& tensor) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(isa::storage_bytes(tensor)));
  const std::size_t rank = tensor.storage.size();
  std::vector<std::int64_t> logical(rank, 1);
  for (std::size_t i = rank; i-- > 1;) {
    logical[i - 1] = logical[i] * tensor.shape[i];
  }
  std::vector<std::int64_t> index(rank, 0);
  std::int64_t from = 0;
  std::byte* to = bytes.data();
  const std::int64_t count = product(tensor.storage);
  const int size = isa::size_of(tensor.dtype);
  for (std::int64_t i = 0; i < count; ++i) {
    const bool padding = rank > 0 && index[rank - 1] >= tensor.shape[at(tensor.order[rank - 1])];
    if (padding) {
      to += size;
    } else {
      to = store_element(array, from, tensor.dtype, to);
    }
    for (std::size_t d = rank; d-- > 0;) {
      const std::int64_t stride = logical[at(tensor.order[d])];
      from += stride;
      if (++index[d] < tensor.storage[d]) {
        break;
      }
      from -= stride * index[d];
      index[d] = 0;
    }
  }
  return bytes;
}

}  // namespace

View view_of(const layout::Layout& layout, const graph::Shape& shape, bool resident) {
  View out;
  out.shape = shape;
  out.axes.resize(shape.size());
  check(layout.order.size() == shape.size(), "layout of another rank");
  for (std::size_t i = 0; i < layout.order.size(); ++i) {
    (i < at(layout.split) ? out.partition_axes : out.free_axes).push_back(layout.order[i]);
  }
  for (auto axis = out.free_axes.rbegin(); axis != out.free_axes.rend(); ++axis) {
    out.axes[at(*axis)].elements = out.free;
    out.free *= shape[at(*axis)] + (axis == out.free_axes.rbegin() ? layout.padding : 0);
  }
  out.free += out.free_axes.empty() ? layout.padding : 0;
  for (auto axis = out.partition_axes.rbegin(); axis != out.partition_axes.rend(); ++axis) {
    Motion& motion = out.axes[at(*axis)];
    (resident ? motion.partitions : motion.elements) =
        resident ? out.partitions : out.partitions * out.free;
    out.partitions *= shape[at(*axis)];
  }
  return out;
}

std::int64_t resident_bytes(const layout::LaidGraph& laid, graph::TensorId tensor,
                            const isa::Machine& machine) {
  const View view = view_of(laid.layouts[tensor], laid.graph.tensors[tensor].shape, true);
  const std::int64_t blocks = (view.partitions + machine.partitions - 1) / machine.partitions;
  const std::int64_t bytes = blocks * view.free * isa::size_of(laid.storage[tensor]);
  return (bytes + 3) / 4 * 4;
}

isa::HbmTensor hbm_tensor(const layout::LaidGraph& laid, graph::TensorId tensor, isa::Role role,
                          std::string name) {
  const graph::Tensor& t = laid.graph.tensors[tensor];
  const layout::Layout& layout = laid.layouts[tensor];
  isa::HbmTensor out;
  out.name = std::move(name);
  out.role = role;
  out.dtype = laid.storage[tensor];
  out.shape = t.shape;
  out.order = layout.order;
  for (const int axis : layout.order) {
    out.storage.push_back(t.shape[at(axis)]);
  }
  if (layout.padding != 0) {
    check(at(layout.split) < layout.order.size(), "padding needs a free axis");
    out.storage.back() += layout.padding;
  }
  if (role == isa::Role::constant && t.data != nullptr) {
    out.data = std::make_shared<const std::vector<std::byte>>(pack(*t.data, out));
  }
  return out;
}

}  // namespace systole::lower
