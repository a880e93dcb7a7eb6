// Prices of conversions against sums done by hand.
#include <doctest/doctest.h>

#include "tests/compiler/layout/price_fixture.hpp"

using namespace systole;
using namespace systole::layout;
using namespace systole::layout::by_hand;

TEST_CASE("a conversion takes the cheapest mechanism of its kind") {
  const Shape shape{256, 192};
  const auto convert = [&](const char* from, const char* to, DType type) {
    return price_conversion(shape, type, lay(from), lay(to), Boundary::inside, model(), machine());
  };
  CHECK(convert("(0|1)", "(0|1)", DType::bf16).price.total == 0);
  const Conversion array = convert("(0|1)", "(1|0)", DType::bf16);
  CHECK(array.mechanism == Mechanism::array_transpose);
  // 2 x 2 tiles of 128 columns; 2 blocks of results receive 256 elements per partition each.
  CHECK(array.price.terms[static_cast<std::size_t>(Feature::column)] == 2 * (4 * 128));
  CHECK(array.price.terms[static_cast<std::size_t>(Feature::vector_element)] == 3 * 2 * 256);
  CHECK(convert("(0|1)", "(1|0)", DType::i32).mechanism == Mechanism::dma);
  CHECK(convert("(0|1)", "(0 1|)", DType::bf16).mechanism == Mechanism::dma);
  // From one partition: a tile per index that is free on both sides, each as short as a multiply
  // can be.
  const Conversion spread = convert("(|0 1)", "(1|0)", DType::bf16);
  CHECK(spread.mechanism == Mechanism::array_transpose);
  CHECK(spread.price.terms[static_cast<std::size_t>(Feature::column)] == 2 * (2 * 256 * 64));
  const Conversion inside = price_conversion({4, 5, 6}, DType::bf16, lay("(0|1 2)"), lay("(0|2 1)"),
                                             Boundary::inside, model(), machine());
  CHECK(inside.mechanism == Mechanism::reorder);
}

TEST_CASE("DMA transposes in whole blocks, where machine, type and prices have it") {
  isa::Machine with = machine();
  with.dma_transpose = true;
  CostModel prices = model();
  const auto counted = [&](const Shape& shape, const char* from, const char* to,
                           Boundary boundary) {
    return conversion_features(Mechanism::dma_transpose, shape, DType::bf16, lay(from), lay(to),
                               boundary, prices, with);
  };
  // 192 columns in blocks of 128, 256 rows in blocks of 16: 32 blocks, 256 bytes of an engine each.
  const Features inside = counted({256, 192}, "(0|1)", "(1|0)", Boundary::inside);
  CHECK(count(inside, Feature::transpose_sbuf_byte) == 32 * 256);
  CHECK(count(inside, Feature::transpose_hbm_byte) == 0);
  CHECK(count(inside, Feature::transfer) == 1);
  CHECK(count(inside, Feature::handover) == 2);
  const Features loaded = counted({256, 192}, "(0|1)", "(1|0)", Boundary::source);
  CHECK(count(loaded, Feature::transpose_hbm_byte) == 32 * 256);
  CHECK(count(loaded, Feature::handover) == 0);
  CHECK(count(loaded, Feature::long_byte) + count(loaded, Feature::short_row) == 0);
  // 3 of 128 columns and 1 of 16 rows are a block all the same.
  CHECK(count(counted({2, 5, 3}, "(0|1 2)", "(2|1 0)", Boundary::inside),
              Feature::transpose_sbuf_byte) == 5 * 256);

  const auto chosen = [&](DType type) {
    return price_conversion({256, 192}, type, lay("(0|1)"), lay("(1|0)"), Boundary::inside, prices,
                            with)
        .mechanism;
  };
  CHECK(chosen(DType::bf16) == Mechanism::array_transpose);  // no price of it
  prices.transpose_hbm_byte = prices.transpose_sbuf_byte = 0.01;
  CHECK(chosen(DType::bf16) == Mechanism::dma_transpose);
  CHECK(chosen(DType::f16) == Mechanism::dma_transpose);
  CHECK(chosen(DType::f32) == Mechanism::array_transpose);
  CHECK(chosen(DType::i32) == Mechanism::dma);
  prices.transpose_sbuf_byte = 10;
  CHECK(chosen(DType::bf16) == Mechanism::array_transpose);  // cheaper
  prices.transpose_sbuf_byte = 0.01;
  with.dma_transpose = false;
  CHECK(chosen(DType::bf16) == Mechanism::array_transpose);
}

