// Prices against sums done by hand, with coefficients of small primes so that every term can be
// told apart.
#include "compiler/layout/cost_model.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <fstream>

#include "compiler/layout/domains.hpp"
#include "compiler/layout/storage.hpp"
#include "isa/base/error.hpp"
#include "tests/support/random_graph.hpp"

using namespace systole;
using namespace systole::layout;
using graph::ElementType;
using graph::Graph;
using graph::NodeId;
using graph::Shape;
using graph::TensorId;
using isa::DType;

namespace {

isa::Machine machine() {
  isa::Machine m;
  m.name = "hand";
  m.sbuf_bytes = 180224;
  return m;
}

CostModel model() {
  CostModel c;
  c.machine = "hand";
  c.column = 2;
  c.column_fp32 = 8;
  c.stationary_load = 13;
  c.stationary_column = 1;
  c.vector_element = 3;
  c.scalar_element = 5;
  c.gpsimd_element = 7;
  c.instruction = 11;
  c.short_row = 100;
  c.long_byte = 0.5;
  c.transfer = 1000;
  c.handover = 10;
  return c;
}

Layout lay(const char* text) {
  return *parse_layout(text);
}

double count(const Features& features, Feature feature) {
  return features[static_cast<std::size_t>(feature)];
}

// One node between an input-like copy and another copy, so that none of its tensors is tied to HBM.
struct Inner {
  Graph g;
  IdVector<TensorId, DType> storage;
  Inner() = default;
  TensorId source(const Shape& shape, DType type) {
    const TensorId x = graph::add_input(g, "x", ElementType::f32, shape);
    const TensorId y =
        graph::add_node(g, "copy", graph::Map{.function = graph::MapFunction::relu}, {x});
    types[y.index()] = type;
    return y;
  }
  Features features(TensorId out, DType type, const Configuration& configuration) {
    storage.resize(g.tensors.size(), type);
    for (const auto& [index, dtype] : types) {
      storage[TensorId(index)] = dtype;
    }
    const auto boundary = standings(g);
    const CostModel c = model();
    const isa::Machine m = machine();
    return NodePricer(g, storage, boundary, g.tensors[out].producer, c, m).features(configuration);
  }
  std::map<std::size_t, DType> types;
};

}  // namespace

TEST_CASE("a total is the busiest engine, a share of the others, and what nothing hides") {
  Features f{};
  f[static_cast<std::size_t>(Feature::column)] = 100;         // 200 cycles, tensor engine
  f[static_cast<std::size_t>(Feature::vector_element)] = 40;  // 120 cycles, vector engine
  f[static_cast<std::size_t>(Feature::transfer)] = 1;         // 1000 cycles
  const Price p = price_of(f, model());
  CHECK(p.terms[static_cast<std::size_t>(Feature::column)] == 200);
  CHECK(p.terms[static_cast<std::size_t>(Feature::vector_element)] == 120);
  CHECK(p.total == 200 + 30 + 1000);
}

TEST_CASE("a product is passes x tiles x columns, evicted once") {
  Inner w;
  const TensorId a = w.source({200, 300}, DType::bf16);
  const TensorId b = w.source({300, 700}, DType::bf16);
  const TensorId y = graph::add_node(w.g, "mm", graph::Contraction{{0, 1}, {1, 2}, {0, 2}}, {a, b});
  const Features lhs = w.features(
      y, DType::bf16, {{lay("(1|0)"), lay("(0|1)")}, lay("(0|1)"), Mechanism::lhs_stationary});
  // 300 rows are 3 passes, 200 results across are 2 tiles, 700 columns are 512 + 188.
  CHECK(count(lhs, Feature::column) == 3 * 2 * 700);
  CHECK(count(lhs, Feature::column_fp32) == 0);
  CHECK(count(lhs, Feature::stationary_load) == 3 * 2);
  CHECK(count(lhs, Feature::stationary_column) == 0);  // 512 columns hide the next load
  CHECK(count(lhs, Feature::vector_element) == 2 * 700);
  CHECK(count(lhs, Feature::instruction) == 2 * 2);
  CHECK(count(lhs, Feature::transfer) == 0);
  CHECK(count(lhs, Feature::short_row) == 0);
  const Features rhs = w.features(
      y, DType::bf16, {{lay("(1|0)"), lay("(0|1)")}, lay("(1|0)"), Mechanism::rhs_stationary});
  // 700 results across are 6 tiles of 200 columns.
  CHECK(count(rhs, Feature::column) == 3 * 6 * 200);
  CHECK(count(rhs, Feature::vector_element) == 6 * 200);
}

