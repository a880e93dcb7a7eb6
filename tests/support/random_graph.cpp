#include "tests/support/random_graph.hpp"

#include <algorithm>
#include <utility>

#include "tests/support/random_builder.hpp"

namespace systole::test {

using graph::Array;
using graph::ElementType;
using graph::Shape;
using graph::TensorId;
using graph::TensorKind;

std::vector<Family> all_families() {
  return {Family::unary,       Family::binary,         Family::select, Family::integer,
          Family::contraction, Family::convolution,    Family::reduce, Family::window,
          Family::transpose,   Family::reshape,        Family::slice,  Family::concat,
          Family::pad,         Family::expand,         Family::gather, Family::scatter,
          Family::arg_reduce,  Family::gather_elements};
}

std::vector<Family> continuous_families() {
  std::vector<Family> families;
  for (const Family family : all_families()) {
    if (family != Family::select && family != Family::integer && family != Family::arg_reduce) {
      families.push_back(family);
    }
  }
  return families;
}

bool RandomBuilder::fits(const Shape& shape) const {
  const auto count = graph::checked_elements(shape);
  return count.has_value() && *count <= options.max_elements &&
         static_cast<int>(shape.size()) <= options.max_rank;
}

Shape RandomBuilder::shape(int rank) {
  Shape result;
  const bool equal = chance(25);
  for (int i = 0; i < rank; ++i) {
    result.push_back(equal && i > 0 ? result.front() : one_of(options.extents));
  }
  while (!fits(result)) {
    *std::max_element(result.begin(), result.end()) = random.integer(1, 3);
  }
  return result;
}

TensorId RandomBuilder::input(Shape shape, ElementType type) {
  return graph::add_input(graph, name("in"), type, std::move(shape));
}

TensorId RandomBuilder::constant(Shape shape, double scale) {
  Array array = graph::make_array(ElementType::f32, std::move(shape));
  for (std::int64_t i = 0; i < graph::elements(array.shape); ++i) {
    graph::set(array, i, scale * random.normal());
  }
  return graph::add_constant(graph, name("weight"), std::move(array));
}

TensorId RandomBuilder::indices(Shape shape, std::int64_t low, std::int64_t high) {
  Array array = graph::make_array(ElementType::i64, std::move(shape));
  for (std::int64_t i = 0; i < graph::elements(array.shape); ++i) {
    graph::set_integer(array, i, random.integer(low, high));
  }
  return graph::add_constant(graph, name("indices"), std::move(array));
}

TensorId RandomBuilder::operand(Shape shape, double scale) {
  return chance(30) ? input(std::move(shape)) : constant(std::move(shape), scale);
}

std::optional<TensorId> RandomBuilder::pick(int low, int high, ElementType type) {
  std::vector<TensorId> candidates;
  for (const TensorId id : graph.tensors.ids()) {
    const graph::Tensor& tensor = graph.tensors[id];
    const int rank = static_cast<int>(tensor.shape.size());
    if (tensor.type == type && rank >= low && rank <= high && tensor.kind != TensorKind::constant) {
      candidates.push_back(id);
    }
  }
  if (candidates.empty()) {
    return std::nullopt;
  }
  const auto last = static_cast<std::int64_t>(candidates.size()) - 1;
  const std::int64_t first = chance(60) ? std::max<std::int64_t>(0, last - 3) : 0;
  return candidates[static_cast<std::size_t>(random.integer(first, last))];
}

TensorId RandomBuilder::map(graph::MapFunction function, std::vector<TensorId> inputs, double alpha,
                            double beta) {
  return graph::add_node(graph, name(std::string(graph::name_of(function))),
                         graph::Map{function, alpha, beta}, std::move(inputs));
}

bool add_family(RandomBuilder& b, Family family) {
  switch (family) {
    case Family::unary:
    case Family::binary:
    case Family::select:
    case Family::integer:
      return add_elementwise(b, family);
    case Family::contraction:
    case Family::convolution:
    case Family::reduce:
    case Family::arg_reduce:
    case Family::window:
      return add_arithmetic(b, family);
    case Family::transpose:
    case Family::reshape:
    case Family::slice:
    case Family::concat:
    case Family::pad:
    case Family::expand:
    case Family::gather:
    case Family::gather_elements:
    case Family::scatter:
      return add_movement(b, family);
  }
  return false;
}

namespace {

// All results that nothing reads, some others, and sometimes an input, a constant or one output
// twice.
void choose_outputs(RandomBuilder& b) {
  const auto uses = graph::uses(b.graph);
  for (const TensorId id : b.graph.tensors.ids()) {
    const graph::Tensor& tensor = b.graph.tensors[id];
    const bool made = tensor.kind == TensorKind::intermediate;
    if ((made && (uses[id].empty() || b.chance(10))) ||
        (!made && b.options.awkward_outputs && b.chance(4))) {
      b.graph.outputs.push_back(id);
    }
  }
  if (b.graph.outputs.empty()) {
    b.graph.outputs.push_back(TensorId(b.graph.tensors.size() - 1));
  }
  if (b.options.awkward_outputs && b.chance(15)) {
    b.graph.outputs.push_back(b.graph.outputs.front());
  }
  for (std::size_t i = 0; i < b.graph.outputs.size(); ++i) {
    b.graph.output_names.push_back("out" + std::to_string(i));
  }
}

}  // namespace

graph::Graph random_graph(const RandomGraphOptions& options) {
  RandomBuilder b{options, Random(options.seed), {}};
  b.graph.name = "random" + std::to_string(options.seed);
  b.input(b.shape(static_cast<int>(b.random.integer(0, options.max_rank))));
  b.input(b.shape(std::min(options.max_rank, static_cast<int>(b.random.integer(2, 4)))));
  int failures = 0;
  while (static_cast<int>(b.graph.nodes.size()) < options.nodes && failures < 200) {
    if (!add_family(b, b.one_of(options.families))) {
      ++failures;
    }
    if (failures % 20 == 19 || b.chance(5)) {
      b.input(b.shape(static_cast<int>(b.random.integer(0, options.max_rank))));
    }
  }
  choose_outputs(b);
  return std::move(b.graph);
}

std::map<std::string, Array> random_inputs(const graph::Graph& graph, std::uint64_t seed) {
  std::map<std::string, Array> values;
  for (const TensorId id : graph.inputs) {
    values[graph.tensors[id].name] = graph::random_array(graph.tensors[id], seed, false);
  }
  return values;
}

}  // namespace systole::test
