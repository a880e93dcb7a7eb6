#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "isa/base/random.hpp"
#include "tests/compiler/lower/kernel_harness.hpp"

namespace systole::test {
namespace {

using graph::Array;
using graph::ElementType;
using graph::MapFunction;
using graph::Shape;
using graph::TensorId;

const isa::Machine& trn1() {
  static const isa::Machine machine = isa::read_machine("trn1");
  return machine;
}
const isa::Machine& toy() {
  static const isa::Machine machine = isa::read_machine("toy");
  return machine;
}

struct Input {
  ElementType type = ElementType::f32;
  Shape shape;
  double low = -3.0;
  double high = 3.0;
};

Array values(const Input& input, Random& random) {
  Array out = graph::make_array(input.type, input.shape);
  for (std::int64_t i = 0; i < graph::elements(input.shape); ++i) {
    if (graph::is_float(input.type)) {
      graph::set(out, i, input.low + (input.high - input.low) * random.uniform());
    } else {
      graph::set_integer(out, i,
                         random.integer(static_cast<std::int64_t>(input.low),
                                        static_cast<std::int64_t>(input.high)));
    }
  }
  return out;
}

// A graph of one operator; `make` adds the node.
template <class Make>
Case one_node(const std::vector<Input>& inputs, std::uint64_t seed, Make&& make) {
  Case out;
  out.graph.name = "one";
  Random random(seed);
  std::vector<TensorId> ids;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::string name = "in" + std::to_string(i);
    ids.push_back(graph::add_input(out.graph, name, inputs[i].type, inputs[i].shape));
    out.inputs[name] = values(inputs[i], random);
  }
  out.graph.outputs = {make(out.graph, ids)};
  out.graph.output_names = {"out"};
  return out;
}

void expect_right(const Case& test, const Tolerance& tolerance = {},
                  layout::Precision precision = layout::Precision::fp32) {
  int runs = 0;
  for (const isa::Machine* machine : {&trn1(), &toy()}) {
    for (const std::string& fault : faults_of(test, *machine, runs, precision, tolerance)) {
      FAIL_CHECK(fault);
    }
  }
  CHECK(runs > 0);
}

Case map_case(graph::Map op, const std::vector<Input>& inputs) {
  return one_node(inputs, 7, [&](graph::Graph& g, const std::vector<TensorId>& ids) {
    return graph::add_node(g, "map", op, ids);
  });
}

}  // namespace

TEST_CASE("every function of one operand is computed in every layout") {
  const Shape shape{3, 5};
  for (const MapFunction f :
       {MapFunction::copy,   MapFunction::negate,   MapFunction::abs,    MapFunction::sign,
        MapFunction::relu,   MapFunction::exp,      MapFunction::square, MapFunction::sigmoid,
        MapFunction::tanh,   MapFunction::erf,      MapFunction::gelu,   MapFunction::gelu_tanh,
        MapFunction::silu,   MapFunction::softplus, MapFunction::mish,   MapFunction::sin,
        MapFunction::cos,    MapFunction::atan,     MapFunction::sinh,   MapFunction::cosh,
        MapFunction::asinh,  MapFunction::floor,    MapFunction::ceil,   MapFunction::round,
        MapFunction::is_nan, MapFunction::is_inf}) {
    expect_right(map_case({f, 0.0, 0.0}, {{ElementType::f32, shape}}));
  }
  for (const MapFunction f :
       {MapFunction::log, MapFunction::sqrt, MapFunction::rsqrt, MapFunction::reciprocal}) {
    expect_right(map_case({f, 0.0, 0.0}, {{ElementType::f32, shape, 0.1, 4.0}}));
  }
  for (const MapFunction f :
       {MapFunction::asin, MapFunction::acos, MapFunction::atanh, MapFunction::tan}) {
    expect_right(map_case({f, 0.0, 0.0}, {{ElementType::f32, shape, -0.9, 0.9}}));
  }
  expect_right(map_case({MapFunction::acosh, 0.0, 0.0}, {{ElementType::f32, shape, 1.1, 4.0}}));
  expect_right(map_case({MapFunction::clip, -0.5, 0.7}, {{ElementType::f32, shape}}));
  expect_right(map_case({MapFunction::leaky_relu, 0.1, 0.0}, {{ElementType::f32, shape}}));
  expect_right(map_case({MapFunction::elu, 0.7, 0.0}, {{ElementType::f32, shape}}));
}