TEST_CASE("fp32 products are billed apart and short ones with the least number of columns") {
  Inner w;
  const TensorId a = w.source({20, 30}, DType::f32);
  const TensorId b = w.source({30, 10}, DType::f32);
  const TensorId y = graph::add_node(w.g, "mm", graph::Contraction{{0, 1}, {1, 2}, {0, 2}}, {a, b});
  const Features f = w.features(
      y, DType::f32, {{lay("(1|0)"), lay("(0|1)")}, lay("(0|1)"), Mechanism::lhs_stationary});
  CHECK(count(f, Feature::column_fp32) == 64);
  CHECK(count(f, Feature::column) == 0);
  CHECK(count(f, Feature::stationary_column) ==
        doctest::Approx(20 * (188.0 - 64) / 188));  // under the least multiply
}

TEST_CASE(
    "of two operands that SBUF cannot hold, the stationary one comes for each block of the moving "
    "one") {
  const auto bytes = [](std::int64_t rows, std::int64_t columns) {
    Inner w;
    const std::int64_t k = 128 * 16;
    const TensorId a = w.source({rows, k}, DType::bf16);
    const TensorId b = w.source({k, columns}, DType::bf16);
    const TensorId y =
        graph::add_node(w.g, "mm", graph::Contraction{{0, 1}, {1, 2}, {0, 2}}, {a, b});
    const Features f = w.features(
        y, DType::bf16, {{lay("(1|0)"), lay("(0|1)")}, lay("(0|1)"), Mechanism::lhs_stationary});
    const auto result = static_cast<double>(rows * columns * 2);
    return count(f, Feature::long_byte) * 16 - result;  // counted for one of 16 DMA engines
  };
  // 16 blocks of 2 bytes: a row of k takes 32 bytes of a partition, three quarters of SBUF hold 4224.
  const auto operand = [](std::int64_t rows) { return 128.0 * 16 * static_cast<double>(rows) * 2; };
  CHECK(bytes(4224, 9000) == operand(4224) + operand(9000));
  CHECK(bytes(9000, 4224) == operand(4224) + operand(9000));
  CHECK(bytes(5000, 2112 * 3) == 3 * operand(5000) + operand(2112 * 3));
  CHECK(bytes(5000, 2112 * 3 + 1) == 4 * operand(5000) + operand(2112 * 3 + 1));
}

TEST_CASE("one contracted axis on the partitions leaves the others to further passes") {
  Inner w;
  const TensorId a = w.source({16, 4, 64}, DType::bf16);
  const TensorId b = w.source({4, 64, 256}, DType::bf16);
  const TensorId y =
      graph::add_node(w.g, "mm", graph::Contraction{{0, 1, 2}, {1, 2, 3}, {0, 3}}, {a, b});
  const Features one = w.features(
      y, DType::bf16, {{lay("(2|0 1)"), lay("(1|0 2)")}, lay("(0|1)"), Mechanism::lhs_stationary});
  CHECK(count(one, Feature::column) == 4 * 256);
  const Features all = w.features(
      y, DType::bf16, {{lay("(1 2|0)"), lay("(0 1|2)")}, lay("(0|1)"), Mechanism::lhs_stationary});
  CHECK(count(all, Feature::column) == 2 * 256);
}

TEST_CASE("a convolution passes over kernel positions") {
  Inner w;
  const TensorId x = w.source({1, 64, 30, 30}, DType::bf16);
  const TensorId k = w.source({256, 64, 3, 3}, DType::bf16);
  const TensorId y =
      graph::add_node(w.g, "conv", graph::Convolution{{1, 1}, {0, 0}, {0, 0}, {1, 1}, 1}, {x, k});
  const Layout image = lay("(1|2 3 0)");
  const Features channels =
      w.features(y, DType::bf16, {{image, lay("(1|2 3 0)")}, image, Mechanism::rhs_stationary});
  // 28 x 28 = 784 columns (512 + 272), 9 positions, 2 tiles of 128 results.
  CHECK(count(channels, Feature::column) == 9 * 2 * 784);
  CHECK(count(channels, Feature::vector_element) == 2 * 784);
  const Features rows = w.features(
      y, DType::bf16, {{image, lay("(1|2 3 0)")}, lay("(2|1 3 0)"), Mechanism::lhs_stationary});
  // 28 tiles (one per column of the image) of 28 rows each: 256 columns a pass.
  CHECK(count(rows, Feature::column) == 28 * 9 * 256);
  CHECK(count(rows, Feature::vector_element) == 28 * 256);
}

