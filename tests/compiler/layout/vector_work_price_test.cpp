// Prices of maps and reductions against sums done by hand.
#include <doctest/doctest.h>

#include "tests/compiler/layout/price_fixture.hpp"

using namespace systole;
using namespace systole::layout;
using namespace systole::layout::by_hand;

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

TEST_CASE("what is repeated over the partitions moves once for all blocks that are alike") {
  // x[heads, rows, 300] times a table [rows, 300], rows of 600 bytes over 16 engines.
  const auto rows = [](std::int64_t heads, std::int64_t extent) {
    Inner w;
    const TensorId x = w.source({heads, extent, 300}, DType::bf16);
    const TensorId table = w.source({extent, 300}, DType::bf16);
    const TensorId y =
        graph::add_node(w.g, "y", graph::Map{.function = graph::MapFunction::multiply}, {x, table});
    const Layout across = lay("(0 1|2)");
    return 16 *
           count(w.features(y, DType::bf16, {{across, lay("(0|1)")}, across, Mechanism::standard}),
                 Feature::short_row);
  };
  CHECK(rows(32, 128) == 128);
  CHECK(rows(32, 64) == 128);     // two heads a block
  CHECK(rows(8, 96) == 3 * 128);  // heads straddle blocks, until they begin with one again
  CHECK(rows(2, 96) == 2 * 96);   // never
}
