// Movement (and taking a largest or smallest value) ties element types together: its operands and its
// result hold the same values, so they form one class of tensors. A class that reaches a graph output keeps f32, and so
// does one that reaches a graph input unless nothing but products use it, which round their operands anyway; every other
// floating class is what the precision says. (A class that has an input AND arithmetic results in
// it, such as a concatenation of both, keeps f32 too.)
#include "compiler/layout/storage.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "compiler/layout/tensor_classes.hpp"

namespace systole::layout {

namespace {

using graph::ElementType;
using graph::TensorId;

// Largest and smallest values are values of the operand: rounding them apart from it would make x - max(x) positive.
bool selects(graph::ReduceFunction function) {
  return function == graph::ReduceFunction::max || function == graph::ReduceFunction::min;
}

// Arguments whose values come out again.
std::vector<int> moved_arguments(const graph::Node& node) {
  if (std::holds_alternative<graph::Gather>(node.op) ||
      std::holds_alternative<graph::GatherElements>(node.op)) {
    return {0};
  }
  if (std::holds_alternative<graph::ScatterND>(node.op)) {
    return {0, 2};
  }
  const auto* reduce = std::get_if<graph::Reduce>(&node.op);
  const auto* window = std::get_if<graph::Window>(&node.op);
  if ((reduce != nullptr && selects(reduce->function)) ||
      (window != nullptr && selects(window->function))) {
    return {0};
  }
  const bool moves = std::holds_alternative<graph::Transpose>(node.op) ||
                     std::holds_alternative<graph::Reshape>(node.op) ||
                     std::holds_alternative<graph::Slice>(node.op) ||
                     std::holds_alternative<graph::Concat>(node.op) ||
                     std::holds_alternative<graph::Pad>(node.op) ||
                     std::holds_alternative<graph::Expand>(node.op) ||
                     std::holds_alternative<graph::Convert>(node.op);
  std::vector<int> arguments(moves ? node.inputs.size() : 0);
  std::iota(arguments.begin(), arguments.end(), 0);
  return arguments;
}

bool is_product(const graph::Op& op) {
  return std::holds_alternative<graph::Contraction>(op) ||
         std::holds_alternative<graph::Convolution>(op);
}

void refuse_wide_integers(const graph::Tensor& tensor) {
  if (tensor.kind != graph::TensorKind::constant || tensor.data == nullptr) {
    return;
  }
  const bool is_signed = tensor.type == ElementType::i64;
  const std::int64_t low = is_signed ? std::numeric_limits<std::int32_t>::min() : 0;
  const std::int64_t high = is_signed ? std::int64_t{std::numeric_limits<std::int32_t>::max()}
                                      : std::int64_t{std::numeric_limits<std::uint32_t>::max()};
  for (std::int64_t i = 0; i < graph::elements(tensor.shape); ++i) {
    const std::int64_t value = graph::get_integer(*tensor.data, i);
    if (value < low || value > high) {
      throw Error("constant \"" + tensor.name + "\"",
                  "value " + std::to_string(value) + " does not fit the machine's 32-bit integers",
                  "use values that fit into 32 bits");
    }
  }
}

// Whether rounding to bf16 would turn a finite value of the constant into infinity: masks hold the
// lowest float.
bool overflows_bf16(const graph::Tensor& tensor) {
  constexpr double limit =
      0x1.ffp127;  // halfway between the largest bf16 and the next power of two
  if (tensor.data == nullptr) {
    return false;
  }
  for (std::int64_t i = 0; i < graph::elements(tensor.shape); ++i) {
    const double value = std::abs(graph::get(*tensor.data, i));
    if (value >= limit && std::isfinite(value)) {
      return true;
    }
  }
  return false;
}

// Scalars become immediates of instructions, which are f32 anyway.
bool keeps_f32(const graph::Tensor& tensor) {
  return tensor.kind == graph::TensorKind::constant && graph::is_float(tensor.type) &&
         (graph::elements(tensor.shape) == 1 || overflows_bf16(tensor));
}

isa::DType storage_type(ElementType type, isa::DType real) {
  switch (type) {
    case ElementType::f32:
    case ElementType::f64:
    case ElementType::f16:
    case ElementType::bf16:
      return real;
    case ElementType::i64:
    case ElementType::i32:
      return isa::DType::i32;
    case ElementType::i16:
      return isa::DType::i16;
    case ElementType::i8:
      return isa::DType::i8;
    case ElementType::u64:
    case ElementType::u32:
      return isa::DType::u32;
    case ElementType::u16:
      return isa::DType::u16;
    case ElementType::u8:
      return isa::DType::u8;
    case ElementType::boolean:
      return isa::DType::b8;
  }
  check(false, "every element type has a storage type");
  return isa::DType::f32;
}

// By class: whether products use it and, movement aside, nothing else does.
std::vector<bool> classes_of_products(const graph::Graph& graph, TensorClasses& classes) {
  std::vector<bool> products(graph.tensors.size(), false);
  std::vector<bool> others(graph.tensors.size(), false);
  for (const graph::Node& node : graph.nodes) {
    const std::vector<int> moved = moved_arguments(node);
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (std::find(moved.begin(), moved.end(), static_cast<int>(i)) == moved.end()) {
        (is_product(node.op) ? products : others)[classes.find(node.inputs[i])] = true;
      }
    }
  }
  for (std::size_t i = 0; i < products.size(); ++i) {
    products[i] = products[i] && !others[i];
  }
  return products;
}

}  // namespace

IdVector<TensorId, isa::DType> storage_types(const graph::Graph& graph, Precision precision) {
  TensorClasses classes(graph.tensors.size());
  for (const graph::Node& node : graph.nodes) {
    for (const int argument : moved_arguments(node)) {
      classes.join(node.inputs[static_cast<std::size_t>(argument)], node.output);
    }
  }
  std::vector<bool> exact(graph.tensors.size(), precision == Precision::fp32);
  // What the environment sees keeps its values: bf16 holds those of a bf16 tensor, and products round theirs anyway.
  const std::vector<bool> rounded = classes_of_products(graph, classes);
  for (const TensorId tensor : graph.inputs) {
    if (graph.tensors[tensor].type != ElementType::bf16 && !rounded[classes.find(tensor)]) {
      exact[classes.find(tensor)] = true;
    }
  }
  for (const TensorId tensor : graph.outputs) {
    if (graph.tensors[tensor].type != ElementType::bf16) {
      exact[classes.find(tensor)] = true;
    }
  }
  for (const TensorId tensor : graph.tensors.ids()) {
    if (keeps_f32(graph.tensors[tensor])) {
      exact[classes.find(tensor)] = true;
    }
  }
  IdVector<TensorId, isa::DType> types(graph.tensors.size());
  for (const TensorId id : graph.tensors.ids()) {
    const graph::Tensor& tensor = graph.tensors[id];
    if (tensor.type == ElementType::i64 || tensor.type == ElementType::u64) {
      refuse_wide_integers(tensor);
    }
    types[id] =
        storage_type(tensor.type, exact[classes.find(id)] ? isa::DType::f32 : isa::DType::bf16);
  }
  return types;
}

}  // namespace systole::layout