TEST_CASE("integers and booleans are exact") {
  const Shape shape{2, 3};
  const double big = 2.0e9;
  for (const MapFunction f : {MapFunction::copy, MapFunction::negate, MapFunction::abs,
                              MapFunction::sign, MapFunction::relu, MapFunction::bitwise_not}) {
    expect_right(map_case({f, 0.0, 0.0}, {{ElementType::i32, shape, -big, big}}));
  }
  expect_right(
      map_case({MapFunction::square, 0.0, 0.0}, {{ElementType::i32, shape, -40000, 40000}}));
  expect_right(map_case({MapFunction::bitwise_not, 0.0, 0.0}, {{ElementType::u8, shape, 0, 255}}));
  expect_right(
      map_case({MapFunction::logical_not, 0.0, 0.0}, {{ElementType::boolean, shape, 0, 1}}));
  expect_right(map_case({MapFunction::clip, -123456789.0, 1234567891.0},
                        {{ElementType::i32, shape, -big, big}}));
  for (const MapFunction f :
       {MapFunction::add, MapFunction::subtract, MapFunction::max, MapFunction::min,
        MapFunction::equal, MapFunction::less, MapFunction::greater_equal, MapFunction::bitwise_and,
        MapFunction::bitwise_or, MapFunction::bitwise_xor}) {
    expect_right(map_case({f, 0.0, 0.0}, {{ElementType::i32, shape, -1e9, 1e9},
                                          {ElementType::i32, shape, -1e9, 1e9}}));
  }
  expect_right(map_case(
      {MapFunction::multiply, 0.0, 0.0},
      {{ElementType::i32, shape, -40000, 40000}, {ElementType::i32, shape, -40000, 40000}}));
  for (const MapFunction f : {MapFunction::divide, MapFunction::modulo, MapFunction::remainder}) {
    expect_right(map_case({f, 0.0, 0.0}, {{ElementType::i32, shape, -big, big},
                                          {ElementType::i32, shape, 1, 40000}}));
    expect_right(map_case({f, 0.0, 0.0}, {{ElementType::i32, shape, -big, big},
                                          {ElementType::i32, shape, -90000, -1}}));
  }
  expect_right(map_case({MapFunction::power, 0.0, 0.0},
                        {{ElementType::i32, shape, -5, 5}, {ElementType::i32, shape, 0, 6}}));
  for (const MapFunction f : {MapFunction::shift_left, MapFunction::shift_right}) {
    expect_right(map_case({f, 0.0, 0.0},
                          {{ElementType::i32, shape, 0, 100}, {ElementType::i32, shape, 0, 8}}));
  }
  for (const MapFunction f :
       {MapFunction::logical_and, MapFunction::logical_or, MapFunction::logical_xor}) {
    expect_right(map_case(
        {f, 0.0, 0.0}, {{ElementType::boolean, shape, 0, 1}, {ElementType::boolean, shape, 0, 1}}));
  }
  expect_right(map_case({MapFunction::add, 0.0, 0.0},
                        {{ElementType::u8, shape, 0, 255}, {ElementType::u8, shape, 0, 255}}));
}

TEST_CASE("casts truncate floats and wrap integers") {
  // Half-width floats are stored as fp32 in this mode: the reference's rounding is not repeated.
  const auto cast = [](const Input& input, ElementType to) {
    const bool half = to == ElementType::f16 || to == ElementType::bf16;
    expect_right(one_node({input}, 3,
                          [&](graph::Graph& g, const std::vector<TensorId>& ids) {
                            return graph::add_cast(g, "cast", ids[0], to);
                          }),
                 Tolerance{half ? 1e-2 : 1e-4, 1e-5});
  };
  for (const ElementType to : {ElementType::i32, ElementType::i8, ElementType::f16,
                               ElementType::bf16, ElementType::boolean}) {
    cast({ElementType::f32, {4, 7}, -100.0, 100.0}, to);
  }
  for (const ElementType to : {ElementType::i8, ElementType::u8, ElementType::i16, ElementType::u32,
                               ElementType::f32, ElementType::boolean, ElementType::i64}) {
    cast({ElementType::i32, {4, 7}, -100000, 100000}, to);
  }
  cast({ElementType::u8, {4, 7}, 0, 255}, ElementType::i8);
  cast({ElementType::i8, {4, 7}, -128, 127}, ElementType::u32);
  cast({ElementType::boolean, {4, 7}, 0, 1}, ElementType::f32);
}

