#include "isa/base/yaml.hpp"

#include <doctest/doctest.h>

#include <array>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "isa/base/error.hpp"
#include "isa/base/nearest.hpp"
#include "isa/base/random.hpp"

namespace systole {
namespace {

enum class Colour : std::uint8_t { red, green };
constexpr auto yaml_names(Colour) {
  return std::array{std::pair{std::string_view("red"), Colour::red},
                    std::pair{std::string_view("green"), Colour::green}};
}

struct Sample {
  bool flag = true;
  int whole = 7;
  std::int64_t large = 0;
  double real = 0.5;
  std::string text = "none";
  Colour colour = Colour::red;
  Cycles cycles{64};
  std::vector<double> list;
  std::vector<Colour> colours;
  bool operator==(const Sample&) const = default;
};

constexpr double any = yaml::unbounded;

auto fields() {
  using yaml::Field;
  return std::tuple{
      Field{"flag", &Sample::flag, "", -any, any, yaml::optional, "a switch"},
      Field{"whole", &Sample::whole, "bytes", 1, 100, yaml::required, "a count"},
      Field{"large", &Sample::large, "", -any, any, yaml::optional, "any number"},
      Field{"real", &Sample::real, "ns", 0, any, yaml::optional, "a time"},
      Field{"text", &Sample::text, "", -any, any, yaml::optional, "a text"},
      Field{"colour", &Sample::colour, "", -any, any, yaml::optional, "a colour"},
      Field{"cycles", &Sample::cycles, "cycles", 0, 1000, yaml::optional, "a duration"},
      Field{"list", &Sample::list, "", 0, 10, yaml::optional, "numbers"},
      Field{"colours", &Sample::colours, "", -any, any, yaml::optional, "colours"}};
}

Sample read(const std::string& text) {
  return yaml::read<Sample>(yaml::parse_text(text, "f.yaml"), fields());
}

std::string message_of(const std::string& text) {
  try {
    static_cast<void>(read(text));
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

TEST_CASE("a mapping fills a struct, absent optional keys leave the default") {
  const Sample s = read("whole: 5  # five\ncolour: green\nlist: [1, 2.5]\ncolours:\n  - red\n");
  Sample expected;
  expected.whole = 5;
  expected.colour = Colour::green;
  expected.list = {1.0, 2.5};
  expected.colours = {Colour::red};
  CHECK(s == expected);
}

TEST_CASE("a printed struct is read back equal") {
  Random random(1);
  for (int i = 0; i < 500; ++i) {
    Sample s;
    s.flag = random.integer(0, 1) == 1;
    s.whole = static_cast<int>(random.integer(1, 100));
    s.large = static_cast<std::int64_t>(random.next());
    s.real = random.uniform() * 1e-5;
    s.text = std::string(static_cast<std::size_t>(random.integer(0, 6)), ' ');
    for (char& c : s.text) {
      c = static_cast<char>(random.integer(1, 126));
    }
    s.colour = static_cast<Colour>(random.integer(0, 1));
    s.cycles = Cycles(random.integer(0, 1000));
    s.list.resize(static_cast<std::size_t>(random.integer(0, 3)), random.uniform());
    s.colours.resize(static_cast<std::size_t>(random.integer(0, 3)), Colour::green);
    const std::string text = yaml::print(s, fields());
    CAPTURE(text);
    REQUIRE(read(text) == s);
  }
  Sample extreme;
  extreme.large = std::numeric_limits<std::int64_t>::min();
  extreme.real = std::numeric_limits<double>::denorm_min();
  CHECK(read(yaml::print(extreme, fields(), 0)) == extreme);
}

TEST_CASE("each mistake is one line with its place and a remedy") {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"whole: 5\nwhloe: 6\n", "f.yaml:2:1: unknown key \"whloe\"; did you mean \"whole\"?"},
      {"whole: 5\nzzzzzzzz: 6\n", "f.yaml:2:1: unknown key \"zzzzzzzz\"; known: flag, whole,"},
      {"whole: 5\nflag: true\nwhole: 6\n", "f.yaml:3:1: key \"whole\" appears twice"},
      {"flag: true\n", "f.yaml:1:1: key \"whole\" is missing; add it, in bytes"},
      {"whole: five\n", "f.yaml:1:8: \"whole\" is \"five\", not a whole number"},
      {"whole: \"5\"\n", "not a whole number"},
      {"whole: 5.0\n", "not a whole number"},
      {"whole: 5 6\n", "not a whole number"},
      {"whole: 99999999999999999999\n", "not a whole number"},
      {"whole:\n", "\"whole\" is nothing"},
      {"whole: [5]\n", "\"whole\" is a sequence"},
      {"whole: {a: 5}\n", "\"whole\" is a mapping"},
      {"whole: 0\n", "f.yaml:1:8: \"whole\" is 0, outside 1 to 100"},
      {"whole: 101\n", "outside 1 to 100"},
      {"whole: 5\nreal: -1\n", "\"real\" is -1, outside at least 0"},
      {"whole: 5\nreal: nan\n", "not a number"},
      {"whole: 5\nreal: inf\n", "not a number"},
      {"whole: 5\nreal: 1e999\n", "not a number"},
      {"whole: 5\nflag: yes\n", "not true or false"},
      {"whole: 5\nflag: \"true\"\n", "not true or false"},
      {"whole: 5\ncolour: grene\n", "\"grene\" is not a colour; did you mean \"green\"?"},
      {"whole: 5\ncolour: [red]\n", "\"colour\" is a sequence"},
      {"whole: 5\ntext: {}\n", "not a text"},
      {"whole: 5\nlist: 5\n", "\"list\" is \"5\", not a sequence"},
      {"whole: 5\nlist: [1, 11]\n", "f.yaml:2:11: \"list\" is 11, outside 0 to 10"},
      {"whole: 5\ncycles: 1001\n", "outside 0 to 1000"},
      {"whole: &a 5\n", "anchors and aliases are not supported"},
      {"whole: 5\nlarge: *a\n", "f.yaml:2"},
      {"? [a]\n: 5\n", "a key must be a plain word"},
      {"whole: 5\n---\nwhole: 6\n", "f.yaml:3:1: a second document begins"},
      {"", "f.yaml: the file is empty"},
      {"- 5\n", "f.yaml:1:1: a mapping of keys to values is expected here"},
      {"whole: [5\n", "correct the YAML"},
      {"whole: 5\n\tflag: true\n", "correct the YAML"},
  };
  for (const auto& [text, expected] : cases) {
    const std::string message = message_of(text);
    CAPTURE(text);
    CAPTURE(message);
    CHECK(message.find(expected) != std::string::npos);
    CHECK(message.find('\n') == std::string::npos);
  }
}

TEST_CASE("a known section of another reader is skipped, its keys are not") {
  const yaml::Node node = yaml::parse_text("whole: 5\ntiming: {x: 1}\n", "f.yaml");
  CHECK(yaml::read<Sample>(node, fields(), {"timing"}).whole == 5);
  CHECK_THROWS_AS(static_cast<void>(yaml::read<Sample>(node, fields())), Error);
}

TEST_CASE("the description lists unit, range and default of every field") {
  const auto rows = yaml::describe<Sample>(fields());
  REQUIRE(rows.size() == 9);
  CHECK(rows[1].name == "whole");
  CHECK(rows[1].unit == "bytes");
  CHECK(rows[1].range == "1 to 100");
  CHECK(rows[1].standard == "required");
  CHECK(rows[3].range == "at least 0");
  CHECK(rows[6].standard == "64");
}

TEST_CASE("damaged YAML never gets past the reader as anything but an error") {
  const std::string text = yaml::print(Sample{}, fields());
  Random random(2);
  int accepted = 0;
  for (int i = 0; i < 5000; ++i) {
    std::string damaged = text;
    for (std::int64_t k = random.integer(1, 3); k > 0; --k) {
      const auto at = static_cast<std::size_t>(
          random.integer(0, static_cast<std::int64_t>(damaged.size()) - 1));
      damaged[at] = static_cast<char>(random.integer(0, 255));
    }
    accepted += message_of(damaged) == "accepted" ? 1 : 0;
  }
  CHECK(accepted > 0);
  CHECK(accepted < 5000);
}

TEST_CASE("a file that cannot be read is named") {
  CHECK_THROWS_WITH(static_cast<void>(yaml::parse_file("/nonexistent/f.yaml")),
                    "/nonexistent/f.yaml: cannot be read; check the path and the permissions");
  CHECK_THROWS_AS(static_cast<void>(yaml::parse_file("/")), Error);
}

TEST_CASE("the nearest name is the one with the fewest edits") {
  CHECK(edit_distance("", "abc") == 3);
  CHECK(edit_distance("kitten", "sitting") == 3);
  CHECK(edit_distance("ab", "ba") == 1);
  CHECK(edit_distance("same", "same") == 0);
  CHECK(did_you_mean("sbuf_byte", {"hbm_bytes", "sbuf_bytes"}) == "did you mean \"sbuf_bytes\"?");
  CHECK(did_you_mean("ab", {"xyz", "uvw"}) == "known: xyz, uvw");
  CHECK(did_you_mean("trn3", {"toy", "trn1", "trn2"}) == "did you mean \"trn1\"?");
  CHECK(did_you_mean("whatever", {}) == "known: nothing");
}

}  // namespace
}  // namespace systole
