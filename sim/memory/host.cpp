#include "sim/memory/host.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "isa/base/error.hpp"

namespace systole::sim {
namespace {

// One loop over the logical elements, in storage order.
struct Axis {
  std::int64_t extent = 1;
  std::int64_t host_stride = 0;     // bytes
  std::int64_t storage_stride = 0;  // bytes
};

void check_shape(const isa::HbmTensor& tensor) {
  const std::size_t rank = tensor.shape.size();
  bool good = tensor.order.size() == rank && tensor.storage.size() == rank;
  std::vector<bool> seen(rank, false);
  for (std::size_t i = 0; good && i < rank; ++i) {
    const int axis = tensor.order[i];
    good = axis >= 0 && static_cast<std::size_t>(axis) < rank &&
           !seen[static_cast<std::size_t>(axis)] &&
           tensor.storage[i] >= tensor.shape[static_cast<std::size_t>(axis)];
    if (good) {
      seen[static_cast<std::size_t>(axis)] = true;
    }
  }
  if (!good) {
    throw Error(
        "tensor " + tensor.name, "its order and storage extents do not fit its shape",
        "let order be a permutation of the axes and every storage extent at least the axis's");
  }
}

std::vector<Axis> axes_of(const isa::HbmTensor& tensor) {
  check_shape(tensor);
  const std::size_t rank = tensor.shape.size();
  std::vector<std::int64_t> host_stride(rank, 0);
  std::int64_t step = isa::size_of(tensor.dtype);
  for (std::size_t i = rank; i-- > 0;) {
    host_stride[i] = step;
    step *= tensor.shape[i];
  }
  std::vector<Axis> axes(rank);
  step = isa::size_of(tensor.dtype);
  for (std::size_t i = rank; i-- > 0;) {
    const auto axis = static_cast<std::size_t>(tensor.order[i]);
    axes[i] = {tensor.shape[axis], host_stride[axis], step};
    step *= tensor.storage[i];
  }
  return axes;
}

template <class F>
void for_each_line(const std::vector<Axis>& axes, std::size_t depth, std::int64_t host,
                   std::int64_t storage, F& line) {
  if (depth + 1 >= axes.size()) {
    line(host, storage, axes.empty() ? Axis{} : axes.back());
    return;
  }
  const Axis& axis = axes[depth];
  for (std::int64_t i = 0; i < axis.extent; ++i) {
    for_each_line(axes, depth + 1, host + i * axis.host_stride, storage + i * axis.storage_stride,
                  line);
  }
}

void copy_line(std::byte* to, std::int64_t to_stride, const std::byte* from,
               std::int64_t from_stride, std::int64_t extent, std::int64_t size) {
  if (to_stride == size && from_stride == size) {
    std::memcpy(to, from, static_cast<std::size_t>(extent * size));
    return;
  }
  for (std::int64_t i = 0; i < extent; ++i) {
    std::memcpy(to + i * to_stride, from + i * from_stride, static_cast<std::size_t>(size));
  }
}

}  // namespace

std::size_t host_bytes(const isa::HbmTensor& tensor) {
  std::int64_t bytes = isa::size_of(tensor.dtype);
  for (const std::int64_t extent : tensor.shape) {
    bytes *= extent;
  }
  return static_cast<std::size_t>(bytes);
}

void pack(const isa::HbmTensor& tensor, std::span<const std::byte> host, std::byte* storage,
          std::byte padding) {
  if (host.size() != host_bytes(tensor)) {
    throw Error(
        "input " + tensor.name,
        fmt::format("the array has {} bytes, the tensor {}", host.size(), host_bytes(tensor)),
        "give an array of the tensor's shape and element type");
  }
  const std::vector<Axis> axes = axes_of(tensor);
  const auto bytes = static_cast<std::size_t>(isa::storage_bytes(tensor));
  if (bytes != host.size()) {
    std::memset(storage, static_cast<int>(padding), bytes);
  }
  if (host.empty()) {
    return;
  }
  const std::int64_t size = isa::size_of(tensor.dtype);
  auto line = [&](std::int64_t from, std::int64_t to, const Axis& axis) {
    copy_line(storage + to, axis.storage_stride, host.data() + from, axis.host_stride, axis.extent,
              size);
  };
  for_each_line(axes, 0, 0, 0, line);
}

std::vector<std::byte> unpack(const isa::HbmTensor& tensor, const std::byte* storage) {
  const std::vector<Axis> axes = axes_of(tensor);
  std::vector<std::byte> host(host_bytes(tensor));
  if (host.empty()) {
    return host;
  }
  const std::int64_t size = isa::size_of(tensor.dtype);
  auto line = [&](std::int64_t to, std::int64_t from, const Axis& axis) {
    copy_line(host.data() + to, axis.host_stride, storage + from, axis.storage_stride, axis.extent,
              size);
  };
  for_each_line(axes, 0, 0, 0, line);
  return host;
}

}  // namespace systole::sim
