#include "compiler/graph/evaluate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "compiler/graph/ops/ops.hpp"
#include "isa/base/error.hpp"
#include "isa/base/random.hpp"

namespace systole::graph {
namespace {

const Array& require_input(const Tensor& tensor, const std::map<std::string, Array>& inputs) {
  const auto found = inputs.find(tensor.name);
  if (found == inputs.end()) {
    throw Error(tensor.name,
                fmt::format("no value for this input of type {}{}", name_of(tensor.type),
                            to_string(tensor.shape)),
                "give one");
  }
  const Array& array = found->second;
  if (array.type != tensor.type || array.shape != tensor.shape) {
    throw Error(tensor.name,
                fmt::format("the value given is {}{}, the input is {}{}", name_of(array.type),
                            to_string(array.shape), name_of(tensor.type), to_string(tensor.shape)),
                "give a value of the input's type and shape");
  }
  return array;
}

const Array& require_data(const Tensor& tensor) {
  if (tensor.data == nullptr) {
    throw Error(tensor.name, "this weight has no values",
                "use random weights, or a model file that holds them");
  }
  return *tensor.data;
}

// Node index of each tensor's last use; outputs are kept to the end.
IdVector<TensorId, std::size_t> last_uses(const Graph& graph) {
  IdVector<TensorId, std::size_t> last(graph.tensors.size(), 0);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[NodeId(i)];
    last[node.output] = i;
    for (const TensorId input : node.inputs) {
      last[input] = i;
    }
  }
  for (const TensorId output : graph.outputs) {
    last[output] = graph.nodes.size();
  }
  return last;
}

std::uint64_t mix(std::uint64_t hash, std::uint64_t value) {
  for (int byte = 0; byte < 8; ++byte) {  // FNV-1a
    hash = (hash ^ ((value >> (8 * byte)) & 0xffU)) * 0x100000001b3ULL;
  }
  return hash;
}

std::uint64_t seed_of(const Tensor& tensor, std::uint64_t seed) {
  std::uint64_t hash = mix(0xcbf29ce484222325ULL, seed);
  for (const char c : tensor.name) {
    hash = mix(hash, static_cast<unsigned char>(c));
  }
  for (const std::int64_t extent : tensor.shape) {
    hash = mix(hash, static_cast<std::uint64_t>(extent));
  }
  // The same numbers for every float type: a program may store an input in another one than the model.
  return mix(hash, static_cast<std::uint64_t>(is_float(tensor.type) ? ElementType::f32 : tensor.type));
}

// How many products a weight's values are summed over; see random_array in the header.
std::int64_t fan_in(const Shape& shape) {
  if (shape.size() == 2) {
    return std::min(shape[0], shape[1]);
  }
  return shape.size() == 3 ? shape[1] : elements(Shape(shape.begin() + 1, shape.end()));
}

bool is_vector(const Shape& shape) {
  return std::count_if(shape.begin(), shape.end(),
                       [](std::int64_t extent) { return extent != 1; }) <= 1;
}

}  // namespace

Array evaluate(const Graph& graph, const Node& node, const std::vector<const Array*>& inputs) {
  return evaluate(node.op, node.origin, inputs, type_of(graph.tensors[node.output]));
}

Array evaluate(const Op& op, const std::string& origin, const std::vector<const Array*>& inputs,
               const TensorType& output) {
  return ops::compute_any(op, {origin, inputs, output});
}

std::vector<Array> evaluate(const Graph& graph, const std::map<std::string, Array>& inputs) {
  IdVector<TensorId, std::optional<Array>> made(graph.tensors.size());
  const auto value_of = [&](TensorId id) -> const Array& {
    const Tensor& tensor = graph.tensors[id];
    switch (tensor.kind) {
      case TensorKind::input:
        return require_input(tensor, inputs);
      case TensorKind::constant:
        return require_data(tensor);
      case TensorKind::intermediate:
        break;
    }
    check(made[id].has_value(), "a value is used before it is computed or after it was freed");
    return *made[id];
  };
  const IdVector<TensorId, std::size_t> last = last_uses(graph);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[NodeId(i)];
    std::vector<const Array*> operands;
    for (const TensorId input : node.inputs) {
      operands.push_back(&value_of(input));
    }
    made[node.output] = evaluate(graph, node, operands);
    for (const TensorId input : node.inputs) {
      if (last[input] == i) {
        made[input].reset();
      }
    }
    if (last[node.output] == i) {
      made[node.output].reset();
    }
  }
  std::vector<Array> outputs;
  for (const TensorId output : graph.outputs) {
    outputs.push_back(value_of(output));
  }
  return outputs;
}

Array random_array(const Tensor& tensor, std::uint64_t seed, bool weight) {
  Array array = make_array(tensor.type, tensor.shape);
  Random random(seed_of(tensor, seed));
  const std::int64_t count = elements(tensor.shape);
  const bool vector = weight && is_vector(tensor.shape);
  const double scale = weight && !vector && count > 0
                           ? 1.0 / std::sqrt(static_cast<double>(fan_in(tensor.shape)))
                           : 1.0;
  for (std::int64_t i = 0; i < count; ++i) {
    if (!is_float(tensor.type)) {
      set_integer(array, i, random.integer(0, 1));
    } else {
      set(array, i, vector ? 0.5 + random.uniform() : scale * random.normal());
    }
  }
  return array;
}

}  // namespace systole::graph