TEST_CASE("elementwise work goes with the elements per partition") {
  Inner w;
  const TensorId a = w.source({256, 100}, DType::f32);
  const TensorId b = w.source({256, 100}, DType::f32);
  for (const TensorId operand :
       {a, b}) {  // read by another operator as well: nothing passes from kernel to kernel
    graph::add_node(w.g, "other", graph::Map{.function = graph::MapFunction::relu}, {operand});
  }
  const TensorId y =
      graph::add_node(w.g, "max", graph::Map{.function = graph::MapFunction::max}, {a, b});
  const Features f =
      w.features(y, DType::f32, {{lay("(0|1)"), lay("(0|1)")}, lay("(0|1)"), Mechanism::standard});
  CHECK(count(f, Feature::vector_element) == 2 * 2 * 100);  // two operands, two blocks
  CHECK(count(f, Feature::fused_element) == 0);
  const Features g =
      w.features(y, DType::f32, {{lay("(1|0)"), lay("(1|0)")}, lay("(1|0)"), Mechanism::standard});
  CHECK(count(g, Feature::vector_element) == 2 * 256);
}

TEST_CASE("a map behind its operand's only producer is priced as following in that kernel") {
  Inner w;
  const TensorId a = w.source({256, 100}, DType::f32);
  const TensorId y =
      graph::add_node(w.g, "exp", graph::Map{.function = graph::MapFunction::exp}, {a});
  const Features f = w.features(y, DType::f32, {{lay("(0|1)")}, lay("(0|1)"), Mechanism::standard});
  CHECK(count(f, Feature::fused_element) == 2 * 100);
  CHECK(count(f, Feature::scalar_element) == 0);
  CHECK(count(f, Feature::follower) == 1);
  CHECK(count(f, Feature::table) == 1);
  CHECK(count(f, Feature::handover) == 0);
  // A conversion between them costs the pass that was saved.
  const Features apart =
      conversion_features(Mechanism::array_transpose, {256, 100}, DType::f32, lay("(0|1)"),
                          lay("(1|0)"), Boundary::passing, model(), machine());
  const Features inside =
      conversion_features(Mechanism::array_transpose, {256, 100}, DType::f32, lay("(0|1)"),
                          lay("(1|0)"), Boundary::inside, model(), machine());
  CHECK(count(apart, Feature::vector_element) == count(inside, Feature::vector_element) + 2 * 100);
}

TEST_CASE("a tensor larger than its share of SBUF is streamed in rows") {
  Inner w;
  const TensorId a = w.source({128, 30000}, DType::f32);  // 120,000 bytes per partition
  graph::add_node(w.g, "other", graph::Reduce{graph::ReduceFunction::max, {1}, false}, {a});
  const TensorId y =
      graph::add_node(w.g, "exp", graph::Map{.function = graph::MapFunction::exp}, {a});
  const Features f =
      w.features(y, DType::bf16, {{lay("(0|1)")}, lay("(0|1)"), Mechanism::standard});
  // In and out (60,000 bytes), by 16 DMA engines.
  CHECK(count(f, Feature::long_byte) == 128.0 * 30000 * (4 + 2) / 16);
  CHECK(count(f, Feature::scalar_element) == 30000);
  CHECK(count(f, Feature::transfer) == 2);
}

TEST_CASE("rows that follow each other in HBM share descriptors, whatever each is long") {
  Graph g;
  const TensorId x = graph::add_input(g, "x", ElementType::f32, {512, 256});
  const TensorId y =
      graph::add_node(g, "relu", graph::Map{.function = graph::MapFunction::relu}, {x});
  g.outputs = {y};
  const IdVector<TensorId, DType> storage(2, DType::f32);
  const CostModel c = model();
  const isa::Machine m = machine();
  const Features f = NodePricer(g, storage, standings(g), NodeId(0), c, m)
                         .features({{lay("(0|1)")}, lay("(0|1)"), Mechanism::standard});
  // 512 rows of 1024 bytes in, as many out: bytes count, not rows.
  CHECK(count(f, Feature::long_byte) == 2 * 512.0 * 1024 / 16);
  CHECK(count(f, Feature::short_row) == 0);
  CHECK(count(f, Feature::transfer) ==
        1);  // an input can be fetched ahead; the result is waited for
}