TEST_CASE("Vector turns a few blocks after one wait, where the prices have it") {
  CostModel prices = model();
  const auto counted = [&](const Shape& shape, const char* from, const char* to, DType type) {
    return conversion_features(Mechanism::vector_transpose, shape, type, lay(from), lay(to),
                               Boundary::inside, prices, machine());
  };
  const Features few = counted({32, 32}, "(0|1)", "(1|0)", DType::f32);
  CHECK(count(few, Feature::turned_block) == 1);
  CHECK(count(few, Feature::handover) == 1);
  CHECK(count(few, Feature::vector_element) == 0);
  // [heads, d, tokens]: elements of one index of the middle axis lie 7 * 2 and 8 * 2 bytes apart.
  CHECK(count(counted({32, 7, 32}, "(0|2 1)", "(2|1 0)", DType::bf16), Feature::vector_element) ==
        0);
  CHECK(count(counted({32, 8, 32}, "(0|2 1)", "(2|1 0)", DType::bf16), Feature::vector_element) ==
        8 * 32);
  CHECK(count(counted({32, 8, 32}, "(0|1 2)", "(2|0 1)", DType::bf16), Feature::vector_element) ==
        8 * 32);

  const auto chosen = [&](const Shape& shape, const char* from, const char* to, DType type) {
    return price_conversion(shape, type, lay(from), lay(to), Boundary::inside, prices, machine())
        .mechanism;
  };
  CHECK(chosen({32, 32}, "(0|1)", "(1|0)", DType::bf16) ==
        Mechanism::array_transpose);  // no price of it
  prices.turned_block = 100;
  CHECK(chosen({32, 32}, "(0|1)", "(1|0)", DType::bf16) == Mechanism::vector_transpose);
  CHECK(chosen({32, 32}, "(0|1)", "(1|0)", DType::i32) == Mechanism::vector_transpose);
  CHECK(chosen({2, 160, 64}, "(0 2|1)", "(0 1|2)", DType::bf16) == Mechanism::vector_transpose);
  CHECK(chosen({2, 160, 80}, "(0 2|1)", "(0 1|2)", DType::bf16) == Mechanism::dma);
  CHECK(chosen({256, 192}, "(0|1)", "(1|0)", DType::bf16) == Mechanism::array_transpose);
}

TEST_CASE("a block is turned by Vector, a large matrix by the array, on every machine") {
  for (const char* name : {"trn1", "trn2"}) {
    const isa::Machine real = isa::read_machine(name);
    const CostModel prices = read_cost_model(std::string(name) + ".analytic");
    const auto chosen = [&](const Shape& shape) {
      return price_conversion(shape, DType::bf16, lay("(0|1)"), lay("(1|0)"), Boundary::inside,
                              prices, real)
          .mechanism;
    };
    CHECK(chosen({32, 32}) == Mechanism::vector_transpose);
    CHECK(chosen({256, 256}) == Mechanism::array_transpose);
  }
}

TEST_CASE("rows that DMA can keep together make it cheaper") {
  const Shape shape{4, 6, 512};
  const Features kept = conversion_features(Mechanism::dma, shape, DType::f32, lay("(0|1 2)"),
                                            lay("(1|0 2)"), Boundary::inside, model(), machine());
  // 24 rows of 2048 bytes: long ones. 6 partitions receive them, which one DMA engine serves.
  CHECK(count(kept, Feature::long_byte) == 24.0 * 2048);
  const Features torn = conversion_features(Mechanism::dma, shape, DType::f32, lay("(0|1 2)"),
                                            lay("(2|0 1)"), Boundary::inside, model(), machine());
  // Axis 2 is innermost on one side only: one row per element, over all DMA engines.
  CHECK(count(torn, Feature::short_row) == 4.0 * 6 * 512 / 16);
}

TEST_CASE("many short rows into few partitions are put in order in HBM first") {
  // (1|0) with 100 partitions to (|0 1): 6000 elements of 4 bytes, 13 engines read them, one
  // receives 24,000 bytes.
  const Features f = conversion_features(Mechanism::dma, {60, 100}, DType::f32, lay("(1|0)"),
                                         lay("(|0 1)"), Boundary::inside, model(), machine());
  CHECK(count(f, Feature::short_row) == doctest::Approx(6000.0 / 13));
  CHECK(count(f, Feature::long_byte) == 24000);
  CHECK(count(f, Feature::transfer) == 2);
  // The other way round: 100 partitions receive directly.
  const Features g = conversion_features(Mechanism::dma, {60, 100}, DType::f32, lay("(|0 1)"),
                                         lay("(1|0)"), Boundary::inside, model(), machine());
  CHECK(count(g, Feature::short_row) == doctest::Approx(6000.0 / 13));
  CHECK(count(g, Feature::transfer) == 1);
}
