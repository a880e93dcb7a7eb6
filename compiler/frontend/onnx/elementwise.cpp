// Element by element: one core Map each, plus what opsets below 7 say about broadcasting.

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include <fmt/format.h>

#include "compiler/frontend/onnx/converters.hpp"
#include "compiler/frontend/onnx/proto.hpp"
#include "compiler/frontend/onnx/tensor.hpp"

namespace systole::frontend {

namespace {

struct FunctionName {
  std::string_view op;
  MapFunction function;
};

constexpr std::array unary_functions = {FunctionName{"Abs", MapFunction::abs},
                                        FunctionName{"Neg", MapFunction::negate},
                                        FunctionName{"Sign", MapFunction::sign},
                                        FunctionName{"Relu", MapFunction::relu},
                                        FunctionName{"Exp", MapFunction::exp},
                                        FunctionName{"Log", MapFunction::log},
                                        FunctionName{"Sqrt", MapFunction::sqrt},
                                        FunctionName{"Reciprocal", MapFunction::reciprocal},
                                        FunctionName{"Sigmoid", MapFunction::sigmoid},
                                        FunctionName{"Tanh", MapFunction::tanh},
                                        FunctionName{"Erf", MapFunction::erf},
                                        FunctionName{"Sin", MapFunction::sin},
                                        FunctionName{"Cos", MapFunction::cos},
                                        FunctionName{"Tan", MapFunction::tan},
                                        FunctionName{"Asin", MapFunction::asin},
                                        FunctionName{"Acos", MapFunction::acos},
                                        FunctionName{"Atan", MapFunction::atan},
                                        FunctionName{"Sinh", MapFunction::sinh},
                                        FunctionName{"Cosh", MapFunction::cosh},
                                        FunctionName{"Asinh", MapFunction::asinh},
                                        FunctionName{"Acosh", MapFunction::acosh},
                                        FunctionName{"Atanh", MapFunction::atanh},
                                        FunctionName{"Floor", MapFunction::floor},
                                        FunctionName{"Ceil", MapFunction::ceil},
                                        FunctionName{"Round", MapFunction::round},
                                        FunctionName{"Not", MapFunction::logical_not},
                                        FunctionName{"Softplus", MapFunction::softplus},
                                        FunctionName{"Mish", MapFunction::mish},
                                        FunctionName{"IsNaN", MapFunction::is_nan},
                                        FunctionName{"BitwiseNot", MapFunction::bitwise_not}};

constexpr std::array binary_functions = {FunctionName{"Add", MapFunction::add},
                                         FunctionName{"Sub", MapFunction::subtract},
                                         FunctionName{"Mul", MapFunction::multiply},
                                         FunctionName{"Div", MapFunction::divide},
                                         FunctionName{"Equal", MapFunction::equal},
                                         FunctionName{"Less", MapFunction::less},
                                         FunctionName{"LessOrEqual", MapFunction::less_equal},
                                         FunctionName{"Greater", MapFunction::greater},
                                         FunctionName{"GreaterOrEqual", MapFunction::greater_equal},
                                         FunctionName{"And", MapFunction::logical_and},
                                         FunctionName{"Or", MapFunction::logical_or},
                                         FunctionName{"Xor", MapFunction::logical_xor},
                                         FunctionName{"BitwiseAnd", MapFunction::bitwise_and},
                                         FunctionName{"BitwiseOr", MapFunction::bitwise_or},
                                         FunctionName{"BitwiseXor", MapFunction::bitwise_xor}};

template <std::size_t n>
MapFunction function_of(const std::array<FunctionName, n>& names, const Call& call) {
  const auto found = std::find_if(names.begin(), names.end(),
                                  [&](const FunctionName& row) { return row.op == call.op(); });
  check(found != names.end(), "operator without a function");
  return found->function;
}

// Before opset 7 the right operand broadcasts only on request: `broadcast`, aligned at `axis` where given.
TensorId aligned_right_operand(Call& call) {
  const TensorId right = call.input(1);
  if (call.opset >= 7 || call.integer("broadcast", 0) == 0 || call.attribute("axis") == nullptr) {
    return right;
  }
  const int axis = call.axis(call.integer("axis", 0), call.rank(0));
  Shape shape = call.shape(1);
  const auto rank = static_cast<std::size_t>(call.rank(0));
  const auto used = static_cast<std::size_t>(axis) + shape.size();
  if (used > rank) {
    call.fail(fmt::format("axis {} does not fit the right operand's rank {}", axis, shape.size()));
  }
  shape.resize(shape.size() + rank - used, 1);
  return call.build.reshape(right, shape);
}

}  // namespace

Values convert_unary(Call& call) {
  return {call.build.map(function_of(unary_functions, call), {call.input(0)})};
}

Values convert_binary(Call& call) {
  return {call.build.map(function_of(binary_functions, call),
                         {call.input(0), aligned_right_operand(call)})};
}

Values convert_variadic(Call& call) {
  const std::string& op = call.op();
  const MapFunction function = op == "Max"   ? MapFunction::max
                               : op == "Min" ? MapFunction::min
                                             : MapFunction::add;
  TensorId total = call.input(0);
  for (int i = 1; i < call.operand_count(); ++i) {
    total = call.build.map(function, {total, call.input(i)});
  }
  if (op == "Mean" && call.operand_count() > 1) {
    total =
        call.build.divide(total, call.build.scalar(call.operand_count(), call.build.type(total)));
  }
  return {total};
}

Values convert_power(Call& call) {
  Builder& build = call.build;
  const TensorId base = call.input(0);
  TensorId exponent = aligned_right_operand(call);
  const ElementType type = build.type(base);
  const Array* known = build.value(exponent);
  const bool single = known != nullptr && graph::elements(known->shape) == 1 &&
                      known->shape.size() <= static_cast<std::size_t>(build.rank(base));
  if (single && graph::is_float(type)) {
    // Exact forms of the common exponents: a machine's power is a product of logarithm and exponential.
    const double value = graph::get(*known, 0);
    if (value == 1.0) {
      return {base};
    }
    if (value == 2.0) {
      return {build.map(MapFunction::square, {base})};
    }
    if (value == 3.0) {
      return {build.multiply(build.map(MapFunction::square, {base}), base)};
    }
    if (value == 0.5) {
      return {build.map(MapFunction::sqrt, {base})};
    }
    if (value == -0.5) {
      return {build.map(MapFunction::rsqrt, {base})};
    }
    if (value == -1.0) {
      return {build.map(MapFunction::reciprocal, {base})};
    }
  }
  if (build.type(exponent) == type) {
    return {build.map(MapFunction::power, {base, exponent})};
  }
  // The result has the base's type; a fractional exponent of an integer base still counts.
  const bool fractional = !graph::is_float(type) && graph::is_float(build.type(exponent));
  const ElementType common = fractional ? build.type(exponent) : type;
  const TensorId result =
      build.map(MapFunction::power, {build.cast(base, common), build.cast(exponent, common)});
  return {build.cast(result, type)};
}

Values convert_modulo(Call& call) {
  const bool remainder = call.integer("fmod", 0) != 0;
  return {call.build.map(remainder ? MapFunction::remainder : MapFunction::modulo,
                         {call.input(0), call.input(1)})};
}

Values convert_bit_shift(Call& call) {
  const bool left = call.text("direction", "") == "LEFT";
  return {call.build.map(left ? MapFunction::shift_left : MapFunction::shift_right,
                         {call.input(0), call.input(1)})};
}

Values convert_where(Call& call) {
  return {call.build.select(call.input(0), call.input(1), call.input(2))};
}

Values convert_cast(Call& call) {
  const auto* to = call.attribute("to");
  int number = 0;
  if (to != nullptr && to->has_s()) {  // opsets 1 to 5 name the type
    proto::TensorProto_DataType named = proto::TensorProto::UNDEFINED;
    static_cast<void>(proto::TensorProto_DataType_Parse(to->s(), &named));
    number = named;
  } else {
    number = static_cast<int>(call.integer("to", 0));
  }
  const ElementType type = element_type_of(number, call.build.origin());
  return {call.build.cast(call.input(0), type)};
}

Values convert_cast_like(Call& call) {
  return {call.build.cast(call.input(0), call.type(1))};
}

Values convert_clip(Call& call) {
  Builder& build = call.build;
  TensorId x = call.input(0);
  const ElementType type = build.type(x);
  TensorId low = call.input_or(1, {});
  TensorId high = call.input_or(2, {});
  if (call.attribute("min") != nullptr) {
    low = build.scalar(call.real("min", 0), type);
  }
  if (call.attribute("max") != nullptr) {
    high = build.scalar(call.real("max", 0), type);
  }
  const Array* low_value = low.valid() ? build.value(low) : nullptr;
  const Array* high_value = high.valid() ? build.value(high) : nullptr;
  if (low_value != nullptr && high_value != nullptr && graph::is_float(type)) {
    return {
        build.map(MapFunction::clip, {x}, graph::get(*low_value, 0), graph::get(*high_value, 0))};
  }
  if (low.valid()) {
    x = build.map(MapFunction::max, {x, low});
  }
  if (high.valid()) {
    x = build.map(MapFunction::min, {x, high});
  }
  return {x};
}

Values convert_is_inf(Call& call) {
  Builder& build = call.build;
  const TensorId x = call.input(0);
  const TensorId infinite = build.map(MapFunction::is_inf, {x});
  const bool negative = call.integer("detect_negative", 1) != 0;
  const bool positive = call.integer("detect_positive", 1) != 0;
  if (negative && positive) {
    return {infinite};
  }
  const TensorId zero = build.scalar(0, build.type(x));
  const auto side = negative ? MapFunction::less : MapFunction::greater;
  if (!negative && !positive) {
    return {build.map(MapFunction::logical_xor, {infinite, infinite})};
  }
  return {build.map(MapFunction::logical_and, {infinite, build.map(side, {x, zero})})};
}

}  // namespace systole::frontend
