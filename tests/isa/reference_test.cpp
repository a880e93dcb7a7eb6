// The tables and examples of isa/README.md say what the code says. To renew the tables after a change, run the test with
// SYSTOLE_UPDATE_README=1 in the environment and read the difference.
#include "isa/reference.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <string>

#include "isa/base/file.hpp"
#include "isa/binary.hpp"
#include "isa/text.hpp"
#include "isa/verify.hpp"

namespace systole::isa {
namespace {

const std::string readme_path = std::string(SYSTOLE_SOURCE_DIR) + "/isa/README.md";

struct Span {
  std::size_t begin = 0;
  std::size_t end = 0;
};

Span between(const std::string& text, const std::string& first, const std::string& last) {
  const std::size_t begin = text.find(first);
  REQUIRE(begin != std::string::npos);
  const std::size_t end = text.find(last, begin + first.size());
  REQUIRE(end != std::string::npos);
  return {begin + first.size(), end};
}

void check_section(const std::string& name, const std::string& generated) {
  std::string readme = read_file(readme_path);
  const Span span = between(readme, "<!-- " + name + " -->\n", "<!-- end -->");
  if (std::getenv("SYSTOLE_UPDATE_README") != nullptr) {
    write_file(readme_path, readme.replace(span.begin, span.end - span.begin, generated));
    return;
  }
  CHECK(readme.substr(span.begin, span.end - span.begin) == generated);
}

TEST_CASE("the instruction table of the README is the generated one") {
  check_section("instructions", instruction_reference());
}

TEST_CASE("the table of machine keys of the README is the generated one") {
  check_section("architecture", architecture_reference());
}

TEST_CASE("the program of the README is valid and printed as it stands there") {
  const std::string readme = read_file(readme_path);
  const Span span = between(readme, "```asm\n", "```");
  const std::string example = readme.substr(span.begin, span.end - span.begin);
  const Program program = parse(example, "README.md");
  CHECK(print(program) == example);
  std::string found;
  for (const Diagnostic& diagnostic : verify(program, read_machine("trn1"))) {
    found += describe(diagnostic, program);
  }
  CHECK(found.empty());
  CHECK_NOTHROW(expect_machine(program, read_machine("trn1")));
}

}  // namespace
}  // namespace systole::isa