TEST_CASE("functions of two operands broadcast over partitions and free axes") {
  const std::vector<std::pair<Shape, Shape>> shapes = {
      {{3, 5}, {3, 5}},       {{3, 5}, {5}},
      {{3, 5}, {3, 1}},       {{3, 5}, {}},
      {{1, 5}, {3, 1}},       {{2, 3, 4}, {3, 1}},
      {{2, 1, 4}, {1, 3, 1}}, {{130, 9}, {130, 1}},
      {{9, 130}, {1, 130}},   {{2, 3, 2, 3}, {3, 1, 3}},
      {{259, 3}, {3}},        {{1, 1}, {1}}};
  for (const auto& [a, b] : shapes) {
    for (const MapFunction f : {MapFunction::subtract, MapFunction::divide}) {
      expect_right(
          map_case({f, 0.0, 0.0}, {{ElementType::f32, a}, {ElementType::f32, b, 0.5, 2.0}}));
      expect_right(
          map_case({f, 0.0, 0.0}, {{ElementType::f32, b}, {ElementType::f32, a, 0.5, 2.0}}));
    }
  }
  for (const MapFunction f :
       {MapFunction::power, MapFunction::modulo, MapFunction::remainder, MapFunction::not_equal,
        MapFunction::less_equal, MapFunction::greater, MapFunction::max}) {
    expect_right(map_case({f, 0.0, 0.0}, {{ElementType::f32, {4, 6}, 0.2, 3.0},
                                          {ElementType::f32, {4, 1}, 0.5, 2.0}}));
  }
  expect_right(map_case({MapFunction::remainder, 0.0, 0.0},
                        {{ElementType::f32, {4, 6}}, {ElementType::f32, {4, 6}, -2.0, -0.5}}));
}

TEST_CASE("a constant scalar becomes an immediate on either side") {
  for (const bool left : {true, false}) {
    Case test =
        one_node({{ElementType::f32, {5, 9}, 0.5, 2.0}}, 5,
                 [&](graph::Graph& g, const std::vector<TensorId>& ids) {
                   Array two = graph::make_array(ElementType::f32, {});
                   graph::set(two, 0, 1.7);
                   const TensorId c = graph::add_constant(g, "c", two);
                   return graph::add_node(
                       g, "power", graph::Map{MapFunction::power, 0.0, 0.0},
                       left ? std::vector<TensorId>{c, ids[0]} : std::vector<TensorId>{ids[0], c});
                 });
    expect_right(test);
  }
}

TEST_CASE("select takes whole tensors, rows and scalars") {
  for (const Shape& a : std::vector<Shape>{{4, 6}, {6}, {4, 1}, {}}) {
    expect_right(map_case(
        {MapFunction::select, 0.0, 0.0},
        {{ElementType::boolean, {4, 6}, 0, 1}, {ElementType::f32, a}, {ElementType::f32, {4, 6}}}));
    expect_right(map_case(
        {MapFunction::select, 0.0, 0.0},
        {{ElementType::boolean, {4, 1}, 0, 1}, {ElementType::f32, {4, 6}}, {ElementType::f32, a}}));
  }
}

TEST_CASE("large maps are cut into chunks that fit") {
  expect_right(map_case({MapFunction::add, 0.0, 0.0},
                        {{ElementType::f32, {3, 16001}}, {ElementType::f32, {16001}}}));
  expect_right(map_case({MapFunction::multiply, 0.0, 0.0},
                        {{ElementType::f32, {1027, 3}}, {ElementType::f32, {1027, 3}}}));
  expect_right(map_case({MapFunction::exp, 0.0, 0.0}, {{ElementType::f32, {769, 129}}}));
}

