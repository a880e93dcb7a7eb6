#include "tests/isa/fuzz.hpp"

#include <doctest/doctest.h>

#include "tests/isa/random_values.hpp"

namespace systole::isa {
namespace {

// One to four edits: a byte changed, a stretch removed, doubled, or moved.
template <class B>
void damage(B& bytes, Random& random) {
  for (std::int64_t k = random.integer(1, 4); k > 0 && !bytes.empty(); --k) {
    const auto size = static_cast<std::int64_t>(bytes.size());
    const auto at = static_cast<std::ptrdiff_t>(random.integer(0, size - 1));
    const auto length =
        static_cast<std::ptrdiff_t>(random.integer(1, std::min<std::int64_t>(size - at, 20)));
    const B stretch(bytes.begin() + at, bytes.begin() + at + length);
    const auto to = static_cast<std::ptrdiff_t>(random.integer(0, size));
    switch (random.integer(0, 2)) {
      case 0:
        bytes[static_cast<std::size_t>(at)] =
            static_cast<typename B::value_type>(random.integer(0, 255));
        break;
      case 1:
        bytes.erase(bytes.begin() + at, bytes.begin() + at + length);
        break;
      default:
        bytes.insert(bytes.begin() + to, stretch.begin(), stretch.end());
    }
  }
}

TEST_CASE("damaged assembly is refused or means a program that comes back") {
  testing::RandomValues values(10);
  const Machine machine = read_machine("trn1");
  int read = 0;
  for (int i = 0; i < 40; ++i) {
    const std::string text = print(values.program());
    for (int k = 0; k < 50; ++k) {
      std::string damaged = text;
      damage(damaged, values.random());
      read += testing::fuzz_text(damaged, machine) == testing::Fate::read ? 1 : 0;
    }
  }
  CHECK(read > 20);
  CHECK(read < 1900);
}

TEST_CASE("damaged containers are refused or hold a program that comes back") {
  testing::RandomValues values(11);
  const Machine machine = read_machine("trn1");
  int read = 0;
  for (int i = 0; i < 40; ++i) {
    const std::vector<std::byte> bytes = encode(values.program());
    for (int k = 0; k < 100; ++k) {
      std::vector<std::byte> body(bytes.begin() + 32, bytes.end());
      damage(body, values.random());
      read += testing::fuzz_body(body, machine) == testing::Fate::read ? 1 : 0;
    }
  }
  CHECK(read > 20);
  CHECK(read < 3900);
}

TEST_CASE("bytes without any structure are refused") {
  Random random(12);
  const Machine machine = read_machine("trn1");
  for (int i = 0; i < 2000; ++i) {
    std::vector<std::byte> bytes(static_cast<std::size_t>(random.integer(0, 200)));
    for (std::byte& b : bytes) {
      b = static_cast<std::byte>(random.integer(0, 255));
    }
    CHECK(testing::fuzz_body(bytes, machine) == testing::Fate::refused);
    const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    CHECK(testing::fuzz_text(text, machine) == testing::Fate::refused);
  }
}

}  // namespace
}  // namespace systole::isa
