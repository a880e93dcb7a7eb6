#include "tests/isa/fuzz.hpp"

#include <doctest/doctest.h>

#include "isa/base/file.hpp"
#include "tests/isa/random_values.hpp"

namespace systole::isa {
namespace {

TEST_CASE("damaged assembly is refused or means a program that comes back") {
  testing::RandomValues values(10);
  const Machine machine = read_machine("trn1");
  int read = 0;
  for (int i = 0; i < 40; ++i) {
    const std::string text = print(values.program());
    for (int k = 0; k < 50; ++k) {
      std::string damaged = text;
      testing::damage(damaged, values.random());
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
      testing::damage(body, values.random());
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

TEST_CASE("damaged machine files are refused or mean a machine that comes back") {
  Random random(13);
  int read = 0;
  for (const std::string& name : machine_names()) {
    const std::string text = read_file(find_machine_file(name));
    for (int k = 0; k < 400; ++k) {
      std::string damaged = text;
      testing::damage(damaged, random);
      read += testing::fuzz_machine(damaged) == testing::Fate::read ? 1 : 0;
    }
  }
  CHECK(read > 100);  // comments
  CHECK(read < 1100);
}

}  // namespace
}  // namespace systole::isa
