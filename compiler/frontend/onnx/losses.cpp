// Losses of classification: -weight[target] * logarithm of the target's probability, averaged, summed or as it is.

#include <optional>

#include <fmt/format.h>

#include "compiler/frontend/onnx/converters.hpp"

namespace systole::frontend {

namespace {

// log_probability [N, C, d...], target [N, d...], weight [C] or invalid.
TensorId negative_log_likelihood(Call& call, TensorId log_probability, TensorId target,
                                 TensorId weight) {
  Builder& build = call.build;
  const ElementType type = build.type(log_probability);
  const Shape shape = build.shape(log_probability);
  if (shape.size() < 2 || build.rank(target) + 1 != static_cast<int>(shape.size())) {
    call.fail(fmt::format("target {} does not fit {}", graph::to_string(build.shape(target)),
                          graph::to_string(shape)));
  }
  TensorId index = target;
  TensorId counted;
  if (call.attribute("ignore_index") != nullptr) {
    Array ignored = graph::make_array(build.type(target), {});
    graph::set_integer(ignored, 0, call.integer("ignore_index", 0));
    const TensorId kept =
        build.map(MapFunction::not_equal, {target, build.constant(std::move(ignored))});
    Array first = graph::make_array(build.type(target), {});
    index = build.select(kept, target, build.constant(std::move(first)));  // any class that exists
    counted = build.cast(kept, type);
  }
  const TensorId picked =
      build.drop_axis(build.gather_elements(log_probability, build.insert_axis(index, 1), 1), 1);
  TensorId loss = build.map(MapFunction::negate, {picked});
  TensorId share = counted;
  if (weight.valid()) {
    const TensorId own = build.gather(weight, index, 0);
    share = counted.valid() ? build.multiply(own, counted) : own;
  }
  loss = share.valid() ? build.multiply(loss, share) : loss;
  const std::string reduction = call.text("reduction", "mean");
  if (reduction == "none") {
    return loss;
  }
  std::vector<int> axes;
  for (int a = 0; a < build.rank(loss); ++a) {
    axes.push_back(a);
  }
  if (reduction == "mean" && !share.valid()) {
    return build.reduce(ReduceFunction::mean, loss, axes, false);
  }
  const TensorId sum = build.reduce(ReduceFunction::sum, loss, axes, false);
  return reduction == "sum"
             ? sum
             : build.divide(sum, build.reduce(ReduceFunction::sum, share, axes, false));
}

}  // namespace

Values convert_nll_loss(Call& call) {
  return {negative_log_likelihood(call, call.input(0), call.input(1), call.input_or(2, {}))};
}

Values convert_cross_entropy_loss(Call& call) {
  Builder& build = call.build;
  const TensorId scores = call.input(0);
  if (call.rank(0) < 2) {
    call.fail("the scores have no class axis");
  }
  const TensorId shifted =
      build.subtract(scores, build.reduce(ReduceFunction::max, scores, {1}, true));
  const TensorId sum =
      build.reduce(ReduceFunction::sum, build.map(MapFunction::exp, {shifted}), {1}, true);
  const TensorId log_probability = build.subtract(shifted, build.map(MapFunction::log, {sum}));
  return {negative_log_likelihood(call, log_probability, call.input(1), call.input_or(2, {})),
          log_probability};
}

}  // namespace systole::frontend
