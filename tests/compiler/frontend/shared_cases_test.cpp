#include <doctest/doctest.h>

#include <fstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "compiler/graph/evaluate.hpp"
#include "isa/base/error.hpp"
#include "tests/compiler/frontend/onnx_cases.hpp"

namespace {

using systole::test::CaseResult;
using systole::test::Verdict;

systole::test::OnnxCase stored_case(const nlohmann::json& record,
                                    const std::filesystem::path& folder) {
  systole::test::OnnxCase item;
  item.name = record.at("name").get<std::string>();
  item.model = folder / (item.name + ".onnx");
  for (const auto& input : record.at("inputs")) {
    item.inputs.push_back(folder / input.at("file").get<std::string>());
  }
  for (const auto& output : record.at("outputs")) {
    item.outputs.push_back(folder / output.at("file").get<std::string>());
  }
  item.rtol = record.value("rtol", 0.0);
  item.atol = record.value("atol", 0.0);
  return item;
}

}  // namespace

TEST_CASE("the small published cases give their stored outputs or are refused as they should") {
  const std::filesystem::path shared = systole::test::shared_folder();
  std::ifstream in(shared / "cases" / "cases.json");
  if (shared.empty() || !in) {
    MESSAGE("SKIPPED: no folder 'shared' with cases (set SYSTOLE_SHARED)");
    return;
  }
  const auto records = nlohmann::json::parse(in);
  CHECK(records.size() >= 33);
  for (const auto& record : records) {
    const auto item = stored_case(record, shared / "cases");
    CAPTURE(item.name);
    const std::string kind = record.at("kind").get<std::string>();
    if (kind == "compile_only") {
      CHECK(systole::frontend::read_onnx(item.model).nodes.size() > 0);
      continue;
    }
    const CaseResult result =
        systole::test::run_case(item, {}, [](const auto& graph, const auto& inputs) {
          return systole::graph::evaluate(graph, inputs);
        });
    CAPTURE(result.reason);
    CHECK((result.verdict == (kind == "clean_error" ? Verdict::refused : Verdict::passed)));
  }
}

TEST_CASE("a missing extent is named together with the option that gives it") {
  const std::filesystem::path shared = systole::test::shared_folder();
  if (shared.empty()) {
    MESSAGE("SKIPPED: no folder 'shared' with cases (set SYSTOLE_SHARED)");
    return;
  }
  CHECK_THROWS_WITH_AS(
      static_cast<void>(systole::frontend::read_onnx(shared / "cases/r62_dynamic_batch.onnx")),
      doctest::Contains("extents without a value: N; give each as --dim NAME=VALUE"),
      systole::Error);
  systole::frontend::Options options;
  options.dims["N"] = 2;
  const auto graph = systole::frontend::read_onnx(shared / "cases/r62_dynamic_batch.onnx", options);
  CHECK(graph.tensors[graph.inputs.at(0)].shape == systole::graph::Shape{2, 3, 8, 8});
}
