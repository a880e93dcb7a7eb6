// The suite: sizes, treewidths and halves as the published evaluation needs them.
#include <doctest/doctest.h>

#include <cmath>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/models/suite.hpp"

using namespace systole;

TEST_CASE("names are unique, and no configuration is in both halves") {
  std::set<std::string> names;
  std::map<std::string, std::set<std::pair<std::string, std::map<std::string, std::int64_t>>>>
      halves;
  for (const auto& configuration : driver::read_suite("suite").configurations) {
    CAPTURE(configuration.name);
    CHECK(names.insert(configuration.name).second);
    CHECK((configuration.half == "calibration" || configuration.half == "judging"));
    CHECK(halves[configuration.half].emplace(configuration.model, configuration.dims).second);
  }
  CHECK(names.size() >= 220);
  for (const auto& one : halves["calibration"]) {
    CHECK_FALSE(halves["judging"].contains(one));
  }
  CHECK(driver::read_suite("paper").configurations.size() == 24);
}

TEST_CASE("the suite's treewidths are spread about as published, from 43 operators on") {
  const std::vector<double> published = {5.3, 54.2, 25.2, 7.6,
                                         4.6, 1.5,  0.8,  0.8};  // percent, widths 1 to 8
  std::vector<int> counts(published.size());
  int all = 0;
  for (const auto& configuration : driver::read_suite("suite").configurations) {
    CAPTURE(configuration.name);
    const auto shape = test::shape_of(configuration);
    CHECK(shape.operators >= 43);
    REQUIRE(shape.upper >= 1);
    REQUIRE(shape.upper <= 8);
    ++counts[static_cast<std::size_t>(shape.upper - 1)];
    ++all;
  }
  for (std::size_t i = 0; i < published.size(); ++i) {
    CAPTURE(i + 1);
    CHECK(counts[i] > 0);
    CHECK(std::abs(100.0 * counts[i] / all - published[i]) < 2.0);
  }
}
