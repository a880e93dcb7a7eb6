// Every model of the table and every further family in a small form: compiled, simulated, and compared with the reference.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "tests/compiler/driver/program.hpp"

using systole::tests::run_systole;

namespace {

struct Small {
  std::string model, dims;
};

const std::string words = "vocabulary=100 ";

const std::vector<Small> encoders = {
    {"albert_large", words + "layers=2 hidden=64 heads=2 embedding=32 tokens=16"},
    {"bert_base", words + "layers=2 hidden=64 heads=2 tokens=16"},
    {"bert_large", words + "layers=2 hidden=96 heads=3 tokens=16 head=2"},
    {"electra_large", words + "layers=2 hidden=64 heads=2 tokens=16"},
    {"xlm_roberta", words + "layers=2 hidden=64 heads=2 tokens=16"},
    {"whisper_encoder", "layers=2 hidden=64 heads=2 mels=16 tokens=24"},
    {"language_perceiver",
     "tokens=24 hidden=48 latents=16 width=64 layers=2 heads=4 query_dim=8 cross_heads=4 "
     "cross_query=8 cross_value=16 "
     "queries=24 query_width=48 read_query=8 read_value=12"},
    {"vision_perceiver",
     "extent=8 pixel=24 place=8 latents=12 width=64 layers=2 repeats=2 heads=4 cross_query=32 "
     "cross_value=32 "
     "read_query=64 read_value=64 classes=10"},
    {"vit", "layers=2"}};

const std::vector<Small> decoders = {
    {"bart_base", words + "encoder_layers=1 decoder_layers=2 hidden=64 heads=2 tokens=12 steps=8"},
    {"distilbart", words + "encoder_layers=2 decoder_layers=1 hidden=64 heads=4 tokens=12 steps=8"},
    {"whisper_decoder", words + "layers=2 hidden=64 heads=2 tokens=8 keys=24"},
    {"musicgen",
     "layers=2 text_layers=1 tokens=8 words=8 hidden=64 heads=2 text_hidden=48 text_heads=2 "
     "text_inner=64 "
     "text_vocabulary=100 codes=32"},
    {"ministral_4b", words + "layers=2 hidden=64 heads=4 groups=2 inner=96 tokens=16"},
    {"olmo_7b", words + "layers=2 hidden=64 heads=4 groups=4 inner=96 tokens=16"},
    {"vaultgemma_1b", words + "layers=2 hidden=48 heads=2 groups=2 head_dim=32 inner=96 tokens=16"},
    {"flexolmo_7x7b", words + "layers=1 hidden=64 heads=2 groups=2 inner=48 tokens=16"},
    {"granite_3_1_3b",
     words + "layers=1 hidden=64 heads=4 groups=2 inner=32 tokens=16 experts=6 chosen=2"},
    {"olmoe_1b_7b",
     words + "layers=1 hidden=64 heads=2 groups=2 inner=32 tokens=16 experts=6 chosen=2"}};

const std::vector<Small> others = {
    {"cnn", "width=8 extent=16 dense=16"},
    {"resnet50", "extent=32 width=8 classes=10"},
    {"kosmos_2_5", words + "patches=16 places=16 patch=24 vision_layers=1 vision_hidden=48 "
                           "vision_heads=2 vision_inner=64 latents=8 words=6 "
                           "layers=2 hidden=64 heads=2"},
    {"paligemma_3b", words + "extent=28 vision_layers=1 vision_hidden=48 vision_heads=2 "
                             "vision_inner=64 words=8 layers=2 hidden=64 heads=4 "
                             "inner=96"},
    {"qwen2_audio", words + "frames=16 mels=16 audio_layers=1 audio_hidden=64 audio_heads=2 "
                            "words=8 layers=2 hidden=64 heads=4 groups=4 "
                            "inner=96"},
    {"qwen3_vl", words + "patches=16 vision_layers=3 tap=1 taps=2 vision_hidden=32 vision_heads=2 "
                         "vision_inner=64 layers=3 hidden=64 "
                         "heads=4 groups=2 head_dim=16 inner=96"},
    {"pyramid", "kind=1 extent=32 width=8 channels=16"},
    {"pyramid", "kind=2 extent=32 width=8 channels=16 repeats=2"},
    {"hrnet", "branches=3 extent=16"},
    {"densenet", "extent=16"},
    {"unet", "extent=16 depth=2 width=8"}};

void check(const std::vector<Small>& models) {
  for (const Small& model : models) {
    std::string arguments =
        "compare " + model.model + " --weights random:1 --dtype fp32 --strategies exact";
    for (std::size_t at = 0; at < model.dims.size();) {
      const std::size_t end = std::min(model.dims.find(' ', at), model.dims.size());
      if (end > at) {
        arguments += " --dim " + model.dims.substr(at, end - at);
      }
      at = end + 1;
    }
    CAPTURE(arguments);
    const auto run = run_systole(arguments);
    CAPTURE(run.err);
    CHECK(run.code == 0);  // 1 when a value differs by more than 1e-4 of the largest
    CHECK(run.out.find("value error: largest") != std::string::npos);  // values were compared
  }
}

}  // namespace

TEST_CASE("small encoders of the table compute what the reference computes") {
  check(encoders);
}
TEST_CASE("small decoders of the table compute what the reference computes") {
  check(decoders);
}
TEST_CASE("small networks of other kinds compute what the reference computes") {
  check(others);
}
