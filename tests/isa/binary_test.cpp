#include "isa/binary.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "isa/base/error.hpp"
#include "isa/text.hpp"
#include "tests/isa/random_values.hpp"

namespace systole::isa {
namespace {

bool refused(std::span<const std::byte> bytes) {
  try {
    static_cast<void>(decode(bytes, "f.bin"));
  } catch (const Error&) {
    return true;
  }
  return false;
}

// Puts a checksum that fits the (changed) body into the header, so that the reader behind it is
// reached.
void reseal(std::vector<std::byte>& bytes) {
  const std::uint64_t sum = checksum(std::span(bytes).subspan(32));
  std::memcpy(bytes.data() + 24, &sum, sizeof(sum));
}

TEST_CASE("random programs come back equal from their container") {
  testing::RandomValues values(3);
  for (int i = 0; i < 300; ++i) {
    const Program p = values.program();
    const std::vector<std::byte> bytes = encode(p);
    const Program back = decode(bytes, "f.bin");
    REQUIRE(back == p);
    REQUIRE(encode(back) == bytes);
  }
}

TEST_CASE("constants of any size are in the container") {
  Program p;
  HbmTensor tensor;
  tensor.role = Role::constant;
  std::vector<std::byte> data(100000, std::byte{7});
  tensor.data = std::make_shared<const std::vector<std::byte>>(data);
  p.tensors.add(tensor);
  const Program back = decode(encode(p), "f.bin");
  CHECK(*back.tensors[TensorId(0)].data == data);
}

TEST_CASE("a container cut short anywhere is refused") {
  testing::RandomValues values(4);
  const std::vector<std::byte> bytes = encode(values.program());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    REQUIRE(refused(std::span(bytes).first(size)));
  }
  std::vector<std::byte> longer = bytes;
  longer.push_back(std::byte{0});
  CHECK(refused(longer));
  CHECK_FALSE(refused(bytes));
}

TEST_CASE("any flipped bit is noticed") {
  testing::RandomValues values(5);
  std::vector<std::byte> bytes = encode(values.program());
  bytes.resize(std::min<std::size_t>(bytes.size(), 4000));
  const std::uint64_t length = bytes.size() - 32;
  std::memcpy(bytes.data() + 16, &length, sizeof(length));
  reseal(bytes);
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    bytes[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
    REQUIRE(refused(bytes));
    bytes[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
  }
}

TEST_CASE("a body cut short behind a matching checksum is refused") {
  testing::RandomValues values(6);
  const std::vector<std::byte> whole = encode(values.program());
  for (std::size_t size = 32; size < whole.size(); size += 7) {
    std::vector<std::byte> bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    const std::uint64_t length = size - 32;
    std::memcpy(bytes.data() + 16, &length, sizeof(length));
    reseal(bytes);
    REQUIRE(refused(bytes));
  }
}

TEST_CASE("a body with a changed byte behind a matching checksum is refused or still well-formed") {
  testing::RandomValues values(7);
  const std::vector<std::byte> whole = encode(values.program());
  int well_formed = 0;
  for (int i = 0; i < 20000; ++i) {
    std::vector<std::byte> bytes = whole;
    const auto at = static_cast<std::size_t>(
        values.random().integer(32, static_cast<std::int64_t>(bytes.size()) - 1));
    bytes[at] = static_cast<std::byte>(values.random().integer(0, 255));
    reseal(bytes);
    try {
      const Program p = decode(bytes, "f.bin");
      REQUIRE(encode(p).size() == bytes.size());
      ++well_formed;
    } catch (const Error&) {
    }
  }
  CHECK(well_formed > 1000);
  CHECK(well_formed < 20000);
}

TEST_CASE("a newer format and a foreign file are named as such") {
  std::vector<std::byte> bytes = encode(Program{});
  bytes[8] = std::byte{3};
  CHECK_THROWS_WITH(static_cast<void>(decode(bytes, "f.bin")),
                    "f.bin: container format 3, this Systole reads 2; compile the program again");
  const std::string elf = "\x7f ELF";
  CHECK_THROWS_WITH(static_cast<void>(decode(std::as_bytes(std::span(elf)), "f.bin")),
                    "f.bin: no Systole program; give a file that systole compile wrote");
}

TEST_CASE("a program file is read in both forms and nothing is left of a failed write") {
  const auto folder = std::filesystem::temp_directory_path() / "systole-isa-tests";
  std::filesystem::create_directories(folder);
  testing::RandomValues values(8);
  const Program p = values.program();
  const std::string path = (folder / "p.bin").string();
  write_program(p, path);
  CHECK(read_program(path) == p);
  const std::string text_path = (folder / "p.asm").string();
  std::ofstream(text_path, std::ios::binary) << print(p);
  CHECK(read_program(text_path) == p);
  CHECK_THROWS_AS(write_program(p, (folder / "absent" / "p.bin").string()), Error);
  CHECK_THROWS_AS(static_cast<void>(read_program((folder / "absent.bin").string())), Error);
  CHECK_THROWS_AS(static_cast<void>(read_program(folder.string())), Error);
  std::size_t files = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder)) {
    ++files;
  }
  CHECK(files == 2);
  std::filesystem::remove_all(folder);
}

TEST_CASE("a program for another machine is refused") {
  const Machine toy = read_machine("toy");
  Program p;
  p.name = "p";
  p.machine = "toy";
  p.fingerprint = fingerprint(toy);
  CHECK_NOTHROW(expect_machine(p, toy));
  CHECK_THROWS_AS(expect_machine(p, read_machine("trn1")), Error);
}

}  // namespace
}  // namespace systole::isa