TEST_CASE("reductions over every set of axes in every layout") {
  for (const graph::ReduceFunction f :
       {graph::ReduceFunction::sum, graph::ReduceFunction::mean, graph::ReduceFunction::max,
        graph::ReduceFunction::min, graph::ReduceFunction::product}) {
    for (const bool keep : {true, false}) {
      for (const std::vector<int>& axes :
           std::vector<std::vector<int>>{{0}, {1}, {2}, {0, 1}, {0, 2}, {1, 2}, {0, 1, 2}}) {
        expect_right(
            one_node({{ElementType::f32, {3, 4, 5}}}, 11,
                     [&](graph::Graph& g, const std::vector<TensorId>& ids) {
                       return graph::add_node(g, "reduce", graph::Reduce{f, axes, keep}, ids);
                     }));
      }
    }
  }
}

TEST_CASE("reductions of awkward extents, integers and empty tensors") {
  const auto reduce = [](const Input& input, graph::Reduce op) {
    expect_right(one_node({input}, 13,
                          [&](graph::Graph& g, const std::vector<TensorId>& ids) {
                            return graph::add_node(g, "reduce", op, ids);
                          }),
                 {1e-4, 1e-3});
  };
  using enum graph::ReduceFunction;
  for (const Shape& shape :
       std::vector<Shape>{{130, 7}, {7, 130}, {1, 129}, {129, 1}, {300, 3}, {3, 769}}) {
    reduce({ElementType::f32, shape}, {sum, {0}, true});
    reduce({ElementType::f32, shape}, {mean, {1}, false});
    reduce({ElementType::f32, shape, -9, -1}, {max, {1}, false});
    reduce({ElementType::f32, shape, 1, 9}, {min, {0}, false});
    reduce({ElementType::i32, shape, -1000000, 1000000}, {sum, {0}, false});
    reduce({ElementType::i32, shape, -1000000, 1000000}, {max, {0, 1}, false});
  }
  reduce({ElementType::f32, {2, 3, 2, 3, 2}}, {sum, {0, 2, 4}, false});
  reduce({ElementType::f32, {2, 3, 2, 3, 2, 2}}, {max, {1, 3, 5}, true});
  reduce({ElementType::f32, {2, 16001}}, {sum, {1}, false});
  reduce({ElementType::f32, {0, 3}}, {sum, {0}, false});
  reduce({ElementType::f32, {3, 0}}, {product, {1}, true});
}

TEST_CASE("arg reductions give the first or last index, below the extent") {
  for (const bool largest : {true, false}) {
    for (const bool last : {true, false}) {
      for (const Shape& shape :
           std::vector<Shape>{{3, 5, 2}, {1, 10}, {2, 130}, {130, 2}, {5, 1}, {4, 2300}}) {
        for (int axis = 0; axis < static_cast<int>(shape.size()); ++axis) {
          for (const ElementType type : {ElementType::f32, ElementType::i32}) {
            // Few distinct values: many ties.
            expect_right(one_node({{type, shape, -4.0, -1.0}}, 17,
                                  [&](graph::Graph& g, const std::vector<TensorId>& ids) {
                                    return graph::add_node(
                                        g, "arg", graph::ArgReduce{largest, axis, last, last}, ids);
                                  }));
          }
        }
      }
    }
  }
}

TEST_CASE("slices with steps of both signs") {
  const auto slice = [](const Shape& in, const std::vector<std::int64_t>& starts,
                        const std::vector<std::int64_t>& steps, const Shape& out) {
    expect_right(one_node({{ElementType::f32, in}}, 19,
                          [&](graph::Graph& g, const std::vector<TensorId>& ids) {
                            return graph::add_slice(g, "slice", ids[0], starts, steps, out);
                          }));
  };
  slice({6, 7}, {1, 2}, {1, 1}, {4, 3});
  slice({6, 7}, {5, 6}, {-1, -2}, {6, 3});
  slice({6, 7}, {0, 1}, {2, 3}, {3, 2});
  slice({300, 4}, {131, 0}, {1, 1}, {140, 4});
  slice({300, 4}, {299, 0}, {-2, 1}, {150, 4});
  slice({2, 3, 4, 5}, {1, 0, 3, 1}, {1, 1, -1, 2}, {1, 3, 4, 2});
  slice({2, 3, 2, 3, 2}, {0, 1, 0, 0, 1}, {1, 1, 1, 2, 1}, {2, 2, 2, 2, 1});
}

