#include "compiler/layout/storage.hpp"

#include <doctest/doctest.h>

#include <limits>

using namespace systole;
using namespace systole::layout;
using graph::ElementType;
using graph::Graph;
using graph::TensorId;
using isa::DType;

namespace {

graph::Array filled(ElementType type, graph::Shape shape, double value) {
  graph::Array array = graph::make_array(type, std::move(shape));
  for (std::int64_t i = 0; i < graph::elements(array.shape); ++i) {
    graph::set(array, i, value);
  }
  return array;
}

}  // namespace

TEST_CASE("arithmetic results are bf16, moved inputs and moved results f32") {
  Graph g;
  const TensorId x = graph::add_input(g, "x", ElementType::f32, {4, 6});
  const TensorId moved = graph::add_node(g, "t", graph::Transpose{{1, 0}}, {x});
  const TensorId inner =
      graph::add_node(g, "relu", graph::Map{.function = graph::MapFunction::relu}, {moved});
  const TensorId inner_moved = graph::add_node(g, "t2", graph::Transpose{{1, 0}}, {inner});
  const TensorId w = graph::add_constant(g, "w", filled(ElementType::f32, {4, 6}, 0.5));
  const TensorId sum =
      graph::add_node(g, "add", graph::Map{.function = graph::MapFunction::add}, {inner_moved, w});
  const TensorId out = graph::add_reshape(g, "r", sum, {24});
  g.outputs = {out};
  const auto types = storage_types(g, Precision::bf16);
  CHECK(types[x] == DType::f32);
  CHECK(types[moved] == DType::f32);
  CHECK(types[inner] == DType::bf16);
  CHECK(types[inner_moved] == DType::bf16);
  CHECK(types[w] == DType::bf16);
  CHECK(types[sum] == DType::f32);
  CHECK(types[out] == DType::f32);
  for (const DType type : storage_types(g, Precision::fp32)) {
    CHECK(type == DType::f32);
  }
}

TEST_CASE("graph inputs that only products use are stored as the products multiply them") {
  Graph g;
  const TensorId x = graph::add_input(g, "x", ElementType::f32, {4, 6});
  const TensorId w = graph::add_input(g, "w", ElementType::f32, {5, 6});
  const TensorId both = graph::add_input(g, "both", ElementType::f32, {4, 5});
  const TensorId turned = graph::add_node(g, "t", graph::Transpose{{1, 0}}, {w});
  const TensorId y =
      graph::add_node(g, "xw", graph::Contraction{{0, 1}, {1, 2}, {0, 2}}, {x, turned});
  const TensorId z =
      graph::add_node(g, "zz", graph::Contraction{{0, 1}, {2, 1}, {0, 2}}, {y, both});
  const TensorId sum =
      graph::add_node(g, "sum", graph::Map{.function = graph::MapFunction::add}, {y, both});
  g.outputs = {z, sum};
  const auto types = storage_types(g, Precision::bf16);
  CHECK(types[x] == DType::bf16);
  CHECK(types[w] == DType::bf16);
  CHECK(types[turned] == DType::bf16);
  CHECK(types[both] == DType::f32);
  CHECK(types[z] == DType::f32);
  CHECK(storage_types(g, Precision::fp32)[x] == DType::f32);
}

TEST_CASE("integers narrow to 32 bits, values that do not fit are refused by name") {
  Graph g;
  const TensorId x = graph::add_input(g, "x", ElementType::f32, {4, 6});
  const TensorId i = graph::add_constant(g, "rows", filled(ElementType::i64, {2}, 1));
  const TensorId y = graph::add_node(g, "g", graph::Gather{0}, {x, i});
  const TensorId b =
      graph::add_node(g, "nan", graph::Map{.function = graph::MapFunction::is_nan}, {y});
  g.outputs = {y, b};
  const auto types = storage_types(g, Precision::bf16);
  CHECK(types[i] == DType::i32);
  CHECK(types[y] == DType::f32);
  CHECK(types[b] == DType::b8);
  graph::add_constant(g, "large", filled(ElementType::i64, {1}, 3e9));
  CHECK_THROWS_WITH_AS((void)storage_types(g, Precision::bf16),
                       doctest::Contains("constant \"large\": value 3000000000"), Error);
}

TEST_CASE("constants that bf16 would turn into infinity, and scalars, stay f32") {
  Graph g;
  const TensorId x = graph::add_input(g, "x", ElementType::f32, {4});
  const double lowest = static_cast<double>(std::numeric_limits<float>::lowest());
  const TensorId mask = graph::add_constant(g, "mask", filled(ElementType::f32, {4}, lowest));
  const TensorId scale = graph::add_constant(g, "scale", filled(ElementType::f32, {1}, 0.1));
  const TensorId a =
      graph::add_node(g, "m", graph::Map{.function = graph::MapFunction::multiply}, {x, mask});
  const TensorId y =
      graph::add_node(g, "s", graph::Map{.function = graph::MapFunction::multiply}, {a, scale});
  g.outputs = {y};
  const auto types = storage_types(g, Precision::bf16);
  CHECK(types[mask] == DType::f32);
  CHECK(types[scale] == DType::f32);
  CHECK(types[a] == DType::bf16);
}

TEST_CASE("a largest value keeps its operand's type, so that x - max(x) is never positive") {
  Graph g;
  const TensorId x = graph::add_input(g, "x", ElementType::f32, {4, 6});
  const TensorId largest =
      graph::add_node(g, "max", graph::Reduce{graph::ReduceFunction::max, {1}, true}, {x});
  const TensorId sum =
      graph::add_node(g, "sum", graph::Reduce{graph::ReduceFunction::sum, {1}, true}, {x});
  const TensorId below = graph::add_node(
      g, "below", graph::Map{.function = graph::MapFunction::subtract}, {x, largest});
  const TensorId out =
      graph::add_node(g, "out", graph::Map{.function = graph::MapFunction::multiply}, {below, sum});
  g.outputs = {out};
  const auto types = storage_types(g, Precision::bf16);
  CHECK(types[largest] == DType::f32);
  CHECK(types[sum] == DType::bf16);
  CHECK(types[below] == DType::bf16);
}
