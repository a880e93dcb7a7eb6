// Activation functions with parameters.

#include <cmath>

#include "compiler/frontend/onnx/converters.hpp"

namespace systole::frontend {

namespace {

TensorId hard_sigmoid(Builder& build, TensorId x, double alpha, double beta) {
  return build.map(MapFunction::clip, {build.add(build.multiply(x, alpha), beta)}, 0.0, 1.0);
}

TensorId celu(Builder& build, TensorId x, double alpha) {
  const TensorId scaled = build.multiply(x, 1.0 / alpha);
  return build.multiply(build.map(MapFunction::elu, {scaled}, 1.0), alpha);
}

TensorId shrink(Builder& build, TensorId x, double bias, double lambda) {
  const ElementType type = build.type(x);
  const TensorId above = build.map(MapFunction::greater, {x, build.scalar(lambda, type)});
  const TensorId below = build.map(MapFunction::less, {x, build.scalar(-lambda, type)});
  const TensorId low = build.select(below, build.add(x, bias), build.scalar(0, type));
  return build.select(above, build.add(x, -bias), low);
}

}  // namespace

Values convert_activation(Call& call) {
  Builder& build = call.build;
  const TensorId x = call.input(0);
  const ElementType type = build.type(x);
  const std::string& op = call.op();
  if (op == "LeakyRelu") {
    return {build.map(MapFunction::leaky_relu, {x}, call.real("alpha", 0.01))};
  }
  if (op == "Elu") {
    return {build.map(MapFunction::elu, {x}, call.real("alpha", 1.0))};
  }
  if (op == "Selu") {
    const TensorId inner =
        build.map(MapFunction::elu, {x}, call.real("alpha", 1.67326319217681884765625));
    return {build.multiply(inner, call.real("gamma", 1.05070102214813232421875))};
  }
  if (op == "Celu") {
    return {celu(build, x, call.real("alpha", 1.0))};
  }
  if (op == "HardSigmoid") {
    return {hard_sigmoid(build, x, call.real("alpha", 0.2), call.real("beta", 0.5))};
  }
  if (op == "HardSwish") {
    return {build.multiply(x, hard_sigmoid(build, x, 1.0 / 6.0, 0.5))};
  }
  if (op == "Swish") {
    const double alpha = call.real("alpha", 1.0);
    return {alpha == 1.0
                ? build.map(MapFunction::silu, {x})
                : build.multiply(x, build.map(MapFunction::sigmoid, {build.multiply(x, alpha)}))};
  }
  if (op == "Softsign") {
    return {build.divide(x, build.add(build.map(MapFunction::abs, {x}), 1.0))};
  }
  if (op == "ThresholdedRelu") {
    const TensorId alpha = build.scalar(call.real("alpha", 1.0), type);
    return {build.select(build.map(MapFunction::greater, {x, alpha}), x, build.scalar(0, type))};
  }
  return {shrink(build, x, call.real("bias", 0.0), call.real("lambd", 0.5))};
}

Values convert_gelu(Call& call) {
  TensorId x = call.input(0);
  if (call.has(1)) {  // the vendor form adds a bias first
    x = call.build.add(x, call.input(1));
  }
  if (call.op() == "QuickGelu") {
    const TensorId scaled = call.build.multiply(x, call.real("alpha", 1.702));
    return {call.build.multiply(x, call.build.map(MapFunction::sigmoid, {scaled}))};
  }
  const bool by_tanh = call.op() == "FastGelu" || call.text("approximate", "none") == "tanh";
  return {call.build.map(by_tanh ? MapFunction::gelu_tanh : MapFunction::gelu, {x})};
}

Values convert_prelu(Call& call) {
  Builder& build = call.build;
  const TensorId x = call.input(0);
  TensorId slope = call.input(1);
  if (call.opset < 7 && build.rank(slope) == 1 && build.rank(x) > 1) {
    Shape per_channel(static_cast<std::size_t>(build.rank(x) - 1), 1);
    per_channel[0] = build.count(slope);
    slope = build.reshape(slope, per_channel);
  }
  const Array* known = build.value(slope);
  if (known != nullptr && graph::elements(known->shape) == 1 &&
      build.rank(slope) <= build.rank(x)) {
    return {build.map(MapFunction::leaky_relu, {x}, graph::get(*known, 0))};
  }
  const TensorId zero = build.scalar(0, build.type(x));
  const TensorId negative = build.map(MapFunction::less, {x, zero});
  return {build.select(negative, build.multiply(x, slope), x)};
}

}  // namespace systole::frontend
