// Public bug reports about layout passes, turned into inputs (shared/cases): what the optimum has
// to look like.
#include <doctest/doctest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>

#include "compiler/frontend/onnx.hpp"
#include "compiler/layout/apply.hpp"
#include "compiler/layout/storage.hpp"
#include "compiler/passes/passes.hpp"
#include "compiler/solver/strategy.hpp"

using namespace systole;
using namespace systole::layout;
using graph::ElementType;
using graph::Graph;
using graph::TensorId;

namespace {

std::optional<std::filesystem::path> case_file(const std::string& name) {
  namespace fs = std::filesystem;
  const char* set = std::getenv("SYSTOLE_SHARED");
  const fs::path shared =
      set != nullptr ? fs::path(set) : fs::path(SYSTOLE_SOURCE_DIR) / ".." / "shared";
  const fs::path file = shared / "cases" / (name + ".onnx");
  if (!fs::exists(file)) {
    std::printf("SKIPPED: %s is not there; set SYSTOLE_SHARED\n", file.string().c_str());
    return std::nullopt;
  }
  return file;
}

struct Solved {
  std::int64_t cost = 0;
  std::vector<ConversionRow> rows;
};

Solved solve(const Graph& graph, const char* strategy) {
  const isa::Machine machine = isa::read_machine("trn1");
  const Statement s = state_problem(graph, storage_types(graph, Precision::bf16), machine,
                                    read_cost_model("trn1.analytic"));
  const solver::Strategy* found = solver::find_strategy(strategy);
  REQUIRE(found != nullptr);
  const solver::Result result = solver::solve(*found, s.problem);
  if (found->exact) {
    REQUIRE(result.status == solver::Status::proven);
  }
  const LaidGraph laid = apply(graph, s, result.assignment);
  REQUIRE(predicted_total(laid) == result.cost);
  return {result.cost, conversions(laid)};
}

Graph read(const std::filesystem::path& file) {
  return passes::canonicalize(frontend::read_onnx(file));
}

}  // namespace

TEST_CASE("a transpose before a concatenation is not multiplied over its other operands (r18)") {
  const auto file = case_file("r18_concat_multiply");
  if (!file) {
    return;
  }
  const Graph g = read(*file);
  const Solved best = solve(g, "exact");
  // The transposed operand is turned, and the product needs its sum across the partitions: two,
  // with row-major inputs; never one per operand of the concatenation.
  CHECK(best.rows.size() <= 2);
  CHECK(best.cost <= solve(g, "local").cost);
}

TEST_CASE("squeeze-and-excite blocks convert nothing inside (r19)") {
  const auto file = case_file("r19_se_blocks");
  if (!file) {
    return;
  }
  CHECK(solve(read(*file), "exact").rows.empty());
}

TEST_CASE(
    "transposing the input of attention by hand changes the estimate by one conversion at most "
    "(r20)") {
  const auto file = case_file("r20_attention_two_ways");
  const auto other = case_file("r20b_attention_pretransposed");
  if (!file || !other) {
    return;
  }
  const Graph g = read(*file);
  const Solved standard = solve(g, "exact");
  const Solved pretransposed = solve(read(*other), "exact");
  const TensorId x = g.inputs[0];
  const auto storage = storage_types(g, Precision::bf16);
  const Conversion one = price_conversion(
      g.tensors[x].shape, storage[x], *parse_layout("(0|1)"), *parse_layout("(1|0)"),
      Boundary::source, read_cost_model("trn1.analytic"), isa::read_machine("trn1"));
  CHECK(std::abs(standard.cost - pretransposed.cost) <= one.price.total);
}

TEST_CASE(
    "six equal transpose and product pairs on one input cost the same to every exact strategy "
    "(r63)") {
  Graph g;
  const TensorId x = graph::add_input(g, "x", ElementType::f32, {64, 64});
  for (int i = 0; i < 6; ++i) {
    const TensorId w = graph::add_weight(g, "w", ElementType::f32, {64, 64});
    const TensorId t = graph::add_node(g, "t", graph::Transpose{{1, 0}}, {x});
    const TensorId y = graph::add_node(g, "mm", graph::Contraction{{0, 1}, {1, 2}, {0, 2}}, {t, w});
    g.outputs.push_back(y);
    g.output_names.emplace_back(1, static_cast<char>('a' + i));
  }
  const Solved best = solve(g, "exact");
  CHECK(best.rows.empty());  // the transpose relabels x, whose rows are the sum already
  for (const solver::Strategy& strategy : solver::strategies()) {
    if (strategy.exact && strategy.name != "brute_force") {
      CHECK_MESSAGE(solve(g, std::string(strategy.name).c_str()).cost == best.cost, strategy.name);
    }
  }
}

TEST_CASE("squeeze-and-excite blocks built by hand convert nothing, however many they are") {
  Graph g;
  TensorId x = graph::add_input(g, "x", ElementType::f32, {1, 8, 12, 12});
  const TensorId w = graph::add_weight(g, "w", ElementType::f32, {8, 8, 3, 3});
  const TensorId v = graph::add_weight(g, "v", ElementType::f32, {8, 8, 1, 1});
  for (int i = 0; i < 5; ++i) {
    const TensorId c =
        graph::add_node(g, "conv", graph::Convolution{{1, 1}, {1, 1}, {1, 1}, {1, 1}, 1}, {x, w});
    const TensorId m =
        graph::add_node(g, "mean", graph::Reduce{graph::ReduceFunction::mean, {2, 3}, true}, {c});
    const TensorId e =
        graph::add_node(g, "excite", graph::Convolution{{1, 1}, {0, 0}, {0, 0}, {1, 1}, 1}, {m, v});
    const TensorId s =
        graph::add_node(g, "gate", graph::Map{.function = graph::MapFunction::sigmoid}, {e});
    x = graph::add_node(g, "scale", graph::Map{.function = graph::MapFunction::multiply}, {c, s});
  }
  g.outputs = {x};
  g.output_names = {"y"};
  CHECK(solve(g, "exact").rows.empty());
}
