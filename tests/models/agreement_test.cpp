// Recipes against graphs exported from public model code: the same parameters and FLOPs within 1 %, the same kinds of operators.
// Prints the table. The graphs lie in the shared data; without them the test says SKIPPED.
#include <doctest/doctest.h>

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "compiler/frontend/model.hpp"
#include "compiler/graph/facts.hpp"
#include "compiler/passes/passes.hpp"

using namespace systole;
namespace fs = std::filesystem;

namespace {

struct Pair {
  std::string exported;
  std::string recipe;
  std::map<std::string, std::int64_t> dims;  // the exported graph's configuration
  std::set<std::string> only_recipe = {};    // kinds that the exporter folds away
};

// Exporters store a tied matrix twice (tied 0) and the shared layers of the Vision Perceiver once per pass (shared 0). The
// exported OLMoE and Language Perceiver have the sizes of their classes' defaults, not those of the published weights.
const std::vector<Pair> pairs = {
    {"bert-base_s128_mlm", "bert_base", {{"tokens", 128}, {"head", 2}, {"tied", 0}}},
    {"electra-small_s128",
     "electra_large",
     {{"tokens", 128},
      {"layers", 12},
      {"hidden", 256},
      {"heads", 4},
      {"embedding", 128},
      {"inner", 1024}}},
    {"xlm-roberta-base_s128", "xlm_roberta", {{"tokens", 128}}},
    {"distilbart-12-6_s128_t8", "distilbart", {{"tokens", 128}, {"steps", 8}, {"tied", 0}}},
    {"whisper-large-v3-enc_s1500", "whisper_encoder", {}},
    {"whisper-tiny-enc_s1500",
     "whisper_encoder",
     {{"layers", 4}, {"hidden", 384}, {"heads", 6}, {"mels", 80}}},
    {"whisper-large-v3-dec_t4", "whisper_decoder", {{"tokens", 4}, {"tied", 0}}},
    {"language-perceiver_s2048",
     "language_perceiver",
     {{"query_dim", 160}, {"cross_query", 96}, {"cross_value", 96}}},
    {"vision-perceiver-learned_224", "vision_perceiver", {{"shared", 0}}},
    {"vision-perceiver-conv_224_2b",
     "vision_perceiver",
     {{"shared", 0},
      {"source", 3},
      {"pixel", 64},
      {"place", 258},
      {"cross_query", 322},
      {"cross_value", 322},
      {"repeats", 2}}},
    {"musicgen-small_t64", "musicgen", {{"tokens", 64}}},
    {"kosmos-2.5_p512_s544", "kosmos_2_5", {{"patches", 512}, {"latents", 512}, {"tied", 0}}},
    {"olmoe-1b-7b-2l_s64", "olmoe_1b_7b", {{"tokens", 64}, {"layers", 2}, {"inner", 2048}}},
    {"olmoe-1b-7b_s32", "olmoe_1b_7b", {{"tokens", 32}, {"inner", 2048}}},
    // A step of one token: the recipe has no cache of 128 earlier ones, whose share is 0.7 % of the work.
    {"olmo-1b-step_p128",
     "olmo_7b",
     {{"tokens", 1},
      {"layers", 16},
      {"hidden", 2048},
      {"heads", 16},
      {"groups", 16},
      {"inner", 8192}}},
    {"paligemma-3b_224_s16", "paligemma_3b", {{"words", 16}, {"tied", 0}}},
    {"qwen2-audio-7b_s766", "qwen2_audio", {}},
    {"qwen3-vl-2b_256px_s80",
     "qwen3_vl",
     {{"patches", 256},
      {"layers", 28},
      {"hidden", 2048},
      {"heads", 16},
      {"inner", 6144},
      {"tied", 0}}},
    {"resnet50_224", "resnet50", {}, {"multiply"}},  // batch normalisation
    {"vit-b16_224_op17",
     "vit",
     {{"extent", 224},
      {"patch", 16},
      {"layers", 12},
      {"hidden", 768},
      {"heads", 12},
      {"classes", 1000}}}};

fs::path graphs_folder() {
  const char* given = std::getenv("SYSTOLE_SHARED");
  return (given != nullptr ? fs::path(given) : fs::path(SYSTOLE_SOURCE_DIR) / ".." / "shared") /
         "graphs";
}

struct Facts {
  std::size_t operators = 0;
  std::int64_t parameters = 0;
  std::int64_t flops = 0;
  std::map<std::string, int> kinds;
};

Facts facts_of(const std::string& model, const std::map<std::string, std::int64_t>& dims) {
  frontend::Options options;
  options.dims = dims;
  const graph::Graph graph = passes::canonicalize(frontend::read_model(model, options));
  Facts facts;
  facts.operators = graph.nodes.size();
  facts.parameters = graph::parameters(graph);
  for (const graph::Node& node : graph.nodes) {
    facts.flops += graph::flops(graph, node);
    const std::string kind(graph::name_of(node.op));
    ++facts.kinds[kind == "sqrt" ? "rsqrt"
                                 : kind];  // division by a root or multiplication by its reciprocal
  }
  return facts;
}

double percent(std::int64_t recipe, std::int64_t exported) {
  return 100.0 * (static_cast<double>(recipe) / static_cast<double>(exported) - 1.0);
}

// Kinds that stand in `in` at least four times and in `of` not at all. Masks are made in other ways, with less than four
// operators of a kind.
std::string missing(const Facts& in, const Facts& of, const std::set<std::string>& allowed) {
  std::string out;
  for (const auto& [kind, count] : in.kinds) {
    if (count >= 4 && !of.kinds.contains(kind) && !allowed.contains(kind)) {
      out += kind + " ";
    }
  }
  return out;
}

}  // namespace

TEST_CASE("recipes have the parameters, the work and the kinds of operators of exported graphs") {
  const fs::path folder = graphs_folder();
  if (!fs::is_directory(folder)) {
    std::fputs(("SKIPPED: no exported graphs in " + folder.string() + "\n").c_str(), stderr);
    return;
  }
  fmt::print("{:30} {:>15} {:>17} {:>19} {:>8} {:>8}\n", "exported graph", "operators",
             "parameters (M)", "FLOPs (G)", "par. %", "FLOPs %");
  for (const Pair& pair : pairs) {
    CAPTURE(pair.exported);
    const Facts a = facts_of((folder / (pair.exported + ".onnx")).string(), {});
    const Facts b = facts_of(pair.recipe, pair.dims);
    const double parameters = percent(b.parameters, a.parameters);
    const double flops = percent(b.flops, a.flops);
    fmt::print("{:30} {:7}{:8} {:8.1f}{:9.1f} {:9.1f}{:10.1f} {:8.2f} {:8.2f}\n", pair.exported,
               a.operators, b.operators, static_cast<double>(a.parameters) / 1e6,
               static_cast<double>(b.parameters) / 1e6, static_cast<double>(a.flops) / 1e9,
               static_cast<double>(b.flops) / 1e9, parameters, flops);
    CHECK(std::abs(parameters) < 1.0);
    CHECK(std::abs(flops) < 1.0);
    CHECK(missing(a, b, {}) == "");
    CHECK(missing(b, a, pair.only_recipe) == "");
  }
}
