#include "compiler/driver/output_file.hpp"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "isa/base/error.hpp"

namespace systole::driver {

namespace fs = std::filesystem;

void expect_writable(const std::string& path, const std::vector<std::string>& read) {
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
  for (const std::string& file : read) {
    if (fs::equivalent(path, file, error)) {
      throw Error(path, "is read by this command and would be overwritten", "give another name");
    }
  }
}

bool same_file(const std::string& a, const std::string& b) {
  std::error_code error;
  const fs::path first = fs::weakly_canonical(a, error);
  return first == fs::weakly_canonical(b, error);
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