TEST_CASE("concatenations along any axis, empty parts included") {
  const auto concat = [](const std::vector<Shape>& shapes, int axis) {
    std::vector<Input> inputs;
    for (const Shape& shape : shapes) {
      inputs.push_back({ElementType::f32, shape});
    }
    expect_right(one_node(inputs, 23, [&](graph::Graph& g, const std::vector<TensorId>& ids) {
      return graph::add_node(g, "concat", graph::Concat{axis}, ids);
    }));
  };
  concat({{2, 5}, {3, 5}}, 0);
  concat({{5, 2}, {5, 3}, {5, 1}}, 1);
  concat({{100, 3}, {60, 3}}, 0);
  concat({{2, 0}, {2, 3}}, 1);
  concat({{2, 3, 4}, {2, 1, 4}}, 1);
}

TEST_CASE("pads around, between and negative") {
  const auto pad = [](const Shape& in, graph::Pad op) {
    expect_right(one_node({{ElementType::f32, in}}, 29,
                          [&](graph::Graph& g, const std::vector<TensorId>& ids) {
                            return graph::add_node(g, "pad", op, ids);
                          }));
  };
  pad({3, 4}, {{1, 2}, {0, 1}, {0, 0}, -7.5});
  pad({3, 4}, {{0, 0}, {2, 0}, {1, 2}, 1.0});
  pad({5, 6}, {{-1, -2}, {-1, 1}, {0, 0}, 0.0});
  pad({5, 6}, {{-1, 1}, {2, -3}, {1, 1}, 3.0});
  pad({127, 3}, {{1, 1}, {3, 1}, {0, 0}, 2.0});
  pad({2, 3, 4}, {{0, 1, 1}, {1, 1, 1}, {0, 0, 0}, -1.0});
}

TEST_CASE("expands and reshapes") {
  for (const auto& [in, out] : std::vector<std::pair<Shape, Shape>>{{{3, 1}, {3, 4}},
                                                                    {{1, 4}, {3, 4}},
                                                                    {{4}, {2, 3, 4}},
                                                                    {{1}, {130, 2}},
                                                                    {{2, 1, 5}, {2, 3, 5}}}) {
    expect_right(one_node({{ElementType::f32, in}}, 31,
                          [&, to = out](graph::Graph& g, const std::vector<TensorId>& ids) {
                            return graph::add_expand(g, "expand", ids[0], to);
                          }));
  }
  for (const auto& [in, out] : std::vector<std::pair<Shape, Shape>>{{{6, 4}, {4, 6}},
                                                                    {{2, 12}, {24}},
                                                                    {{3, 4, 5}, {60}},
                                                                    {{3, 4, 5}, {15, 4}},
                                                                    {{260, 3}, {3, 260}},
                                                                    {{6, 1, 4}, {2, 3, 4}},
                                                                    {{10, 14}, {4, 35}}}) {
    expect_right(one_node({{ElementType::f32, in}}, 37,
                          [&, to = out](graph::Graph& g, const std::vector<TensorId>& ids) {
                            return graph::add_reshape(g, "reshape", ids[0], to);
                          }));
  }
}

TEST_CASE("gathers with negative indices along any axis") {
  for (const auto& [data, indices] : std::vector<std::pair<Shape, Shape>>{
           {{7, 5}, {3}}, {{7, 5}, {2, 2}}, {{3, 7, 4}, {5}}, {{7}, {}}, {{7, 300}, {140}}}) {
    for (int axis = 0; axis < static_cast<int>(data.size()); ++axis) {
      const double extent = static_cast<double>(data[static_cast<std::size_t>(axis)]);
      expect_right(
          one_node({{ElementType::f32, data}, {ElementType::i64, indices, -extent, extent - 1}}, 41,
                   [&](graph::Graph& g, const std::vector<TensorId>& ids) {
                     return graph::add_node(g, "gather", graph::Gather{axis}, ids);
                   }));
    }
  }
}