TEST_CASE("a window reads its kernel's elements once, two-byte ones at double rate") {
  Inner w;
  const TensorId x = w.source({1, 64, 58, 58}, DType::bf16);
  const TensorId y = graph::add_node(
      w.g, "pool",
      graph::Window{graph::ReduceFunction::max, {3, 3}, {1, 1}, {0, 0}, {0, 0}, {1, 1}}, {x});
  const Layout image = lay("(1|2 3 0)");
  CHECK(count(w.features(y, DType::bf16, {{image}, image, Mechanism::standard}),
              Feature::vector_element) == 9 * 56 * 56 / 2);
}

TEST_CASE("a reduction over the partitions is a product with ones") {
  Inner w;
  const TensorId a = w.source({300, 100}, DType::bf16);
  const TensorId y =
      graph::add_node(w.g, "sum", graph::Reduce{graph::ReduceFunction::sum, {0}, false}, {a});
  const Features f =
      w.features(y, DType::bf16, {{lay("(0|1)")}, lay("(|0)"), Mechanism::ones_matmul});
  CHECK(count(f, Feature::column) == 3 * 100);
  CHECK(count(f, Feature::vector_element) == 100);
  const Features across =
      w.features(y, DType::bf16, {{lay("(0|1)")}, lay("(0|)"), Mechanism::ones_matmul});
  CHECK(count(across, Feature::column) == 3 * 64);
  CHECK(count(across, Feature::stationary_column) == doctest::Approx(3 * 100 * (188.0 - 64) / 188));
  CHECK(count(across, Feature::handover) == 3);  // as any product: array, eviction, consumer
  const Features inside =
      w.features(y, DType::bf16, {{lay("(1|0)")}, lay("(0|)"), Mechanism::standard});
  CHECK(count(inside, Feature::vector_element) == 300 / 2);  // two-byte sums go in pairs
  const TensorId wide = w.source({300, 100}, DType::f32);
  const TensorId z =
      graph::add_node(w.g, "sum", graph::Reduce{graph::ReduceFunction::sum, {0}, false}, {wide});
  CHECK(count(w.features(z, DType::f32, {{lay("(1|0)")}, lay("(0|)"), Mechanism::standard}),
              Feature::vector_element) == 300);
}

TEST_CASE("a product that is evicted with a wide stride takes twice as long to evict") {
  Inner w;
  const TensorId a = w.source({8, 128, 64}, DType::bf16);
  const TensorId b = w.source({8, 64, 384}, DType::bf16);
  const TensorId y =
      graph::add_node(w.g, "product", graph::Contraction{{0, 1, 3}, {0, 3, 2}, {0, 1, 2}}, {a, b});
  const auto evicted = [&](const char* out) {
    return count(
        w.features(y, DType::bf16,
                   {{lay("(2|0 1)"), lay("(1|0 2)")}, lay(out), Mechanism::lhs_stationary}),
        Feature::vector_element);
  };
  CHECK(evicted("(1|0 2)") == 8 * 384);      // the moving operand's columns lie side by side
  CHECK(evicted("(1|2 0)") == 2 * 8 * 384);  // 16 bytes apart
}

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

