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
#include "tests/compiler/layout/price_fixture.hpp"
#include "tests/support/random_graph.hpp"

using namespace systole;
using namespace systole::layout;
using namespace systole::layout::by_hand;

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
