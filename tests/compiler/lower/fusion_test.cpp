#include "compiler/lower/fusion.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>

#include "compiler/lower/stages.hpp"
#include "isa/base/random.hpp"
#include "tests/compiler/lower/kernel_harness.hpp"

namespace systole::test {
namespace {

using graph::Array;
using graph::ElementType;
using graph::Map;
using graph::MapFunction;
using graph::NodeId;
using graph::Shape;
using graph::TensorId;

Array values(const Shape& shape, std::uint64_t seed, ElementType type = ElementType::f32) {
  Array out = graph::make_array(type, shape);
  Random random(seed);
  for (std::int64_t i = 0; i < graph::elements(shape); ++i) {
    graph::set(out, i,
               type == ElementType::f32 ? random.uniform() * 4.0 - 2.0
                                        : static_cast<double>(random.integer(0, 1)));
  }
  return out;
}

// A graph under construction with layouts.
struct Laid {
  layout::LaidGraph laid;
  std::map<std::string, Array> inputs;
  isa::DType dtype = isa::DType::f32;

  void place(TensorId tensor, const layout::Layout& layout) {
    laid.layouts.resize(laid.graph.tensors.size());
    laid.storage.resize(laid.graph.tensors.size(), dtype);
    laid.layouts[tensor] = layout;
    laid.storage[tensor] =
        laid.graph.tensors[tensor].type == ElementType::boolean ? isa::DType::b8 : dtype;
  }
  TensorId input(const std::string& name, const Shape& shape, const layout::Layout& layout,
                 ElementType type = ElementType::f32) {
    const TensorId id = graph::add_input(laid.graph, name, type, shape);
    inputs[name] = values(shape, inputs.size() + 1, type);
    place(id, layout);
    return id;
  }
  TensorId constant(const std::string& name, const Shape& shape, const layout::Layout& layout) {
    const TensorId id =
        graph::add_constant(laid.graph, name, values(shape, 99 + laid.graph.tensors.size()));
    place(id, layout);
    return id;
  }
  TensorId node(graph::Op op, std::vector<TensorId> in, const layout::Layout& layout,
                layout::Mechanism mechanism = layout::Mechanism::standard) {
    const TensorId id = graph::add_node(laid.graph, "n", std::move(op), std::move(in));
    laid.mechanisms.resize(laid.graph.nodes.size());
    laid.predicted.resize(laid.graph.nodes.size());
    laid.mechanisms[NodeId(laid.graph.nodes.size() - 1)] = mechanism;
    place(id, layout);
    return id;
  }
  void output(TensorId tensor) {
    laid.graph.outputs.push_back(tensor);
    laid.graph.output_names.push_back("out" + std::to_string(laid.graph.outputs.size()));
  }
};

template <class Operation>
std::int64_t count(const lower::TileProgram& program) {
  return std::ranges::count_if(program.instructions, [](const lower::TileInstruction& item) {
    return item.instruction.operation.holds<Operation>();
  });
}

lower::TileProgram tiles(const layout::LaidGraph& laid, const isa::Machine& machine) {
  return lower::tile(laid, lower::plan_residency(laid, machine), machine);
}

void expect_right(const Laid& test, const Tolerance& tolerance = {}) {
  for (const std::string name : {"trn1", "toy"}) {
    const std::string fault = fault_of(test.laid, test.inputs, isa::read_machine(name), tolerance);
    CHECK_MESSAGE(fault.empty(), name << ": " << fault);
  }
}

const layout::Layout channels{
    {1, 0, 2, 3}, 1, 0};  // of [N, C, H, W]: channels across the partitions

// Convolution, per-channel scale and shift, relu: the tail of a residual block.
Laid convolution_with_tail(bool residual) {
  Laid test;
  const TensorId x = test.input("x", {1, 6, 5, 4}, channels);
  const TensorId w = test.constant("w", {7, 6, 3, 3}, {{1, 0, 2, 3}, 1, 0});
  const TensorId scale = test.constant("scale", {7, 1, 1}, {{0, 1, 2}, 1, 0});
  const TensorId shift = test.constant("shift", {7, 1, 1}, {{0, 1, 2}, 1, 0});
  const TensorId other = test.input("other", {1, 7, 5, 4}, channels);
  const graph::Convolution op{{1, 1}, {1, 1}, {1, 1}, {1, 1}, 1};
  TensorId y = test.node(op, {x, w}, channels, layout::Mechanism::rhs_stationary);
  y = test.node(Map{MapFunction::multiply}, {y, scale}, channels);
  y = test.node(Map{MapFunction::add}, {shift, y}, channels);
  if (residual) {
    y = test.node(Map{MapFunction::add}, {y, other}, channels);
  }
  y = test.node(Map{MapFunction::relu}, {y}, channels);
  test.output(y);
  return test;
}

}  // namespace

TEST_CASE("scale, shift and relu take the place of the copies out of PSUM") {
  const Laid test = convolution_with_tail(false);
  expect_right(test);
  const lower::TileProgram program = tiles(test.laid, isa::read_machine("trn1"));
  CHECK(count<isa::Copy>(program) == 0);
  CHECK(count<isa::TensorScalar>(program) == 0);
  CHECK(count<isa::TensorTensor>(program) == 0);
  CHECK(count<isa::Activation>(program) == 1);
}

TEST_CASE("a residual sum follows on the piece; nothing in between is stored") {
  const Laid test = convolution_with_tail(true);
  expect_right(test);
  const lower::TileProgram program = tiles(test.laid, isa::read_machine("trn1"));
  CHECK(count<isa::Copy>(program) == 0);
  CHECK(count<isa::TensorTensor>(program) == 1);
  CHECK(count<isa::TensorScalar>(program) == 2);  // scale and shift; relu
  std::int64_t scratch_tensors = 0;
  for (const isa::HbmTensor& tensor : program.tensors) {
    scratch_tensors += tensor.role == isa::Role::scratch ? 1 : 0;
  }
  CHECK(scratch_tensors == 0);
}

TEST_CASE(
    "a sum with a row takes the place of the copies out of PSUM, a root of few numbers is a "
    "power") {
  const layout::Layout rows{{0, 1}, 1, 0};
  const layout::Layout columns{{1, 0}, 1, 0};
  const layout::Layout numbers{{0, 1}, 1, 0};
  for (const auto& [m, n, k] :
       {std::array<std::int64_t, 3>{150, 700, 40}, {30, 33, 9}, {129, 20, 100}}) {
    Laid test;
    const TensorId x = test.input("x", {m, k}, columns);
    const TensorId w = test.constant("w", {k, n}, rows);
    const TensorId row = test.constant("row", {n}, {{0}, 0, 0});
    const graph::Contraction op{{0, 2}, {2, 1}, {0, 1}};
    TensorId y = test.node(op, {x, w}, rows, layout::Mechanism::lhs_stationary);
    y = test.node(Map{MapFunction::subtract}, {row, y}, rows);
    y = test.node(Map{MapFunction::relu}, {y}, rows);  // tells a difference from its opposite
    y = test.node(graph::Reduce{graph::ReduceFunction::sum, {1}, true}, {y}, numbers);
    y = test.node(Map{MapFunction::sqrt}, {y}, numbers);
    test.output(y);
    expect_right(test, {1e-3, 1e-4});
    const lower::TileProgram program = tiles(test.laid, isa::read_machine("trn1"));
    CHECK(std::ranges::none_of(program.instructions, [](const lower::TileInstruction& item) {
      const auto* copied = item.instruction.operation.get_if<isa::Copy>();
      return copied != nullptr && copied->in.space == isa::Space::psum;
    }));
    CHECK(std::ranges::none_of(program.instructions, [](const lower::TileInstruction& item) {
      const auto* activation = item.instruction.operation.get_if<isa::Activation>();
      return activation != nullptr && activation->function == isa::Function::sqrt;
    }));
  }
}

TEST_CASE("chains of every kind of step give the reference's values") {
  // Steps as functions of the chain's value v and another tensor of full shape f, a row r, a column c.
  using Step = std::vector<std::pair<MapFunction, std::string>>;
  const std::vector<Step> chains = {
      {{MapFunction::multiply, "vc"}, {MapFunction::add, "vc"}, {MapFunction::gelu, "v"}},
      {{MapFunction::add, "rv"}, {MapFunction::tanh, "v"}, {MapFunction::multiply, "vf"}},
      {{MapFunction::subtract, "vc"}, {MapFunction::exp, "v"}, {MapFunction::divide, "vc"}},
      {{MapFunction::subtract, "cv"}, {MapFunction::divide, "fv"}},
      {{MapFunction::exp, "v"},
       {MapFunction::negate, "v"},
       {MapFunction::max, "vr"},
       {MapFunction::square, "v"}},
      {{MapFunction::abs, "v"}, {MapFunction::select, "bvf"}, {MapFunction::relu, "v"}},
      {{MapFunction::copy, "v"}, {MapFunction::select, "bfv"}},
      {{MapFunction::sigmoid, "v"}, {MapFunction::greater, "vf"}},
      {{MapFunction::relu, "v"},
       {MapFunction::add, "vs"},
       {MapFunction::multiply, "sv"},
       {MapFunction::add, "vv"}}};
  for (const Step& chain : chains) {
    for (const Shape& shape : std::vector<Shape>{{5, 7}, {130, 3}, {3, 150}}) {
      for (const layout::Layout& layout :
           {layout::Layout{{0, 1}, 1, 0}, layout::Layout{{1, 0}, 1, 0},
            layout::Layout{{0, 1}, 0, 0}, layout::Layout{{0, 1}, 2, 0}}) {
        Laid test;
        const auto operand = [&](const std::string& name, const Shape& s,
                                 ElementType type = ElementType::f32) {
          return test.input(name, s, layout, type);
        };
        std::map<char, TensorId> known{
            {'v', operand("x", shape)},         {'f', operand("f", shape)},
            {'r', operand("r", {1, shape[1]})}, {'c', operand("c", {shape[0], 1})},
            {'s', operand("s", {1, 1})},        {'b', operand("b", shape, ElementType::boolean)}};
        for (const auto& [function, arguments] : chain) {
          std::vector<TensorId> in;
          for (const char argument : arguments) {
            in.push_back(known[argument]);
          }
          known['v'] = test.node(Map{function}, in, layout);
        }
        test.output(known['v']);
        expect_right(test, {1e-3, 1e-4});
        test.dtype = isa::DType::bf16;
      }
    }
  }
}

TEST_CASE("a value with two readers, an output or another layout is stored") {
  Laid test;
  const layout::Layout rows{{0, 1}, 1, 0};
  const TensorId x = test.input("x", {4, 6}, rows);
  const TensorId a = test.node(Map{MapFunction::exp}, {x}, rows);   // read twice
  const TensorId b = test.node(Map{MapFunction::relu}, {a}, rows);  // an output
  const TensorId c =
      test.node(Map{MapFunction::tanh}, {b}, rows);  // follows nothing; its reader is another shape
  const TensorId d = test.node(Map{MapFunction::add}, {a, c}, rows);
  test.output(b);
  test.output(d);
  IdVector<TensorId, TensorId> roots(test.laid.graph.tensors.size());
  for (const TensorId tensor : test.laid.graph.tensors.ids()) {
    roots[tensor] = tensor;
  }
  const lower::Fusion fusion = lower::plan_fusion(test.laid, roots, isa::read_machine("trn1"));
  CHECK(fusion.inlined[a] == 0);
  CHECK(fusion.inlined[b] == 0);
  CHECK(fusion.inlined[c] != 0);  // d has all it needs when c is made
  CHECK(fusion.host[test.laid.graph.tensors[d].producer] == test.laid.graph.tensors[c].producer);
  expect_right(test);
}

namespace {

// exp(x - max x) and a reduction of it over the last axis of [heads, queries, keys].
Laid shares(const Shape& shape, const layout::Layout& layout, graph::ReduceFunction function,
            bool keep) {
  Laid test;
  const graph::Reduce most{graph::ReduceFunction::max, {2}, true};
  layout::Layout reduced = layout;
  if (!keep) {
    std::erase(reduced.order, 2);
  }
  const TensorId x = test.input("x", shape, layout);
  const TensorId largest = test.node(most, {x}, layout);
  const TensorId e = test.node(
      Map{MapFunction::exp}, {test.node(Map{MapFunction::subtract}, {x, largest}, layout)}, layout);
  test.output(test.node(graph::Reduce{function, {2}, keep}, {e}, reduced));
  test.output(e);
  return test;
}

}  // namespace

TEST_CASE("rows inside a partition take their own number, and the sum rides along") {
  const layout::Layout heads_outside{{1, 0, 2}, 1, 0};
  const Laid test = shares({3, 140, 130}, heads_outside, graph::ReduceFunction::sum, true);
  std::int64_t riding = 0;
  for (const lower::TileInstruction& item :
       tiles(test.laid, isa::read_machine("trn1")).instructions) {
    if (item.instruction.operation.holds<isa::Activation>()) {
      const auto& op = item.instruction.operation.get<isa::Activation>();
      riding +=
          op.function == isa::Function::exp && op.bias.per_partition && op.with_reduce ? 1 : 0;
    }
  }
  CHECK(riding == 3 * 2);  // heads, blocks of partitions
  CHECK(count<isa::TensorTensor>(tiles(test.laid, isa::read_machine("trn1"))) == 0);
  expect_right(test, {1e-4, 1e-5});
}

TEST_CASE("sums of many blocks of partitions are handed on in parts") {
  const auto test = [](std::int64_t row) {
    Laid out;
    const layout::Layout rows{{0, 1}, 1, 0};
    const TensorId x = out.input("x", {9 * 128 + 5, row}, rows);
    const TensorId e = out.node(Map{MapFunction::exp}, {x}, rows);
    const TensorId sum = out.node(graph::Reduce{graph::ReduceFunction::sum, {1}, true}, {e}, rows);
    out.output(out.node(Map{MapFunction::divide}, {e, sum}, rows));
    return out;
  };
  const auto handed_on = [](const Laid& laid) {
    std::vector<std::int64_t> blocks;
    for (const lower::TileInstruction& item :
         tiles(laid.laid, isa::read_machine("trn1")).instructions) {
      if (item.instruction.operation.holds<isa::Copy>()) {
        blocks.push_back(isa::free_elements(item.instruction.operation.get<isa::Copy>().out));
      }
    }
    return blocks;
  };
  CHECK(handed_on(test(300)) == std::vector<std::int64_t>{3, 3, 3, 1});
  CHECK(handed_on(test(40)) == std::vector<std::int64_t>{9, 1});  // soon made
  expect_right(test(300), {1e-4, 1e-5});
}

TEST_CASE("a table that all heads share is loaded once for the blocks that are alike") {
  const auto test = [](std::int64_t heads, std::int64_t rows) {
    Laid out;
    const layout::Layout across{{0, 1, 2}, 2, 0};
    const TensorId x = out.input("x", {heads, rows, 30}, across);
    const TensorId table = out.input("table", {rows, 30}, {{0, 1}, 1, 0});
    out.output(out.node(Map{MapFunction::multiply}, {x, table}, across));
    return out;
  };
  const auto loads = [](const Laid& laid) {
    const lower::TileProgram program = tiles(laid.laid, isa::read_machine("trn1"));
    std::int64_t made = 0;
    for (const lower::Buffer& buffer : program.buffers) {
      made += buffer.name == "table" ? 1 : 0;
    }
    return made;
  };
  CHECK(loads(test(6, 128)) == 1);
  CHECK(loads(test(12, 64)) == 1);
  CHECK(loads(test(8, 96)) == 3);  // 768 rows: six blocks, every third begins with a head
  for (const auto& [heads, rows] : {std::pair(6, 128), std::pair(8, 96), std::pair(5, 50)}) {
    expect_right(test(heads, rows), {1e-4, 1e-5});
  }
}

TEST_CASE("reductions that keep free axes give the reference's values in every order of axes") {
  using graph::ReduceFunction;
  for (const Shape& shape :
       {Shape{3, 5, 7}, Shape{2, 16, 200}, Shape{3, 129, 3}, Shape{1, 9, 140}}) {
    for (const std::vector<int>& order :
         {std::vector<int>{1, 0, 2}, {1, 2, 0}, {0, 1, 2}, {0, 2, 1}}) {
      for (const int split : {0, 1}) {
        for (const auto function :
             {ReduceFunction::sum, ReduceFunction::mean, ReduceFunction::max}) {
          expect_right(shares(shape, {order, split, 0}, function, split == 0), {1e-4, 1e-5});
        }
      }
    }
  }
}

TEST_CASE("a tile to add or a divisor per partition takes the place of the copy out of PSUM") {
  const layout::Layout rows{{0, 1}, 1, 0};
  const layout::Layout columns{{1, 0}, 1, 0};
  for (const bool divides : {false, true}) {
    Laid test;
    const TensorId a = test.input("a", {140, 40}, columns);
    const TensorId b = test.input("b", {40, 60}, rows);
    const TensorId c = test.node(graph::Contraction{{0, 2}, {2, 1}, {0, 1}}, {a, b}, rows,
                                 layout::Mechanism::lhs_stationary);
    const TensorId other =
        divides ? test.constant("s", {140, 1}, rows) : test.constant("m", {60}, {{0}, 0, 0});
    test.output(test.node(Map{divides ? MapFunction::divide : MapFunction::add}, {c, other}, rows));
    CHECK(count<isa::Copy>(tiles(test.laid, isa::read_machine("trn1"))) == 0);
    expect_right(test, {1e-3, 1e-4});
  }
}

TEST_CASE("a power of two behind a shift is one instruction with it, another number is not") {
  for (const double number : {0.25, 0.3}) {
    Laid test;
    const TensorId a = test.input("a", {40, 24}, {{1, 0}, 1, 0});
    const TensorId b = test.input("b", {24, 60}, {{0, 1}, 1, 0});
    const layout::Layout rows{{0, 1}, 1, 0};
    TensorId y = test.node(graph::Contraction{{0, 2}, {2, 1}, {0, 1}}, {a, b}, rows,
                           layout::Mechanism::lhs_stationary);
    y = test.node(Map{MapFunction::add}, {y, test.constant("shift", {40, 1}, rows)}, rows);
    const TensorId scale = graph::add_constant(test.laid.graph, "scale", [&] {
      Array value = graph::make_array(ElementType::f32, {});
      graph::set(value, 0, number);
      return value;
    }());
    test.place(scale, {{}, 0, 0});
    test.output(test.node(Map{MapFunction::multiply}, {y, scale}, rows));
    const lower::TileProgram program = tiles(test.laid, isa::read_machine("trn1"));
    const auto over_rows =
        std::ranges::count_if(program.instructions, [](const lower::TileInstruction& item) {
          return item.instruction.operation.holds<isa::TensorScalar>() &&
                 isa::free_elements(item.instruction.operation.get<isa::TensorScalar>().out) == 60;
        });
    CHECK(over_rows == (number == 0.25 ? 1 : 2));
    expect_right(test, {1e-4, 1e-5});
  }
}

TEST_CASE("a follower waits for the last of its producers") {
  Laid test;
  const layout::Layout rows{{0, 1}, 1, 0};
  const TensorId x = test.input("x", {4, 6}, rows);
  const TensorId a = test.node(Map{MapFunction::exp}, {x}, rows);
  const TensorId b = test.node(Map{MapFunction::tanh}, {x}, rows);
  const TensorId c = test.node(Map{MapFunction::add}, {a, b}, rows);
  test.output(c);
  IdVector<TensorId, TensorId> roots(test.laid.graph.tensors.size());
  for (const TensorId tensor : test.laid.graph.tensors.ids()) {
    roots[tensor] = tensor;
  }
  const lower::Fusion fusion = lower::plan_fusion(test.laid, roots, isa::read_machine("trn1"));
  CHECK(fusion.inlined[a] == 0);
  CHECK(fusion.inlined[b] != 0);
  expect_right(test);
}

namespace {

// x [m, k] times w [k, n], x row-major and turned by the array; or w [n, k] the turned one, and
// either argument stationary. `produced`: what is turned is computed before.
Laid product_of_turned(const Shape& sizes, bool turn_left, bool left_stationary, bool produced) {
  const layout::Layout rows{{0, 1}, 1, 0};
  const layout::Layout columns{{1, 0}, 1, 0};
  const std::int64_t m = sizes[0];
  const std::int64_t n = sizes[1];
  const std::int64_t k = sizes[2];
  Laid test;
  const auto turned = [&](const Shape& shape) {
    TensorId given = test.input("x", shape, rows);
    if (produced) {
      given = test.node(Map{MapFunction::square}, {given}, rows);
    }
    return test.node(graph::Convert{}, {given}, columns, layout::Mechanism::array_transpose);
  };
  const TensorId left = turn_left ? turned({m, k}) : test.input("l", {m, k}, columns);
  const TensorId right = turn_left ? test.input("r", {k, n}, rows) : turned({n, k});
  const graph::Contraction op{{0, 2}, turn_left ? std::vector{2, 1} : std::vector{1, 2}, {0, 1}};
  test.output(test.node(
      op, {left, right}, left_stationary ? rows : columns,
      left_stationary ? layout::Mechanism::lhs_stationary : layout::Mechanism::rhs_stationary));
  return test;
}

}  // namespace

TEST_CASE("a matrix that the array turns for one product is turned inside it and never stored") {
  for (const Shape& sizes : std::vector<Shape>{{3, 5, 7},
                                               {128, 128, 128},
                                               {130, 40, 129},
                                               {300, 700, 200},
                                               {9, 600, 1030},
                                               {17, 33, 31}}) {
    for (int choice = 0; choice < 8; ++choice) {
      const Laid test =
          product_of_turned(sizes, (choice & 1) != 0, (choice & 2) != 0, (choice & 4) != 0);
      INFO("m, n, k = " << sizes[0] << ", " << sizes[1] << ", " << sizes[2] << " choice "
                        << choice);
      expect_right(test, {1e-3, 1e-3});
      const isa::Machine machine = isa::read_machine("trn1");
      const lower::Residency residency = lower::plan_residency(test.laid, machine);
      const TensorId turned = test.laid.graph.nodes[NodeId((choice & 4) != 0 ? 1 : 0)].output;
      CHECK(residency.fusion.inlined[turned] != 0);
      for (const isa::HbmTensor& tensor : tiles(test.laid, machine).tensors) {
        CHECK(tensor.name != test.laid.graph.tensors[turned].name);
      }
    }
  }
}

TEST_CASE("heads that do not fill blocks of partitions are turned by the array alone") {
  Laid test;
  const layout::Layout rows{
      {0, 1, 2, 3}, 3, 0};  // 2 and 1 heads of 64 in turn: tiles of 128 straddle
  const layout::Layout turned{{3, 0, 1, 2}, 1, 0};
  TensorId y = test.input("x", {4, 3, 64, 64}, rows);
  y = test.node(Map{MapFunction::square}, {y}, rows);
  y = test.node(graph::Convert{}, {y}, turned, layout::Mechanism::array_transpose);
  y = test.node(Map{MapFunction::relu}, {y}, turned);
  y = test.node(graph::Convert{}, {y}, layout::row_major(4, 0), layout::Mechanism::dma);
  test.output(y);
  expect_right(test);
  const lower::TileProgram program = tiles(test.laid, isa::read_machine("trn1"));
  CHECK(std::ranges::none_of(program.instructions, [](const lower::TileInstruction& item) {
    const auto* dma = item.instruction.operation.get_if<isa::Dma>();
    return dma != nullptr && dma->source.space != isa::Space::hbm &&
           dma->destination.space != isa::Space::hbm;
  }));
}

TEST_CASE("what else reads a turned matrix, or its shape as an output, has it stored") {
  const layout::Layout columns{{1, 0}, 1, 0};
  const isa::Machine machine = isa::read_machine("trn1");
  Laid test = product_of_turned({40, 50, 60}, true, true, false);
  const TensorId turned = test.laid.graph.nodes[NodeId(0)].output;
  SUBCASE("a second reader") {
    test.output(test.node(Map{MapFunction::relu}, {turned}, columns));
  }
  SUBCASE("an output") {
    test.output(turned);
  }
  CHECK(lower::plan_residency(test.laid, machine).fusion.inlined[turned] == 0);
  expect_right(test);
}

TEST_CASE(
    "few squares, and roots of few numbers, are powers on Vector; many are functions of Scalar") {
  const layout::Layout rows{{0, 1}, 1, 0};
  struct Example {
    MapFunction function;
    std::int64_t columns;
    bool power;
  };
  for (const auto& [function, columns, power] :
       {Example{MapFunction::square, 512, true}, Example{MapFunction::square, 513, false},
        Example{MapFunction::sqrt, 64, true}, Example{MapFunction::rsqrt, 64, true},
        Example{MapFunction::rsqrt, 65, false}}) {
    Laid test;
    const TensorId x = test.input("x", {130, columns}, rows);
    const TensorId positive = test.node(Map{MapFunction::exp}, {x}, rows);
    test.output(test.node(Map{function}, {positive}, rows));
    expect_right(test, {1e-4, 1e-5});
    const lower::TileProgram program = tiles(test.laid, isa::read_machine("trn1"));
    const auto powers =
        std::ranges::count_if(program.instructions, [](const lower::TileInstruction& item) {
          const auto* scalar = item.instruction.operation.get_if<isa::TensorScalar>();
          return scalar != nullptr && scalar->op0 == isa::AluOp::power;
        });
    CHECK((powers > 0) == power);
    const std::int64_t blocks = 2;  // of partitions
    CHECK(count<isa::Activation>(program) <= (power ? blocks : 2 * blocks));
    CHECK(count<isa::Activation>(program) >= (power ? 1 : 2));
  }
}

TEST_CASE("a row made in one partition is repeated over the others by the array") {
  const layout::Layout rows{{0, 1}, 1, 0};
  const layout::Layout columns{{1, 0}, 1, 0};
  for (const auto& [m, n] : {std::array<std::int64_t, 2>{100, 60}, {129, 33}, {7, 200}}) {
    Laid test;
    const TensorId x = test.input("x", {m, n}, rows);
    const TensorId y = test.node(Map{MapFunction::tanh}, {x}, rows);
    TensorId sum = test.node(graph::Reduce{graph::ReduceFunction::mean, {0}, true}, {y}, columns,
                             layout::Mechanism::ones_matmul);
    // (|0 1): all numbers in one partition.
    test.laid.layouts[sum] = {{0, 1}, 1, 0};
    test.output(test.node(Map{MapFunction::subtract}, {y, sum}, rows));
    expect_right(test, {1e-4, 1e-4});
    const lower::TileProgram program = tiles(test.laid, isa::read_machine("trn1"));
    CHECK(std::ranges::none_of(program.instructions, [](const lower::TileInstruction& item) {
      const auto* dma = item.instruction.operation.get_if<isa::Dma>();
      return dma != nullptr && dma->source.space == isa::Space::sbuf &&
             dma->destination.space == isa::Space::sbuf;
    }));
  }
}

TEST_CASE("an output that is read inside as well stays in SBUF and is stored once") {
  const layout::Layout rows{{0, 1}, 1, 0};
  Laid test;
  const TensorId x = test.input("x", {70, 30}, rows);
  const TensorId y = test.node(Map{MapFunction::tanh}, {x}, rows);
  const TensorId z = test.node(graph::Reduce{graph::ReduceFunction::sum, {1}, true}, {y}, rows);
  test.output(y);
  test.output(z);
  expect_right(test, {1e-4, 1e-4});
  const isa::Machine machine = isa::read_machine("trn1");
  CHECK(lower::plan_residency(test.laid, machine).resident[y] == 1);
  const lower::TileProgram program = tiles(test.laid, machine);
  std::int64_t loads = 0;
  std::int64_t stores = 0;
  for (const lower::TileInstruction& item : program.instructions) {
    if (const auto* dma = item.instruction.operation.get_if<isa::Dma>()) {
      loads += dma->source.space == isa::Space::hbm ? 1 : 0;
      stores += dma->destination.space == isa::Space::hbm ? 1 : 0;
    }
  }
  CHECK(loads == 1);
  CHECK(stores == 2);
}

TEST_CASE("axes side by side only in a window of one index between them are turned one by one") {
  // Of [a, b, c, d] with d across the partitions one index of b: a and c look like neighbours there, and are none.
  const layout::Layout whole{{3, 0, 1, 2}, 1, 0};
  const layout::Layout turned{{0, 2, 3, 1}, 2, 0};
  for (const bool back : {false, true}) {
    Laid test;
    std::vector<TensorId> parts;
    const TensorId x = test.input("x", {6, 3, 20, 40}, back ? turned : whole);
    const TensorId y = back ? x : test.node(Map{MapFunction::tanh}, {x}, whole);
    for (std::int64_t index = 0; index < 3; ++index) {
      TensorId part = graph::add_slice(test.laid.graph, "window", y, {0, index, 0, 0}, {1, 1, 1, 1},
                                       {6, 1, 20, 40});
      test.laid.mechanisms.resize(test.laid.graph.nodes.size(), layout::Mechanism::alias);
      test.laid.predicted.resize(test.laid.graph.nodes.size());
      test.place(part, back ? turned : whole);
      if (back) {  // what is turned into a window
        part = test.node(Map{MapFunction::tanh}, {part}, turned);
      }
      parts.push_back(test.node(graph::Convert{}, {part}, back ? whole : turned,
                                layout::Mechanism::array_transpose));
    }
    if (back) {
      const TensorId joined = test.node(graph::Concat{1}, parts, whole, layout::Mechanism::alias);
      test.output(test.node(Map{MapFunction::tanh}, {joined}, whole));
    } else {
      for (const TensorId part : parts) {
        test.output(test.node(Map{MapFunction::tanh}, {part}, turned));
      }
    }
    const std::string fault =
        fault_of(test.laid, test.inputs, isa::read_machine("trn1"), {1e-4, 1e-4});
    CHECK_MESSAGE(fault.empty(), fault);
  }
}

TEST_CASE("heads that straddle the blocks of partitions are turned as one long axis") {
  const layout::Layout heads{{0, 1, 2}, 2, 0};   // (0 1|2)
  const layout::Layout turned{{2, 0, 1}, 1, 0};  // (2|0 1)
  for (const bool back : {false, true}) {
    Laid test;
    const TensorId x = test.input("x", {6, 320, 70}, back ? turned : heads);
    TensorId y = test.node(Map{MapFunction::tanh}, {x}, back ? turned : heads);
    y = test.node(graph::Convert{}, {y}, back ? heads : turned, layout::Mechanism::array_transpose);
    y = test.node(Map{MapFunction::tanh}, {y}, back ? heads : turned);
    test.output(y);
    expect_right(test, {1e-4, 1e-4});
    const lower::TileProgram program = tiles(test.laid, isa::read_machine("trn1"));
    // 15 blocks of 128 partitions, none cut at a head's end; four share a bank where they are turned into rows.
    CHECK(count<isa::LoadStationary>(program) == 15);
    CHECK(count<isa::Copy>(program) == (back ? 3 : 4));
  }
}

TEST_CASE(
    "straddling heads are turned right where pieces of the result cannot be written in place") {
  // (0 1|3 2) to (2 3|0 1): pieces of 70 partitions, the second of which starts at none that is legal.
  const layout::Layout heads{{0, 1, 3, 2}, 2, 0};
  const layout::Layout turned{{2, 3, 0, 1}, 2, 0};
  Laid test;
  TensorId y = test.input("x", {6, 100, 3, 70}, heads);
  y = test.node(Map{MapFunction::tanh}, {y}, heads);
  y = test.node(graph::Convert{}, {y}, turned, layout::Mechanism::array_transpose);
  test.output(test.node(Map{MapFunction::tanh}, {y}, turned));
  expect_right(test, {1e-4, 1e-4});
}

}  // namespace systole::test
