// Host arrays (row-major over the logical shape) to and from the storage of an HBM tensor
// (row-major over the storage extents, axes in the tensor's order, padded). Padding is filled with
// `padding` bytes.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "isa/program.hpp"

namespace systole::sim {

// Bytes of the host's array.
[[nodiscard]] std::size_t host_bytes(const isa::HbmTensor& tensor);

// Throws Error if the array's length is not host_bytes, or shape, order and storage do not describe
// one tensor.
void pack(const isa::HbmTensor& tensor, std::span<const std::byte> host, std::byte* storage,
          std::byte padding);
[[nodiscard]] std::vector<std::byte> unpack(const isa::HbmTensor& tensor, const std::byte* storage);

}  // namespace systole::sim
