// The recipes of the published table at full depth: parameters as published, and numbers of operators.
#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include "compiler/frontend/model.hpp"
#include "compiler/graph/facts.hpp"

using namespace systole;

namespace {

struct Published {
  std::string model;
  double millions = 0;  // of parameters, as the model's authors state
  double within = 1;    // percent, by the digits stated
};

// Sources: the models' cards and papers. MusicGen and the Vision Perceiver are judged by their exported graphs alone; the CNN has
// no public original.
const std::vector<Published> sizes = {
    {"albert_large", 17.7},      {"bert_base", 109.5},     {"bert_large", 335.1},
    {"bart_base", 139.4},        {"distilbart", 305.5},    {"electra_large", 335},
    {"ministral_4b", 4420},      {"olmo_7b", 6888},        {"vaultgemma_1b", 1040},
    {"whisper_encoder", 637},    {"whisper_decoder", 907}, {"xlm_roberta", 278},
    {"flexolmo_7x7b", 33300},    {"granite_3_1_3b", 3300}, {"kosmos_2_5", 1374},
    {"language_perceiver", 201}, {"olmoe_1b_7b", 6920},    {"paligemma_3b", 2923},
    {"qwen2_audio", 8397},       {"qwen3_vl", 4440},       {"resnet50", 25.557, 0.01}};

}  // namespace

TEST_CASE("the models of the table have the published numbers of parameters") {
  for (const Published& size : sizes) {
    CAPTURE(size.model);
    const auto graph = frontend::read_model(size.model);
    const double millions = static_cast<double>(graph::parameters(graph)) / 1e6;
    CHECK(std::abs(millions / size.millions - 1) * 100 < size.within);
  }
}

TEST_CASE(
    "the smallest and the largest model of the table have as many operators as its text says, "
    "about") {
  CHECK(frontend::read_model("cnn").nodes.size() == 43);
  // The published largest graph has 10,056 operators, by another count of the same pieces.
  const auto largest = frontend::read_model("olmoe_1b_7b").nodes.size();
  CHECK(largest > 9'500);
  CHECK(largest < 11'000);
}
