// Files are written whole or not at all: to a temporary name beside the target, renamed last. Throws Error.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace systole::driver {

void write_file(const std::string& path, std::string_view text);
void write_file(const std::string& path, std::span<const std::byte> bytes);

// Throws Error now if `path` could not be written later (missing folder, a folder of that name) or is one of the files that
// the command reads.
void expect_writable(const std::string& path, const std::vector<std::string>& read = {});

// Whether two paths, of files that need not exist, name one file.
[[nodiscard]] bool same_file(const std::string& a, const std::string& b);

// The folder, made with those above it where missing.
void make_folder(const std::string& path);

}  // namespace systole::driver
