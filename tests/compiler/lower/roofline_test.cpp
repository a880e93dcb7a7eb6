// What recipes take on the timed machine: floors by the roofline of the program's own work, and what more SBUF may not do.
#include <doctest/doctest.h>

#include <string>
#include <utility>

#include "tests/compiler/lower/whole_model.hpp"

namespace systole::test {

TEST_CASE("operators over awkward extents end within twice their roofline") {
  const isa::Machine machine = isa::read_machine("trn1");
  for (const std::string name : {"batched_product", "depthwise", "layer_norm", "softmax", "gelu"}) {
    const sim::Report report = measured_model("awkward/" + name, machine);
    INFO(name << ": " << report.total.count() << " ticks, roofline " << report.roofline.count());
    CHECK(report.total.count() <= 2 * report.roofline.count());
  }
}

TEST_CASE("large transposes end within 1.5 times of what the DMA engines take for their bytes") {
  const isa::Machine machine = isa::read_machine("trn1");
  const sim::Timing timing = sim::read_timing("trn1");
  for (const auto& [rows, columns] : {std::pair(3001, 4999), std::pair(8192, 1024)}) {
    const sim::Report report =
        measured_model("awkward/transpose", machine, {{"rows", rows}, {"columns", columns}});
    const double bytes = 2.0 * 4 * rows * columns;  // fp32, read and written
    const double ns = bytes / (machine.dma_engines * timing.dma_engine_bytes_per_ns);
    const double measured = 1000 * sim::microseconds(timing, report.total);
    INFO(rows << " x " << columns << ": " << measured << " ns, the engines " << ns);
    CHECK(measured >= ns);
    CHECK(measured <= 1.5 * ns);
  }
}

TEST_CASE("BERT-large, 384 tokens, ends within 1.31 times the roofline of its own work") {
  const sim::Report report = measured_model("bert_large", isa::read_machine("trn1"),
                                            {{"tokens", 384}}, {"exact", "calibrated"});
  INFO(report.total.count() << " ticks, roofline " << report.roofline.count());
  CHECK(100 * report.total.count() <= 131 * report.roofline.count());
}

TEST_CASE("models are never slower by more than 2 % with a doubled SBUF, and fit a halved one") {
  const isa::Machine machine = isa::read_machine("trn1");
  isa::Machine doubled = machine;
  doubled.sbuf_bytes *= 2;
  isa::Machine halved = machine;
  halved.sbuf_bytes /= 2;
  for (const auto& [name, dims] :
       {std::pair<std::string, Dims>{"bert_large", {{"layers", 2}, {"tokens", 384}}},
        {"unet", {}},
        {"cnn", {}},
        {"resnet50", {}}}) {
    const std::int64_t usual = measured_model(name, machine, dims).total.count();
    const std::int64_t more = measured_model(name, doubled, dims).total.count();
    const std::int64_t less = measured_model(name, halved, dims).total.count();
    INFO(name << ": " << usual << " ticks, doubled " << more << ", halved " << less);
    CHECK(100 * more <= 102 * usual);
    CHECK(less > 0);
  }
}

}  // namespace systole::test
