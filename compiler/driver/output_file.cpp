#include "compiler/driver/output_file.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "isa/base/error.hpp"

namespace systole::driver {

namespace fs = std::filesystem;

namespace {

void expect_writable(const std::string& path) {
  const fs::path parent = fs::path(path).parent_path();
  std::error_code error;
  if (!parent.empty() && !fs::is_directory(parent, error)) {
    throw Error(path, "its folder does not exist", "create it or give another path");
  }
  if (fs::is_directory(path, error)) {
    throw Error(path, "is a folder", "give a file name");
  }
  if (fs::exists(path, error) && !fs::is_regular_file(path, error)) {
    throw Error(path, "is no regular file: it would be replaced", "give the name of a file");
  }
}

// Of files that need not exist.
bool same_file(const std::string& a, const std::string& b) {
  std::error_code error;
  const fs::path first = fs::weakly_canonical(a, error);
  return first == fs::weakly_canonical(b, error);
}

}  // namespace

void expect_outputs(const std::vector<std::string>& paths, const std::vector<std::string>& read) {
  std::vector<std::string> earlier;
  for (const std::string& path : paths) {
    if (path.empty()) {
      continue;
    }
    expect_writable(path);
    const auto exists_as = [&path](const std::string& other) {
      std::error_code error;
      return fs::equivalent(path, other, error);
    };
    if (std::any_of(read.begin(), read.end(), exists_as)) {
      throw Error(path, "is read by this command and would be overwritten", "give another name");
    }
    if (std::any_of(earlier.begin(), earlier.end(),
                    [&path](const std::string& other) { return same_file(path, other); })) {
      throw Error(path, "is given for two outputs, of which one would be lost",
                  "give each a name of its own");
    }
    earlier.push_back(path);
  }
}

void make_folder(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error || !fs::is_directory(path, error)) {
    throw Error(path, "cannot be made a folder: " + error.message(),
                "give a folder that can be written");
  }
}

void write_file(const std::string& path, std::string_view text) {
  write_file(path, std::as_bytes(std::span(text.data(), text.size())));
}

void write_file(const std::string& path, std::span<const std::byte> bytes) {
  expect_writable(path);
  const std::string temporary = path + ".partial";
  {
    std::ofstream file(temporary, std::ios::binary | std::ios::trunc);
    // iostreams speak char; the bytes are passed through unchanged.
    file.write(static_cast<const char*>(static_cast<const void*>(bytes.data())),
               static_cast<std::streamsize>(bytes.size()));
    file.flush();
    if (!file) {
      std::error_code ignored;
      fs::remove(temporary, ignored);
      throw Error(path, "cannot be written", "check permissions and free space");
    }
  }
  std::error_code error;
  fs::rename(temporary, path, error);
  if (error) {
    std::error_code ignored;
    fs::remove(temporary, ignored);
    throw Error(path, "cannot be written: " + error.message(), "check permissions");
  }
}

}  // namespace systole::driver
