// systole calibrate: the fit finds coefficients that it can know, and the command writes a file that it finds to fit.
#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "compiler/driver/calibrate/conversions.hpp"
#include "compiler/driver/calibrate/fit.hpp"
#include "compiler/driver/calibrate/probes.hpp"
#include "compiler/driver/calibrate/rounds.hpp"
#include "compiler/solver/strategy.hpp"
#include "isa/base/random.hpp"
#include "tests/compiler/driver/program.hpp"

using namespace systole;
using systole::tests::Folder;
using systole::tests::read_text;
using systole::tests::Run;
using systole::tests::run_systole;
using systole::tests::write_text;

namespace {

// Samples priced by a known model, with a fifth of them wrong by a factor of ten.
std::vector<driver::Sample> made_samples(const layout::CostModel& truth) {
  Random random(5);
  std::vector<driver::Sample> out;
  for (int i = 0; i < 600; ++i) {
    driver::Sample sample;
    sample.configuration = "c" + std::to_string(i % 60);
    sample.kind = i % 3 == 0 ? driver::SampleKind::program : driver::SampleKind::operation;
    layout::Features features{};
    for (std::size_t f = 0; f < layout::feature_count; ++f) {
      const double cycles = layout::coefficient(truth, static_cast<layout::Feature>(f));
      if (cycles > 0) {  // the machine has it
        features[f] = random.uniform() < 0.4 ? 20000 / cycles * random.uniform() : 0;
      }
    }
    sample.parts = {{1, features}};
    sample.measured = driver::predicted(sample, truth);
    if (sample.kind == driver::SampleKind::operation && i % 5 == 1) {
      sample.measured *= 10;
    }
    out.push_back(sample);
  }
  return out;
}

const char* const suite = R"(name: little
configurations:
  - {name: "conversion_{a}x{b}", family: conversion, half: calibration, model: profile/conversion, parameters: {a: [16, 128, 300], b: [64, 500]}}
  - {name: "product_{m}", family: product, half: calibration, model: profile/product, parameters: {m: [32, 128, 500]}}
)";

}  // namespace

TEST_CASE("a fit finds the coefficients that made the measurements, though some are wrong") {
  const layout::CostModel start = layout::read_cost_model("trn1.analytic");
  layout::CostModel truth = start;
  layout::set_coefficient(truth, layout::Feature::vector_element, 2.5);
  layout::set_coefficient(truth, layout::Feature::transfer, 900);
  layout::set_coefficient(truth, layout::Feature::short_row, 400);
  layout::set_coefficient(truth, layout::Feature::table, 700);
  truth.unhidden = 0.5;
  const auto samples = made_samples(truth);
  const driver::Fit fit = driver::fit(samples, start);
  for (const layout::Feature feature :
       {layout::Feature::vector_element, layout::Feature::transfer, layout::Feature::short_row,
        layout::Feature::table, layout::Feature::column}) {
    CAPTURE(layout::name_of(feature));
    const double want = layout::coefficient(truth, feature);
    CHECK(layout::coefficient(fit.model, feature) == doctest::Approx(want).epsilon(0.1));
    const driver::Interval interval = fit.intervals[static_cast<std::size_t>(feature)];
    CHECK(interval.low <= layout::coefficient(fit.model, feature) * 1.05);
    CHECK(interval.high >= layout::coefficient(fit.model, feature) * 0.95);
  }
  CHECK(fit.model.unhidden == doctest::Approx(0.5).epsilon(0.1));
  CHECK(driver::errors(samples, fit.model).median < driver::errors(samples, start).median / 3);
}

TEST_CASE("a round finds the pair that is ranked wrongly, and the operator that is to blame") {
  const layout::CostModel model = layout::read_cost_model("trn1.analytic");
  const auto sample = [&](std::size_t probe, const std::string& source, double transfers,
                          double factor) {
    driver::Sample out;
    out.configuration = "c";
    out.probe = probe;
    out.kind = source.empty() ? driver::SampleKind::program : driver::SampleKind::operation;
    out.source = source;
    layout::Features features{};
    features[static_cast<std::size_t>(layout::Feature::transfer)] = transfers;
    out.parts = {{1, features}};
    out.measured = factor * driver::predicted(out, model);
    return out;
  };
  // The second program: "b" takes three times what it is priced, so that it is the slower one.
  std::vector<driver::Sample> samples{sample(0, "a", 10, 1), sample(0, "b", 10, 1),
                                      sample(0, "", 20, 1),  sample(1, "a", 10, 1),
                                      sample(1, "b", 8, 3),  sample(1, "", 18, 34.0 / 18)};
  const driver::Judgement judgement = driver::judge(samples, model);
  CHECK(judgement.pairs == 1);
  CHECK(judgement.flipped == 1);
  CHECK(judgement.behind == 1);
  CHECK(judgement.worst == doctest::Approx(34.0 / 20));
  CHECK(judgement.blamed == std::map<std::string, std::size_t>{{"c: b", 1}});
  CHECK(samples[0].weight == 1);
  CHECK(samples[4].weight > samples[5].weight);
  CHECK(samples[5].weight > 1);
  samples[4].measured = samples[4].measured / 3;
  samples[5].measured = samples[2].measured * 0.9;
  CHECK(driver::judge(samples, model).flipped == 0);
}