TEST_CASE("gathers of elements along any axis") {
  for (const auto& [data, indices] : std::vector<std::pair<Shape, Shape>>{{{4, 5}, {4, 5}},
                                                                          {{4, 5}, {2, 5}},
                                                                          {{4, 5}, {4, 9}},
                                                                          {{3, 4, 5}, {3, 4, 5}},
                                                                          {{130, 3}, {130, 2}}}) {
    for (int axis = 0; axis < static_cast<int>(data.size()); ++axis) {
      bool legal = true;
      for (std::size_t i = 0; i < data.size(); ++i) {
        legal = legal && (static_cast<int>(i) == axis || indices[i] == data[i]);
      }
      if (!legal) {
        continue;
      }
      const double extent = static_cast<double>(data[static_cast<std::size_t>(axis)]);
      expect_right(
          one_node({{ElementType::f32, data}, {ElementType::i64, indices, -extent, extent - 1}}, 43,
                   [&](graph::Graph& g, const std::vector<TensorId>& ids) {
                     return graph::add_node(g, "gather", graph::GatherElements{axis}, ids);
                   }));
    }
  }
}

TEST_CASE("scatters of slabs in every mode, duplicates in order") {
  for (const graph::ScatterMode mode :
       {graph::ScatterMode::assign, graph::ScatterMode::add, graph::ScatterMode::multiply,
        graph::ScatterMode::max, graph::ScatterMode::min}) {
    expect_right(one_node(
        {{ElementType::f32, {6, 4}}, {ElementType::i64, {9, 1}, -6, 5}, {ElementType::f32, {9, 4}}},
        47, [&](graph::Graph& g, const std::vector<TensorId>& ids) {
          return graph::add_node(g, "scatter", graph::ScatterND{mode}, ids);
        }));
    expect_right(one_node({{ElementType::f32, {3, 4, 2}},
                           {ElementType::i64, {2, 3, 2}, -3, 2},
                           {ElementType::f32, {2, 3, 2}}},
                          53, [&](graph::Graph& g, const std::vector<TensorId>& ids) {
                            return graph::add_node(g, "scatter", graph::ScatterND{mode}, ids);
                          }));
  }
}

TEST_CASE("conversions between any two layouts") {
  for (const Shape& shape : std::vector<Shape>{{3, 5},
                                               {130, 70},
                                               {2, 3, 4},
                                               {20, 9, 3},
                                               {3, 128, 2},
                                               {2, 2, 128, 3},
                                               {3, 2, 3, 2},
                                               {1, 6, 1}}) {
    for (const ElementType type : {ElementType::f32, ElementType::i32}) {
      expect_right(one_node({{type, shape, -2e9, 2e9}}, 59,
                            [&](graph::Graph& g, const std::vector<TensorId>& ids) {
                              return graph::add_node(g, "convert", graph::Convert{}, ids);
                            }));
    }
  }
}

TEST_CASE("a reorder that the extents of a strip make impossible goes by DMA") {
  const Case test =
      one_node({{ElementType::f32, {6, 3, 4}}}, 7, [](graph::Graph& g, const auto& ids) {
        return graph::add_node(g, "convert", graph::Convert{}, ids);
      });
  layout::Configuration configuration;
  configuration.inputs = {
      {{0, 2, 1}, 2, 0}};  // the last 4 partitions are shared: no whole block of 8
  configuration.output = {{1, 2, 0}, 2, 0};
  configuration.mechanism = layout::Mechanism::reorder;
  for (const Storage storage : {Storage::streamed, Storage::resident}) {
    const layout::LaidGraph laid =
        lay_out(test.graph, configuration, storage, layout::Precision::fp32);
    CHECK(fault_of(laid, test.inputs, toy(), {}) == "");
  }
}

}  // namespace systole::test