TEST_CASE(
    "on the second generation a large input is transposed as it is loaded, a small value by the "
    "array") {
  const isa::Machine trn2 = isa::read_machine("trn2");
  for (const char* name : {"trn2.analytic", "trn2.calibrated"}) {
    const CostModel prices = read_cost_model(name);
    const auto chosen = [&](const Shape& shape, Boundary boundary) {
      return price_conversion(shape, DType::bf16, lay("(0|1)"), lay("(1|0)"), boundary, prices,
                              trn2)
          .mechanism;
    };
    CHECK(chosen({4096, 2048}, Boundary::source) == Mechanism::dma_transpose);
    CHECK(chosen({128, 256}, Boundary::inside) == Mechanism::array_transpose);
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

TEST_CASE("relabellings of inputs and outputs are in HBM with them") {
  Graph g;
  const TensorId x = graph::add_input(g, "x", ElementType::f32, {4, 6});
  const TensorId t = graph::add_node(g, "t", graph::Transpose{{1, 0}}, {x});
  const TensorId r =
      graph::add_node(g, "relu", graph::Map{.function = graph::MapFunction::relu}, {t});
  const TensorId e =
      graph::add_node(g, "exp", graph::Map{.function = graph::MapFunction::exp}, {r});
  const TensorId s = graph::add_reshape(g, "s", e, {24});
  g.outputs = {s};
  const auto b = standings(g);
  CHECK(b[x].boundary == Boundary::source);
  CHECK(b[t].boundary == Boundary::source);
  CHECK(b[r].boundary == Boundary::passing);
  CHECK(b[e].boundary == Boundary::output);
  CHECK(b[s].boundary == Boundary::output);
  // What something inside reads as well stays inside.
  graph::add_node(g, "more", graph::Map{.function = graph::MapFunction::relu}, {s});
  CHECK(standings(g)[e].boundary == Boundary::inside);
}

TEST_CASE(
    "a row that was computed into one partition is repeated by a product: three waits before the "
    "map's own") {
  Inner w;
  const TensorId a = w.source({100, 64}, DType::bf16);
  const TensorId row = w.source({1, 64}, DType::bf16);
  const TensorId y =
      graph::add_node(w.g, "sum", graph::Map{.function = graph::MapFunction::add}, {a, row});
  graph::add_node(w.g, "other", graph::Map{.function = graph::MapFunction::relu}, {a});
  graph::add_node(w.g, "more", graph::Map{.function = graph::MapFunction::relu}, {row});
  const auto waits = [&](const char* layout) {
    return count(w.features(y, DType::bf16,
                            {{lay("(0|1)"), lay(layout)}, lay("(0|1)"), Mechanism::standard}),
                 Feature::handover);
  };
  CHECK(waits("(0|1)") == 4);
}

TEST_CASE("heads that straddle partitions are worked on head by head") {
  const auto elements = [](std::int64_t heads, std::int64_t rows) {
    Inner w;
    const TensorId a = w.source({heads, rows, 10}, DType::f32);
    const TensorId y =
        graph::add_node(w.g, "exp", graph::Map{.function = graph::MapFunction::exp}, {a});
    graph::add_node(w.g, "use", graph::Map{.function = graph::MapFunction::relu}, {a});
    return count(w.features(y, DType::f32, {{lay("(0 1|2)")}, lay("(0 1|2)"), Mechanism::standard}),
                 Feature::scalar_element);
  };
  CHECK(elements(6, 320) == 6 * 3 * 10);  // 15 blocks of partitions
  CHECK(elements(6, 256) == 6 * 2 * 10);
  CHECK(elements(6, 32) == 2 * 10);
}

TEST_CASE("what is cut from a tensor moves in rows that both sides keep together") {
  const auto rows = [](const Shape& from, std::vector<std::int64_t> begin, const Shape& to,
                       const char* in, const char* out) {
    Inner w;
    const TensorId x = graph::add_input(w.g, "x", ElementType::f32, from);  // in HBM, row-major
    const std::vector<std::int64_t> step(from.size(), 1);
    const TensorId y = graph::add_slice(w.g, "cut", x, begin, step, to);
    graph::add_node(w.g, "use", graph::Map{.function = graph::MapFunction::relu}, {y});
    return count(w.features(y, DType::f32, {{lay(in)}, lay(out), Mechanism::standard}),
                 Feature::short_row);
  };
  // One whole row of three: the axis of extent 1 lies nowhere, wherever the layout names it.
  CHECK(rows({3, 64}, {1, 0}, {1, 64}, "(0|1)", "(|1 0)") == 1);
  CHECK(rows({3, 64}, {1, 0}, {1, 64}, "(0|1)", "(|0 1)") == 1);
  CHECK(rows({3, 64}, {1, 0}, {1, 64}, "(0|1)", "(1|0)") == 64 / 8);  // single elements, 8 engines
  CHECK(rows({64, 3}, {0, 1}, {64, 1}, "(0|1)", "(|0 1)") == 64);     // far apart in HBM
  CHECK(rows({2, 8, 64}, {0, 2, 0}, {2, 4, 64}, "(0|1 2)", "(|0 1 2)") == 2);
  CHECK(rows({2, 8, 64}, {0, 2, 0}, {2, 4, 64}, "(0|1 2)", "(|1 0 2)") == 2 * 4);
}

TEST_CASE("slices of one tensor share the wait for their transfers") {
  for (const int slices : {1, 4}) {
    Inner w;
    const TensorId a = w.source({slices, 64}, DType::f32);
    TensorId y;
    for (int i = 0; i < slices; ++i) {
      y = graph::add_slice(w.g, fmt::format("row{}", i), a, {i, 0}, {1, 1}, {1, 64});
    }
    const Features f =
        w.features(y, DType::f32, {{lay("(0|1)")}, lay("(1|0)"), Mechanism::standard});
    CHECK(count(f, Feature::transfer) == 1.0 / slices);
  }
}

TEST_CASE("a shift of what Scalar looks up costs nothing, nor do the sums of it") {
  Inner w;
  const TensorId a = w.source({128, 300}, DType::f32);
  const TensorId most =
      graph::add_node(w.g, "most", graph::Reduce{graph::ReduceFunction::max, {1}, true}, {a});
  const TensorId less =
      graph::add_node(w.g, "less", graph::Map{.function = graph::MapFunction::subtract}, {a, most});
  const TensorId e =
      graph::add_node(w.g, "exp", graph::Map{.function = graph::MapFunction::exp}, {less});
  const TensorId sum =
      graph::add_node(w.g, "sum", graph::Reduce{graph::ReduceFunction::sum, {1}, true}, {e});
  const TensorId other =
      graph::add_node(w.g, "other", graph::Reduce{graph::ReduceFunction::max, {1}, true}, {e});
  const layout::Configuration rows{{lay("(0|1)")}, lay("(0|1)"), Mechanism::standard};
  const layout::Configuration pair{{lay("(0|1)"), lay("(0|1)")}, lay("(0|1)"), Mechanism::standard};
  const Features shift = w.features(less, DType::f32, pair);
  CHECK(count(shift, Feature::vector_element) == 0);
  CHECK(count(shift, Feature::fused_element) == 0);
  CHECK(count(w.features(sum, DType::f32, rows), Feature::vector_element) == 0);
  CHECK(count(w.features(other, DType::f32, rows), Feature::vector_element) == 300);
}

TEST_CASE("sums of squares, or of rows inside a partition, cost nothing only where rows are long") {
  const auto elements = [](graph::MapFunction function, const graph::Shape& shape) {
    Inner w;
    const TensorId a = w.source(shape, DType::f32);
    const TensorId made = graph::add_node(w.g, "made", graph::Map{.function = function}, {a});
    const TensorId sum =
        graph::add_node(w.g, "sum", graph::Reduce{graph::ReduceFunction::sum, {2}, true}, {made});
    const layout::Configuration rows{{lay("(0|1 2)")}, lay("(0|1 2)"), Mechanism::standard};
    return count(w.features(sum, DType::f32, rows), Feature::vector_element);
  };
  using F = graph::MapFunction;
  CHECK(elements(F::square, {128, 1, 512}) == 512);  // Vector makes these
  CHECK(elements(F::square, {128, 1, 513}) == 0);
  CHECK(elements(F::square, {128, 8, 192}) == 8 * 192);  // the row counts, not what a partition has
  CHECK(elements(F::square, {128, 8, 600}) == 0);
  CHECK(elements(F::exp, {128, 1, 100}) == 0);
  CHECK(elements(F::exp, {128, 8, 100}) == 8 * 100);
  CHECK(elements(F::exp, {128, 8, 128}) == 0);
  CHECK(elements(F::relu, {128, 1, 600}) == 600);
}

TEST_CASE("vector work by blocks between products shows its first block and a share of the rest") {
  // x w1 -> centred by its mean over `reduced` -> w2, or to the graph's output.
  const auto elements = [](std::int64_t rows, int reduced, bool read, const char* layout) {
    Inner w;
    const TensorId x = w.source({rows, 64}, DType::f32);
    const TensorId w1 = w.source({64, 300}, DType::f32);
    const TensorId w2 = w.source({300, 64}, DType::f32);
    const graph::Contraction product{{0, 1}, {1, 2}, {0, 2}};
    const TensorId y = graph::add_node(w.g, "y", product, {x, w1});
    const TensorId mean = graph::add_node(
        w.g, "mean", graph::Reduce{graph::ReduceFunction::max, {reduced}, true}, {y});
    const TensorId centred = graph::add_node(
        w.g, "centred", graph::Map{.function = graph::MapFunction::subtract}, {y, mean});
    const TensorId out = read ? graph::add_node(w.g, "out", product, {centred, w2}) : centred;
    w.g.outputs = {out};
    w.g.output_names = {"out"};
    const Layout l = lay(layout);
    const bool inside = l.order.front() != reduced;  // otherwise only the map is asked for
    return inside ? count(w.features(mean, DType::f32, {{l}, l, Mechanism::standard}),
                          Feature::vector_element)
                  : count(w.features(centred, DType::f32, {{l, l}, l, Mechanism::standard}),
                          Feature::vector_element);
  };
  const double all = 300 * 3;  // three blocks
  CHECK(elements(300, 1, true, "(0|1)") == doctest::Approx(all * (1.0 / 3 + 2.0 / 3 / 2)));
  CHECK(elements(300, 1, false, "(0|1)") == all);  // no product reads it
  CHECK(elements(128, 1, true, "(0|1)") == 300);   // one block
  CHECK(elements(300, 0, true, "(1|0)") == doctest::Approx(all * (1.0 / 3 + 2.0 / 3 / 2)));
  // A reduction runs over the partitions: two tiles of three blocks, read one after the other, and the row of maxima that
  // the array repeats.
  CHECK(elements(300, 0, true, "(0|1)") == 2 * all + 300);
}

TEST_CASE("blocks between products are counted over all axes across the partitions") {
  Inner w;
  const TensorId x = w.source({6, 50, 64}, DType::f32);
  const TensorId w1 = w.source({64, 200}, DType::f32);
  const TensorId w2 = w.source({200, 64}, DType::f32);
  const graph::Contraction product{{0, 1, 2}, {2, 3}, {0, 1, 3}};
  const TensorId y = graph::add_node(w.g, "y", product, {x, w1});
  const TensorId most =
      graph::add_node(w.g, "most", graph::Reduce{graph::ReduceFunction::max, {2}, true}, {y});
  const TensorId less =
      graph::add_node(w.g, "less", graph::Map{.function = graph::MapFunction::subtract}, {y, most});
  w.g.outputs = {graph::add_node(w.g, "out", product, {less, w2})};
  w.g.output_names = {"out"};
  const auto elements = [&](const char* layout) {
    return count(w.features(most, DType::f32, {{lay(layout)}, lay(layout), Mechanism::standard}),
                 Feature::vector_element);
  };
  CHECK(elements("(0 1|2)") == doctest::Approx(3 * 200 * (1.0 / 3 + 2.0 / 3 / 2)));
  CHECK(elements("(1|0 2)") == 6 * 200);  // one block
}

TEST_CASE("the cost files of the machines read, and print as they read") {
  for (const char* name : {"trn1", "trn2", "toy"}) {
    const CostModel c = read_cost_model(std::string(name) + ".analytic");
    CHECK(c.machine == name);
    CHECK(c.column > 0);
    const std::string path = "cost_model_test_" + std::string(name) + ".yaml";
    std::ofstream(path) << print_cost_model(c);
    CHECK(read_cost_model("./" + path) == c);
    std::remove(path.c_str());
  }
}

TEST_CASE("mistakes in cost files are named with line and remedy") {
  CHECK_THROWS_WITH_AS((void)read_cost_model("trn1.analytc"),
                       doctest::Contains("\"trn1.analytc\" is unknown"), Error);
  const std::string path = "./cost_model_test_bad.yaml";
  std::ofstream(path) << print_cost_model(model()) << "colum: 3\n";
  CHECK_THROWS_WITH_AS((void)read_cost_model(path), doctest::Contains("did you mean \"column\""),
                       Error);
  std::remove(path.c_str());
}

TEST_CASE(
    "no configuration of any operator is free of charge unless it relabels or moves nothing") {
  const isa::Machine m = isa::read_machine("trn1");
  const CostModel c = read_cost_model("trn1.analytic");
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    test::RandomGraphOptions options;
    options.seed = seed;
    const Graph g = test::random_graph(options);
    const auto storage = storage_types(g, Precision::bf16);
    const Domains d = domains(g, m);
    for (const NodeId node : g.nodes.ids()) {
      const NodePricer pricer(g, storage, standings(g), node, c, m);
      for (const Configuration& row : configurations(g, node, d, m)) {
        const Price p = pricer.price(row);
        REQUIRE_MESSAGE((row.mechanism == Mechanism::alias) == (p.total == 0), g.nodes[node].name);
        for (const std::int64_t term : p.terms) {
          REQUIRE(term >= 0);
        }
      }
    }
  }
}
