// Whole files in and out. read_file throws Error for anything that is no readable file. write_file
// writes to a temporary name beside the target and renames it, so that a failure leaves no output
// and never half of one; it throws Error.
#pragma once

#include <cstdio>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <system_error>

#include "isa/base/error.hpp"

namespace systole {

inline std::string read_file(const std::string& path) {
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  const std::unique_ptr<std::FILE, Close> file(std::fopen(path.c_str(), "rb"));
  std::string text;
  std::size_t size = 0;
  std::size_t got = 0;
  if (file != nullptr) {
    do {
      text.resize(size + (size < 65536 ? 65536 : size));
      got = std::fread(text.data() + size, 1, text.size() - size, file.get());
      size += got;
    } while (got != 0);
  }
  if (file == nullptr || std::ferror(file.get()) != 0) {
    throw Error(path, "cannot be read", "check the path and the permissions");
  }
  text.resize(size);
  return text;
}

inline void write_file(const std::string& path, std::span<const std::byte> bytes) {
  const std::string temporary = path + ".part";
  std::FILE* file = std::fopen(temporary.c_str(), "wb");
  const bool written =
      file != nullptr && std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
  const bool closed = file != nullptr && std::fclose(file) == 0;
  std::error_code error;
  if (written && closed) {
    std::filesystem::rename(temporary, path, error);
  }
  if (!written || !closed || error) {
    std::error_code ignored;
    if (file != nullptr) {
      std::filesystem::remove(temporary, ignored);
    }
    throw Error(path, "cannot be written", "check the folder, its permissions and free space");
  }
}

inline void write_file(const std::string& path, const std::string& text) {
  write_file(path, std::as_bytes(std::span(text)));
}

}  // namespace systole
