// What lowering makes of tiny graphs on the toy machine, as text: golden/NAME.yaml is the graph, golden/NAME.txt its
// plan, tiles, allocation and schedule. A change that is meant to change them renews the texts:
//
//   SYSTOLE_RENEW=1 build/tests/compiler/lower/lower_models_test -tc='*tiny*'
//
// and the difference is read before it is committed.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

#include "compiler/lower/stages.hpp"
#include "isa/text.hpp"
#include "tests/compiler/lower/whole_model.hpp"

namespace systole::test {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> recipes() {
  std::vector<fs::path> out;
  for (const auto& entry :
       fs::directory_iterator(fs::path(SYSTOLE_SOURCE_DIR) / "tests/compiler/lower/golden")) {
    if (entry.path().extension() == ".yaml") {
      out.push_back(entry.path());
    }
  }
  std::ranges::sort(out);
  return out;
}

std::string stages_of(const fs::path& recipe) {
  const lower::Lowered lowered =
      lowered_model(recipe.string(), isa::read_machine("toy"), layout::Precision::fp32);
  const lower::TileProgram tiles =
      lower::tile(lowered.stripped, lowered.residency, lowered.planned_for);
  return lower::to_text(lowered.residency, lowered.stripped) + "\n" + lower::to_text(tiles) + "\n" +
         lower::to_text(lowered.allocation, tiles) + "\n" + isa::print(lowered.program);
}

std::string text_of(const fs::path& file) {
  std::ifstream in(file);
  std::stringstream out;
  out << in.rdbuf();
  return out.str();
}

// The first line that differs.
std::string difference(const std::string& is, const std::string& was) {
  std::istringstream a(is);
  std::istringstream b(was);
  std::string left;
  std::string right;
  for (int line = 1;; ++line) {
    const bool more_left = static_cast<bool>(std::getline(a, left));
    const bool more_right = static_cast<bool>(std::getline(b, right));
    if (left != right || more_left != more_right || !more_left) {
      return "line " + std::to_string(line) + "\n  was: " + right + "\n  is:  " + left;
    }
  }
}

}  // namespace

TEST_CASE("tiny graphs are lowered to the texts that were agreed on") {
  REQUIRE(recipes().size() >= 12);
  for (const fs::path& recipe : recipes()) {
    const std::string is = stages_of(recipe);
    const fs::path golden = fs::path(recipe).replace_extension(".txt");
    if (std::getenv("SYSTOLE_RENEW") != nullptr) {
      std::ofstream(golden) << is;
    }
    const std::string was = text_of(golden);
    const bool same = is == was;
    CHECK_MESSAGE(same, golden.filename().string()
                            << ", " << difference(is, was)
                            << "\nif meant: SYSTOLE_RENEW=1, see golden_test.cpp");
  }
}

}  // namespace systole::test
