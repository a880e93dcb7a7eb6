// libFuzzer's entry: the first byte chooses the reader. Build with clang and -DSYSTOLE_FUZZ=ON, run isa_fuzz FOLDER.
#include <cstdint>

#include "tests/isa/fuzz.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const systole::isa::Machine machine = systole::isa::read_machine("trn2");
  if (size == 0) {
    return 0;
  }
  const auto bytes = std::as_bytes(std::span(data, size)).subspan(1);
  const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  switch (data[0] % 3) {
    case 0:
      static_cast<void>(systole::isa::testing::fuzz_body(bytes, machine));
      break;
    case 1:
      static_cast<void>(systole::isa::testing::fuzz_text(text, machine));
      break;
    default:
      static_cast<void>(systole::isa::testing::fuzz_machine(text));
  }
  return 0;
}
