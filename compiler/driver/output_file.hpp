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

// Before a command runs: throws Error now if one of the files that it will write (empty: not asked for) could not be
// written later (missing folder, a folder of that name), is one of those that it reads, or is given for two outputs.
void expect_outputs(const std::vector<std::string>& paths,
                    const std::vector<std::string>& read = {});

// The folder, made with those above it where missing.
void make_folder(const std::string& path);

}  // namespace systole::driver