TEST_CASE("what DMA can transpose is measured that way and by the array, and only there") {
  const isa::Machine trn2 = isa::read_machine("trn2");
  driver::LoneConversion conversion;
  conversion.type = {graph::ElementType::f32, {256, 192}};
  conversion.from = {{0, 1}, 1, 0};
  conversion.to = {{1, 0}, 1, 0};
  conversion.mechanism = layout::Mechanism::dma;
  const auto mechanisms = [&conversion](const isa::Machine& machine) {
    std::vector<layout::Mechanism> out;
    for (const driver::LoneConversion& c : driver::with_rivals(conversion, machine)) {
      out.push_back(c.mechanism);
    }
    return out;
  };
  using layout::Mechanism;
  CHECK(mechanisms(trn2) ==
        std::vector{Mechanism::dma, Mechanism::dma_transpose, Mechanism::array_transpose});
  CHECK(mechanisms(isa::read_machine("trn1")) == std::vector{Mechanism::dma});
  conversion.mechanism = Mechanism::dma_transpose;
  CHECK(mechanisms(trn2) == std::vector{Mechanism::dma_transpose, Mechanism::array_transpose});
  conversion.dtype = isa::DType::f32;
  conversion.mechanism = Mechanism::array_transpose;
  CHECK(mechanisms(trn2) == std::vector{Mechanism::array_transpose});
  conversion.dtype = isa::DType::bf16;
  conversion.to = {{0, 1}, 0, 0};  // from rows in partitions to one partition
  CHECK(mechanisms(trn2) == std::vector{Mechanism::array_transpose});
}

TEST_CASE("what Vector turns in few blocks is measured that way and by the array") {
  const isa::Machine trn1 = isa::read_machine("trn1");
  driver::LoneConversion conversion;
  conversion.type = {graph::ElementType::f32, {2, 96, 64}};
  conversion.from = {{1, 0, 2}, 1, 0};
  conversion.to = {{2, 0, 1}, 1, 0};
  conversion.mechanism = layout::Mechanism::array_transpose;
  using layout::Mechanism;
  const auto mechanisms = [&] {
    std::vector<Mechanism> out;
    for (const driver::LoneConversion& c : driver::with_rivals(conversion, trn1)) {
      out.push_back(c.mechanism);
    }
    return out;
  };
  CHECK(mechanisms() == std::vector{Mechanism::array_transpose, Mechanism::vector_transpose});
  conversion.from = {{0, 1, 2}, 2, 0};  // the array cannot
  conversion.to = {{0, 2, 1}, 2, 0};
  conversion.mechanism = Mechanism::dma;
  CHECK(mechanisms() == std::vector{Mechanism::dma, Mechanism::vector_transpose});
  conversion.type.shape[0] = 6;  // 36 blocks
  CHECK(mechanisms() == std::vector{Mechanism::dma});
}

TEST_CASE("a transpose of three heads in blocks of two is not sent through DMA") {
  driver::TargetOptions options;
  const driver::Target target = driver::load_target(options);
  driver::LoneConversion conversion;
  conversion.type = {graph::ElementType::f32, {4, 3, 64, 64}};
  conversion.from = {{3, 0, 1, 2}, 1, 0};
  conversion.to = {{0, 1, 2, 3}, 3, 0};
  conversion.mechanism = layout::Mechanism::array_transpose;
  const sim::Timing timing = sim::read_timing("trn1");
  const auto three = driver::measure_alone(conversion, target, timing);
  conversion.type.shape[1] = 4;
  const auto four = driver::measure_alone(conversion, target, timing);
  REQUIRE(three);
  REQUIRE(four);
  CHECK(*three <= 1.8 * *four);
}

TEST_CASE(
    "calibrate measures, fits and writes a file that it finds to fit, and that another machine's "
    "file does not") {
  const Folder folder;
  write_text(folder.file("little.yaml"), suite);
  const std::string common = "calibrate --suite " + folder.file("little.yaml") +
                             " --probes 3 --profile " + folder.file("p.jsonl");
  const Run first = run_systole(common + " --output " + folder.file("a.yaml"));
  CHECK(first.code == 0);
  CHECK(first.out.find("whole programs, held out") != std::string::npos);
  const std::string measured = read_text(folder.file("p.jsonl"));
  CHECK(measured.find("\"conversion\"") != std::string::npos);
  // Again, from what is there, and from half of it: the same file.
  CHECK(run_systole(common + " --jobs 1 --output " + folder.file("b.yaml")).out == first.out);
  write_text(folder.file("p.jsonl"), measured.substr(0, measured.size() / 2));
  CHECK(run_systole(common + " --output " + folder.file("c.yaml")).out == first.out);
  CHECK(read_text(folder.file("a.yaml")) == read_text(folder.file("b.yaml")));
  CHECK(read_text(folder.file("a.yaml")) == read_text(folder.file("c.yaml")));

  const std::string check = "calibrate --suite " + folder.file("little.yaml") + " --check ";
  CHECK(run_systole(check + "trn1.analytic").code == 1);
  CHECK(run_systole(check + folder.file("a.yaml")).out.find("the one that it was fitted to") !=
        std::string::npos);
  const Run other = run_systole(check + folder.file("a.yaml") + " --machine trn2");
  CHECK(other.code == 2);
  CHECK(other.err.find("trn1") != std::string::npos);
  CHECK(
      run_systole("compare --costs " + folder.file("a.yaml") + " --strategies exact --timing-only")
          .code == 0);
}
