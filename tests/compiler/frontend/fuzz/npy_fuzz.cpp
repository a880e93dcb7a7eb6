// libFuzzer entry: any bytes as an .npy file give an array or an Error.

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

#include "compiler/frontend/npy.hpp"
#include "isa/base/error.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto path = std::filesystem::temp_directory_path() /
                    ("systole_fuzz_" + std::to_string(::getpid()) + ".npy");
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
  try {
    const auto array = systole::frontend::read_npy(path);
    systole::check(systole::frontend::read_npy_shape(path) == array.shape, "two shapes of one file");
  } catch (const systole::Error&) {
  }
  return 0;
}
