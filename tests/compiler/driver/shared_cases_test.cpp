// The small published cases with stored outputs, run as a user would: `systole run` in both data types.
#include <doctest/doctest.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "compiler/graph/graph.hpp"
#include "tests/compiler/driver/program.hpp"
#include "tests/compiler/frontend/onnx_cases.hpp"

using systole::tests::Folder;
using systole::tests::Run;
using systole::tests::run_systole;
using systole::tests::shared_file;

namespace {

struct Case {
  nlohmann::json record;
  std::string folder;

  [[nodiscard]] std::string name() const { return record.at("name").get<std::string>(); }
  [[nodiscard]] std::string kind() const { return record.at("kind").get<std::string>(); }

  // The arguments of `systole run` up to what is done with the outputs.
  [[nodiscard]] std::string arguments(const std::string& dtype) const {
    std::string out = fmt::format("run {}/{}.onnx --dtype {}", folder, name(), dtype);
    for (const auto& input : record.at("inputs")) {
      out += fmt::format(" --input {}={}/{}", input.at("name").get<std::string>(), folder, input.at("file").get<std::string>());
    }
    const auto dims = record.value("dims", nlohmann::json::object());
    for (const auto& [dim, value] : dims.items()) {
      out += fmt::format(" --dim {}={}", dim, value.get<std::int64_t>());
    }
    return out;
  }

  // null or nothing: exact
  [[nodiscard]] double number(const char* key) const {
    return record.contains(key) && record.at(key).is_number() ? record.at(key).get<double>() : 0.0;
  }

  [[nodiscard]] std::string expectations() const {
    std::string out = fmt::format(" --rtol {} --atol {}", number("rtol"), number("atol"));
    for (const auto& output : record.at("outputs")) {
      out += fmt::format(" --expect {}={}/{}", output.at("name").get<std::string>(), folder, output.at("file").get<std::string>());
    }
    return out;
  }
};

std::vector<Case> cases() {
  std::vector<Case> out;
  const std::string list = shared_file("cases/cases.json");
  if (!list.empty()) {
    std::ifstream file(list);
    for (const auto& record : nlohmann::json::parse(file)) {
      out.push_back({record, std::filesystem::path(list).parent_path().string()});
    }
    CHECK(out.size() >= 33);
  }
  return out;
}

// One line on the error stream that names a place, exit code 2, nothing on the other stream.
void expect_refusal(const Run& run) {
  CHECK(run.code == 2);
  CHECK(run.out.empty());
  CHECK(std::count(run.err.begin(), run.err.end(), '\n') == 1);
  CHECK(run.err.rfind("systole: ", 0) == 0);
}

double largest(const systole::graph::Array& array) {
  double out = 0;
  for (std::int64_t i = 0; i < systole::graph::elements(array.shape); ++i) {
    const double value = std::abs(systole::graph::get(array, i));
    out = std::isfinite(value) ? std::max(out, value) : out;
  }
  return out;
}

}  // namespace

TEST_CASE("the published cases give their stored outputs in fp32 or are refused as they should") {
  for (const Case& item : cases()) {
    CAPTURE(item.name());
    if (item.kind() == "compile_only") {
      CHECK(run_systole(item.arguments("fp32") + " --timing-only").code == 0);
      continue;
    }
    const Run run = run_systole(item.arguments("fp32") + item.expectations());
    CAPTURE(run.out);
    CAPTURE(run.err);
    if (item.kind() == "clean_error" || (item.kind() == "run_or_clean_error" && run.code == 2)) {
      expect_refusal(run);
    } else {
      CHECK(run.code == 0);
    }
    if (item.name() == "r34b_bad_perm") {
      CHECK(run.err.find("perm") != std::string::npos);
      CHECK(run.err.find("rank 4") != std::string::npos);
    }
  }
}

TEST_CASE("the published cases stay within bf16's rounding, exact where nothing is rounded") {
  for (const Case& item : cases()) {
    CAPTURE(item.name());
    const Folder folder;
    if (item.kind() == "clean_error") {
      expect_refusal(run_systole(item.arguments("bf16") + " --output " + folder.file("out")));
      CHECK(folder.files() == 0);
      continue;
    }
    if (item.kind() == "compile_only") {
      CHECK(run_systole(item.arguments("bf16") + " --timing-only").code == 0);
      continue;
    }
    const Run run = run_systole(item.arguments("bf16") + " --output " + folder.file("out"));
    CAPTURE(run.err);
    if (item.kind() == "run_or_clean_error" && run.code == 2) {
      expect_refusal(run);
      continue;
    }
    CHECK(run.code == 0);
    for (const auto& output : item.record.at("outputs")) {
      const std::string name = output.at("name").get<std::string>();
      CAPTURE(name);
      const auto want = systole::test::read_stored(item.folder + "/" + output.at("file").get<std::string>()).at(0);
      const auto got = systole::test::read_stored(folder.file("out/" + name + ".npy")).at(0);
      CHECK(systole::test::difference(got, want, 2e-2, 2e-2 * largest(want)).empty());
    }
  }
}
