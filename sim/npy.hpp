// NumPy .npy files as host arrays of a program's tensors. Source: NumPy's format description (numpy.lib.format).
//
// Read: versions 1 to 3, little-endian, C order. The file's element type may be that of the tensor, or f4, f8, i4 or i8
// (converted with one rounding). Throws Error naming the file. Written: version 1; bf16 and fp8 as f4.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "isa/program.hpp"

namespace systole::sim {

[[nodiscard]] std::vector<std::byte> read_npy(const std::string& path,
                                              const isa::HbmTensor& tensor);

// The file's content.
[[nodiscard]] std::string npy_text(const isa::HbmTensor& tensor, std::span<const std::byte> array);

}  // namespace systole::sim
