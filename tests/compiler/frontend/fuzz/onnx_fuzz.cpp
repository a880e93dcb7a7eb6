// libFuzzer entry: any bytes as an ONNX file give a graph or an Error.

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

#include "compiler/frontend/onnx.hpp"
#include "compiler/graph/graph.hpp"
#include "isa/base/error.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto path = std::filesystem::temp_directory_path() /
                    ("systole_fuzz_" + std::to_string(::getpid()) + ".onnx");
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
  systole::frontend::Options options;
  options.constant_bytes = 1 << 26;
  options.nodes = 20'000;
  options.trips = 100;
  try {
    const auto graph = systole::frontend::read_onnx(path, options);
    systole::check(systole::graph::verify(graph).empty(), "an accepted model gives a faulty graph");
  } catch (const systole::Error&) {
  }
  return 0;
}
