// libFuzzer's entry: the first byte chooses the reader. Build with clang and -DSYSTOLE_FUZZ=ON, run isa_fuzz FOLDER.
#include <cstdint>

#include "tests/isa/fuzz.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const systole::isa::Machine machine = systole::isa::read_machine("trn2");
  if (size == 0) {
    return 0;
  }
  const auto bytes = std::as_bytes(std::span(data, size)).subspan(1);
  if (data[0] % 2 == 0) {
    static_cast<void>(systole::isa::testing::fuzz_body(bytes, machine));
  } else {
    const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    static_cast<void>(systole::isa::testing::fuzz_text(text, machine));
  }
  return 0;
}
