// NumPy .npy files to and from host arrays.
//
// Reads format versions 1 to 3, little- and big-endian, C and Fortran order, every element type that an Array has;
// bfloat16 is stored as NumPy's 2-byte void ('|V2'). Writes version 1, little-endian, C order. Errors name the file: not an
// .npy file, malformed header, unsupported type, fewer or more bytes than the header claims (checked before memory is
// taken). Source: NumPy's format description (numpy.lib.format).
#pragma once

#include <filesystem>

#include "compiler/graph/array.hpp"

namespace systole::frontend {

[[nodiscard]] graph::Array read_npy(const std::filesystem::path& path);
// The shape alone, from the header.
[[nodiscard]] graph::Shape read_npy_shape(const std::filesystem::path& path);
// Written to a temporary name beside the target and renamed last.
void write_npy(const std::filesystem::path& path, const graph::Array& array);

}  // namespace systole::frontend
