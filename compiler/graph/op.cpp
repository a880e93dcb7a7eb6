#include "compiler/graph/op.hpp"

#include <type_traits>

namespace systole::graph {

std::string_view name_of(MapFunction function) {
  switch (function) {
    case MapFunction::cast:
      return "cast";
    case MapFunction::copy:
      return "copy";
    case MapFunction::negate:
      return "negate";
    case MapFunction::abs:
      return "abs";
    case MapFunction::sign:
      return "sign";
    case MapFunction::relu:
      return "relu";
    case MapFunction::exp:
      return "exp";
    case MapFunction::log:
      return "log";
    case MapFunction::sqrt:
      return "sqrt";
    case MapFunction::rsqrt:
      return "rsqrt";
    case MapFunction::reciprocal:
      return "reciprocal";
    case MapFunction::square:
      return "square";
    case MapFunction::sigmoid:
      return "sigmoid";
    case MapFunction::tanh:
      return "tanh";
    case MapFunction::erf:
      return "erf";
    case MapFunction::gelu:
      return "gelu";
    case MapFunction::gelu_tanh:
      return "gelu_tanh";
    case MapFunction::silu:
      return "silu";
    case MapFunction::softplus:
      return "softplus";
    case MapFunction::mish:
      return "mish";
    case MapFunction::sin:
      return "sin";
    case MapFunction::cos:
      return "cos";
    case MapFunction::tan:
      return "tan";
    case MapFunction::asin:
      return "asin";
    case MapFunction::acos:
      return "acos";
    case MapFunction::atan:
      return "atan";
    case MapFunction::sinh:
      return "sinh";
    case MapFunction::cosh:
      return "cosh";
    case MapFunction::asinh:
      return "asinh";
    case MapFunction::acosh:
      return "acosh";
    case MapFunction::atanh:
      return "atanh";
    case MapFunction::floor:
      return "floor";
    case MapFunction::ceil:
      return "ceil";
    case MapFunction::round:
      return "round";
    case MapFunction::logical_not:
      return "logical_not";
    case MapFunction::bitwise_not:
      return "bitwise_not";
    case MapFunction::is_nan:
      return "is_nan";
    case MapFunction::is_inf:
      return "is_inf";
    case MapFunction::clip:
      return "clip";
    case MapFunction::leaky_relu:
      return "leaky_relu";
    case MapFunction::elu:
      return "elu";
    case MapFunction::add:
      return "add";
    case MapFunction::subtract:
      return "subtract";
    case MapFunction::multiply:
      return "multiply";
    case MapFunction::divide:
      return "divide";
    case MapFunction::max:
      return "max";
    case MapFunction::min:
      return "min";
    case MapFunction::power:
      return "power";
    case MapFunction::modulo:
      return "modulo";
    case MapFunction::remainder:
      return "remainder";
    case MapFunction::equal:
      return "equal";
    case MapFunction::not_equal:
      return "not_equal";
    case MapFunction::less:
      return "less";
    case MapFunction::less_equal:
      return "less_equal";
    case MapFunction::greater:
      return "greater";
    case MapFunction::greater_equal:
      return "greater_equal";
    case MapFunction::logical_and:
      return "logical_and";
    case MapFunction::logical_or:
      return "logical_or";
    case MapFunction::logical_xor:
      return "logical_xor";
    case MapFunction::bitwise_and:
      return "bitwise_and";
    case MapFunction::bitwise_or:
      return "bitwise_or";
    case MapFunction::bitwise_xor:
      return "bitwise_xor";
    case MapFunction::shift_left:
      return "shift_left";
    case MapFunction::shift_right:
      return "shift_right";
    case MapFunction::select:
      return "select";
  }
  return "?";
}

int operands_of(MapFunction function) {
  if (function == MapFunction::select) {
    return 3;
  }
  return function < MapFunction::add ? 1 : 2;
}

std::string_view name_of(ReduceFunction function) {
  switch (function) {
    case ReduceFunction::sum:
      return "sum";
    case ReduceFunction::max:
      return "max";
    case ReduceFunction::min:
      return "min";
    case ReduceFunction::product:
      return "product";
    case ReduceFunction::mean:
      return "mean";
  }
  return "?";
}

std::string_view name_of(ScatterMode mode) {
  switch (mode) {
    case ScatterMode::assign:
      return "assign";
    case ScatterMode::add:
      return "add";
    case ScatterMode::multiply:
      return "multiply";
    case ScatterMode::max:
      return "max";
    case ScatterMode::min:
      return "min";
  }
  return "?";
}

namespace {

std::string_view name(const Contraction&) {
  return "contraction";
}
std::string_view name(const Convolution&) {
  return "convolution";
}
std::string_view name(const Map& op) {
  return name_of(op.function);
}
std::string_view name(const Reduce&) {
  return "reduce";
}
std::string_view name(const ArgReduce&) {
  return "arg_reduce";
}
std::string_view name(const Window&) {
  return "window";
}
std::string_view name(const Transpose&) {
  return "transpose";
}
std::string_view name(const Reshape&) {
  return "reshape";
}
std::string_view name(const Slice&) {
  return "slice";
}
std::string_view name(const Concat&) {
  return "concat";
}
std::string_view name(const Pad&) {
  return "pad";
}
std::string_view name(const Expand&) {
  return "expand";
}
std::string_view name(const Gather&) {
  return "gather";
}
std::string_view name(const GatherElements&) {
  return "gather_elements";
}
std::string_view name(const ScatterND&) {
  return "scatter";
}
std::string_view name(const Convert&) {
  return "convert";
}

}  // namespace

std::string_view name_of(const Op& op) {
  return std::visit([](const auto& each) { return name(each); }, op);
}

}  // namespace systole::graph
