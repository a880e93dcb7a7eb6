#include "isa/machine.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "isa/base/error.hpp"
#include "isa/base/file.hpp"

namespace systole::isa {
namespace {

std::string message_of(const std::string& text) {
  try {
    static_cast<void>(parse_machine(text, "m.yaml"));
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

std::string toy_with(const std::string& from, const std::string& to) {
  std::string text = print_architecture(read_machine("toy"));
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

TEST_CASE("the machines of configs have the documented architecture") {
  const Machine v2 = read_machine("trn1");
  CHECK(v2.generation == Generation::v2);
  CHECK(v2.partitions == 128);
  CHECK(v2.sbuf_bytes == 176 * 1024);
  CHECK(v2.psum_banks * v2.psum_bank_bytes == 16 * 1024);
  CHECK(v2.hbm_bytes == 16LL * 1024 * 1024 * 1024);
  CHECK(v2.moving_max == 512);
  CHECK(v2.row_tile_min == 64);
  CHECK_FALSE(v2.scalar_copy);
  const Machine v3 = read_machine("trn2");
  CHECK(v3.generation == Generation::v3);
  CHECK(v3.sbuf_bytes == 212984);
  CHECK(v3.hbm_bytes == 12LL * 1024 * 1024 * 1024);
  CHECK(v3.row_tile_min == 32);
  CHECK(v3.dma_transpose);
  CHECK(v3.scalar_copy);
  CHECK(read_machine("toy").array_rows == 8);
}

TEST_CASE("every figure of a machine file names unit, confidence and source") {
  for (const std::string& name : machine_names()) {
    const yaml::Node document = yaml::parse_file(find_machine_file(name));
    const std::string text = read_file(find_machine_file(name));
    std::vector<std::string> lines;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      lines.push_back(text.substr(at, end - at));
      at = end + 1;
    }
    for (const yaml::Entry& entry : document.find("architecture")->entries) {
      if (entry.key == "name" || entry.key == "generation") {
        continue;
      }
      const std::string& line = lines.at(static_cast<std::size_t>(entry.line) - 1);
      CAPTURE(line);
      const std::size_t mark = line.find("; ");
      REQUIRE(line.find("# ") != std::string::npos);
      REQUIRE(mark != std::string::npos);
      CHECK(std::string("DMIG").find(line.at(mark + 2)) != std::string::npos);
    }
  }
}

TEST_CASE("a printed architecture is read back equal") {
  for (const std::string& name : machine_names()) {
    const Machine machine = read_machine(name);
    CHECK(parse_machine(print_architecture(machine), "m.yaml") == machine);
  }
}

TEST_CASE("a timing section is left to the simulator, other sections are refused") {
  const std::string toy = print_architecture(read_machine("toy"));
  CHECK(message_of(toy + "timing:\n  anything: 1\n") == "accepted");
  CHECK(message_of(toy + "timeing:\n  anything: 1\n").find("did you mean \"timing\"?") !=
        std::string::npos);
  CHECK(message_of("timing: {}\n").find("key \"architecture\" is missing") != std::string::npos);
}

TEST_CASE("figures that contradict each other are refused at their line") {
  const std::vector<std::array<std::string, 3>> cases = {
      {"partitions: 8 ", "partitions: 7 ", "m.yaml:5:22: \"partitions\" (7) is not a multiple"},
      {"array_rows: 8 ", "array_rows: 9 ", "\"array_rows\" (9) exceeds \"partitions\" (8)"},
      {"array_columns: 8 ", "array_columns: 9 ", "\"array_columns\" (9) exceeds"},
      {"row_tile_min: 4 ", "row_tile_min: 9 ", "\"row_tile_min\" (9) exceeds the array (8 x 8)"},
      {"psum_bank_bytes: 64 ", "psum_bank_bytes: 66 ", "(66) is not a multiple of 4"},
      {"moving_max: 16 ", "moving_max: 17 ", "exceed \"psum_bank_bytes\" (64)"},
      {"access_extent_max: 65535", "access_extent_max: 15",
       "is less than an operand of a multiply (16)"},
      {"partitions: 8 ", "partitions: 0 ", "outside 1 to 4096"},
      {"sbuf_bytes: 4096", "sbuf_bytes: -1", "outside 64 to"},
      {"dma_rings: 4", "dma_rings: 257", "outside 1 to 256"},
      {"generation: v2", "generation: v4", "\"v4\" is not a generation; did you mean \"v2\"?"},
  };
  for (const auto& [from, to, expected] : cases) {
    const std::string message = message_of(toy_with(from, to));
    CAPTURE(message);
    CHECK(message.find(expected) != std::string::npos);
  }
}

TEST_CASE("a user describes another array or SBUF size in a file") {
  std::string text = toy_with("sbuf_bytes: 4096", "sbuf_bytes: 8192");
  text.replace(text.find("array_rows: 8 "), 14, "array_rows: 4 ");
  const Machine machine = parse_machine(text, "m.yaml");
  CHECK(machine.sbuf_bytes == 8192);
  CHECK(machine.array_rows == 4);
}

TEST_CASE("machines are found by name, by file and in the folder of the environment") {
  const auto folder = std::filesystem::temp_directory_path() / "systole-isa-machines";
  std::filesystem::create_directories(folder);
  const std::string file = (folder / "mine.yaml").string();
  write_file(file, toy_with("sbuf_bytes: 4096", "sbuf_bytes: 8192"));
  CHECK(read_machine(file).sbuf_bytes == 8192);
  CHECK_THROWS_AS(static_cast<void>(read_machine("mine")), Error);
  REQUIRE(setenv("SYSTOLE_CONFIGS", folder.c_str(), 1) == 0);
  CHECK(find_machine_file("mine") == file);
  CHECK(read_machine("trn1").name == "trn1");
  const std::vector<std::string> names = machine_names();
  CHECK(std::count(names.begin(), names.end(), "mine") == 1);
  REQUIRE(unsetenv("SYSTOLE_CONFIGS") == 0);
  std::filesystem::remove_all(folder);
}

TEST_CASE("an unknown machine is named with the nearest known one") {
  CHECK_THROWS_WITH(static_cast<void>(read_machine("trn3")),
                    "machine: \"trn3\" is unknown; did you mean \"trn1\"?");
  CHECK_THROWS_WITH(static_cast<void>(read_machine("./absent.yaml")),
                    "./absent.yaml: no such machine file; give a file, or a name: known: toy, "
                    "trn1, trn2");
}

TEST_CASE("the fingerprint depends on every architectural field and not on the name") {
  const std::string toy = print_architecture(read_machine("toy"));
  const std::uint64_t original = fingerprint(read_machine("toy"));
  std::set<std::uint64_t> seen = {original};
  const std::vector<std::pair<std::string, std::string>> changes = {
      {"generation: v2", "generation: v3"},
      {"partitions: 8 ", "partitions: 10 "},
      {"quantum: 2", "quantum: 4"},
      {"sbuf_bytes: 4096", "sbuf_bytes: 4100"},
      {"psum_banks: 4", "psum_banks: 5"},
      {"bank_bytes: 64", "bank_bytes: 68"},
      {"hbm_bytes: 16777216", "hbm_bytes: 1"},
      {"rows: 8", "rows: 7"},
      {"columns: 8", "columns: 7"},
      {"moving_max: 16", "moving_max: 15"},
      {"tile_min: 4", "tile_min: 3"},
      {"engines: 2", "engines: 3"},
      {"rings: 4", "rings: 5"},
      {"dma_transpose: false", "dma_transpose: true"},
      {"double_row: false", "double_row: true"},
      {"transpose_mode: false", "transpose_mode: true"},
      {"copy: false", "copy: true"},
      {"extent_max: 65535", "extent_max: 65534"},
      {"stride_max: 32767", "stride_max: 32766"}};
  CHECK(changes.size() + 1 == describe_architecture().size());  // all but the name
  for (const auto& [from, to] : changes) {
    CAPTURE(to);
    CHECK(seen.insert(fingerprint(parse_machine(toy_with(from, to), "m.yaml"))).second);
  }
  CHECK(fingerprint(parse_machine(toy_with("\"toy\"", "\"other\""), "m.yaml")) == original);
}

TEST_CASE("start partitions follow the size of the operand") {
  const Machine trn1 = read_machine("trn1");
  const std::vector<std::pair<int, int>> expected = {{1, 32},  {32, 32},  {33, 64},
                                                     {64, 64}, {65, 128}, {128, 128}};
  for (const auto& [count, step] : expected) {
    CHECK(start_step(trn1, count) == step);
  }
  const Machine toy = read_machine("toy");
  CHECK(start_step(toy, 2) == 2);
  CHECK(start_step(toy, 3) == 4);
  CHECK(start_step(toy, 5) == 8);
}

}  // namespace
}  // namespace systole::isa
