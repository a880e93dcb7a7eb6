// Recurrent operators, unrolled: one step of core operators per position of the sequence. Products with the input weights do not
// depend on the state and are computed for all positions at once.

#include <algorithm>
#include <functional>

#include <fmt/format.h>

#include "compiler/frontend/onnx/converters.hpp"
#include "compiler/frontend/onnx/products.hpp"

namespace systole::frontend {

namespace {

// Everything of one direction, in the time-major form [time, batch, ...].
struct Direction {
  TensorId x;                           // [time, batch, input]
  TensorId input_weights;               // [gates * hidden, input]
  TensorId recurrent_weights;           // [gates * hidden, hidden]
  TensorId input_bias, recurrent_bias;  // [gates * hidden], may be invalid
  TensorId hidden, cell;                // [batch, hidden], may be invalid: zero
  TensorId peepholes;                   // [3 * hidden], may be invalid
  bool backwards = false;
  int number = 0;
};

struct Layer {
  Call& call;
  int gates = 1;
  std::int64_t hidden = 0;
  std::int64_t time = 0;
  std::int64_t batch = 0;
  bool batch_first = false;
  TensorId lengths;  // [batch], invalid when all are whole
  std::vector<std::string> activations;
};

struct Swept {
  TensorId all;           // [time, batch, hidden]
  TensorId hidden, cell;  // [batch, hidden]
};

TensorId activate(Layer& layer, TensorId x, std::size_t index, int direction) {
  Builder& build = layer.call.build;
  const std::size_t per_direction = layer.gates == 4 ? 3 : layer.gates == 3 ? 2 : 1;
  const std::size_t at = index + static_cast<std::size_t>(direction) * per_direction;
  const double clip = layer.call.real("clip", 0.0);
  if (clip > 0) {
    x = build.map(MapFunction::clip, {x}, -clip, clip);
  }
  const std::string& name = layer.activations[at];
  const std::vector<double> alphas = layer.call.reals("activation_alpha");
  const std::vector<double> betas = layer.call.reals("activation_beta");
  const auto alpha = [&](double otherwise) { return at < alphas.size() ? alphas[at] : otherwise; };
  const auto beta = [&](double otherwise) { return at < betas.size() ? betas[at] : otherwise; };
  if (name == "Sigmoid") {
    return build.map(MapFunction::sigmoid, {x});
  }
  if (name == "Tanh") {
    return build.map(MapFunction::tanh, {x});
  }
  if (name == "Relu") {
    return build.map(MapFunction::relu, {x});
  }
  if (name == "LeakyRelu") {
    return build.map(MapFunction::leaky_relu, {x}, alpha(0.01));
  }
  if (name == "Elu") {
    return build.map(MapFunction::elu, {x}, alpha(1.0));
  }
  if (name == "HardSigmoid") {
    return build.map(MapFunction::clip, {build.add(build.multiply(x, alpha(0.2)), beta(0.5))}, 0.0,
                     1.0);
  }
  if (name == "Affine") {
    return build.add(build.multiply(x, alpha(1.0)), beta(0.0));
  }
  if (name == "Softplus") {
    return build.map(MapFunction::softplus, {x});
  }
  if (name == "Softsign") {
    return build.divide(x, build.add(build.map(MapFunction::abs, {x}), 1.0));
  }
  layer.call.fail(fmt::format("activation '{}' is not supported", name));
}

// Columns of gate `g` in a [.., gates * hidden] tensor.
TensorId gate(Layer& layer, TensorId all, int g) {
  return layer.call.build.slice_axis(all, layer.call.build.rank(all) - 1, g * layer.hidden,
                                     layer.hidden);
}

// x [.., k] times w [n, k] transposed.
TensorId times_transposed(Builder& build, TensorId x, TensorId w) {
  return matmul(build, x, build.transpose(w, {1, 0}));
}

TensorId added(Builder& build, TensorId x, TensorId bias) {
  return bias.valid() ? build.add(x, bias) : x;
}

struct State {
  TensorId hidden, cell;
};

State lstm_step(Layer& layer, const Direction& d, TensorId projected, const State& old) {
  Builder& build = layer.call.build;
  const TensorId sum =
      build.add(projected, times_transposed(build, old.hidden, d.recurrent_weights));
  const auto peep = [&](TensorId x, TensorId cell, int which) {
    if (!d.peepholes.valid()) {
      return x;
    }
    return build.add(x, build.multiply(cell, build.slice_axis(d.peepholes, 0, which * layer.hidden,
                                                              layer.hidden)));
  };
  const TensorId i = activate(layer, peep(gate(layer, sum, 0), old.cell, 0), 0, d.number);
  TensorId f;
  if (layer.call.integer("input_forget", 0) != 0) {
    f = build.subtract(build.scalar(1, build.type(i)), i);
  } else {
    f = activate(layer, peep(gate(layer, sum, 2), old.cell, 2), 0, d.number);
  }
  const TensorId c = activate(layer, gate(layer, sum, 3), 1, d.number);
  State out;
  out.cell = build.add(build.multiply(f, old.cell), build.multiply(i, c));
  const TensorId o = activate(layer, peep(gate(layer, sum, 1), out.cell, 1), 0, d.number);
  out.hidden = build.multiply(o, activate(layer, out.cell, 2, d.number));
  return out;
}

State gru_step(Layer& layer, const Direction& d, TensorId projected, const State& old) {
  Builder& build = layer.call.build;
  const bool after = layer.call.integer("linear_before_reset", 0) != 0;
  const std::int64_t h = layer.hidden;
  const TensorId first_rows = build.slice_axis(d.recurrent_weights, 0, 0, 2 * h);
  TensorId gates = times_transposed(build, old.hidden, first_rows);
  if (d.recurrent_bias.valid()) {
    gates = build.add(gates, build.slice_axis(d.recurrent_bias, 0, 0, 2 * h));
  }
  const TensorId z =
      activate(layer, build.add(gate(layer, projected, 0), gate(layer, gates, 0)), 0, d.number);
  const TensorId r =
      activate(layer, build.add(gate(layer, projected, 1), gate(layer, gates, 1)), 0, d.number);
  const TensorId last_rows = build.slice_axis(d.recurrent_weights, 0, 2 * h, h);
  const TensorId bias =
      d.recurrent_bias.valid() ? build.slice_axis(d.recurrent_bias, 0, 2 * h, h) : TensorId{};
  TensorId inner;
  if (after) {
    inner = build.multiply(r, added(build, times_transposed(build, old.hidden, last_rows), bias));
  } else {
    inner = added(build, times_transposed(build, build.multiply(r, old.hidden), last_rows), bias);
  }
  const TensorId candidate =
      activate(layer, build.add(gate(layer, projected, 2), inner), 1, d.number);
  const TensorId kept = build.multiply(z, old.hidden);
  const TensorId rest = build.subtract(build.scalar(1, build.type(z)), z);
  return {build.add(build.multiply(rest, candidate), kept), {}};
}

State rnn_step(Layer& layer, const Direction& d, TensorId projected, const State& old) {
  Builder& build = layer.call.build;
  const TensorId sum =
      build.add(projected, times_transposed(build, old.hidden, d.recurrent_weights));
  return {activate(layer, sum, 0, d.number), {}};
}

using Step = State (*)(Layer&, const Direction&, TensorId, const State&);

// Where the sequence of a batch entry has ended, the state stays and the output is zero. A backward sweep starts at the last
// position; it stays in its initial state until the entry's own end.
Swept sweep(Layer& layer, const Direction& d, Step step) {
  Builder& build = layer.call.build;
  TensorId projected = added(build, times_transposed(build, d.x, d.input_weights), d.input_bias);
  if (layer.gates != 3) {
    projected = added(build, projected, d.recurrent_bias);  // a GRU's may lie inside the reset
  }
  const ElementType type = build.type(d.x);
  const TensorId zero = build.filled({layer.batch, layer.hidden}, 0, type);
  State state{d.hidden.valid() ? d.hidden : zero, d.cell.valid() ? d.cell : zero};
  std::vector<TensorId> outputs(static_cast<std::size_t>(layer.time));
  for (std::int64_t turn = 0; turn < layer.time; ++turn) {
    const std::int64_t t = d.backwards ? layer.time - 1 - turn : turn;
    const TensorId now = build.drop_axis(build.slice_axis(projected, 0, t, 1), 0);
    State next = step(layer, d, now, state);
    TensorId output = next.hidden;
    if (layer.lengths.valid()) {
      const TensorId position = build.scalar(static_cast<double>(t), build.type(layer.lengths));
      const TensorId inside =
          build.reshape(build.map(MapFunction::less, {position, layer.lengths}), {layer.batch, 1});
      output = build.select(inside, next.hidden, zero);
      next.hidden = build.select(inside, next.hidden, state.hidden);
      if (next.cell.valid()) {
        next.cell = build.select(inside, next.cell, state.cell);
      }
    }
    state = next;
    outputs[static_cast<std::size_t>(t)] = build.insert_axis(output, 0);
  }
  return {build.concat(outputs, 0), state.hidden, state.cell};
}

// Entry `number` of an operand's direction axis, without that axis.
TensorId of_direction(Call& call, int operand, int number, int axis) {
  if (!call.has(operand)) {
    return {};
  }
  return call.build.drop_axis(call.build.slice_axis(call.input(operand), axis, number, 1), axis);
}

Direction direction_of(Layer& layer, int number, bool backwards) {
  Call& call = layer.call;
  Builder& build = call.build;
  Direction d;
  d.number = number;
  d.backwards = backwards;
  d.x = layer.batch_first ? build.transpose(call.input(0), {1, 0, 2}) : call.input(0);
  d.input_weights = of_direction(call, 1, number, 0);
  d.recurrent_weights = of_direction(call, 2, number, 0);
  if (const TensorId bias = of_direction(call, 3, number, 0); bias.valid()) {
    const std::int64_t half = layer.gates * layer.hidden;
    d.input_bias = build.slice_axis(bias, 0, 0, half);
    d.recurrent_bias = build.slice_axis(bias, 0, half, half);
  }
  const int state_axis = layer.batch_first ? 1 : 0;
  d.hidden = of_direction(call, 5, number, state_axis);
  d.cell = of_direction(call, 6, number, state_axis);
  d.peepholes = of_direction(call, 7, number, 0);
  return d;
}

void check_shapes(const Layer& layer, int directions) {
  const Call& call = layer.call;
  const std::int64_t rows = layer.gates * layer.hidden;
  const Shape x = call.shape(0);
  const bool fits = x.size() == 3 && call.shape(1) == Shape{directions, rows, x[2]} &&
                    call.shape(2) == Shape{directions, rows, layer.hidden} &&
                    (!call.has(3) || call.shape(3) == Shape{directions, 2 * rows});
  if (!fits || layer.hidden < 1) {
    call.fail(fmt::format("operands {}, {}, {} do not fit {} directions", graph::to_string(x),
                          graph::to_string(call.shape(1)), graph::to_string(call.shape(2)),
                          directions));
  }
}

Layer layer_of(Call& call, int gates, std::vector<std::string> defaults, int directions) {
  Layer layer{call, gates, 0, 0, 0, false, {}, {}};
  if (call.rank(0) != 3 || call.rank(1) != 3 || call.rank(2) != 3) {
    call.fail("the operands are not of rank 3");
  }
  layer.hidden = call.shape(2)[2];
  check_shapes(layer, directions);
  layer.batch_first = call.integer("layout", 0) != 0;
  layer.time = call.shape(0)[layer.batch_first ? 1 : 0];
  layer.batch = call.shape(0)[layer.batch_first ? 0 : 1];
  if (layer.time < 1 || layer.time > call.build.options().trips) {
    call.fail(fmt::format("a sequence of {} steps cannot be unrolled", layer.time));
  }
  layer.activations = call.texts("activations");
  if (layer.activations.empty()) {
    for (int i = 0; i < directions; ++i) {
      layer.activations.insert(layer.activations.end(), defaults.begin(), defaults.end());
    }
  }
  if (layer.activations.size() < defaults.size() * static_cast<std::size_t>(directions)) {
    call.fail("too few activations");
  }
  if (call.has(4)) {
    const Array* known = call.build.value(call.input(4));
    bool whole = known != nullptr;
    for (std::int64_t i = 0; whole && i < graph::elements(known->shape); ++i) {
      whole = graph::get_integer(*known, i) >= layer.time;
    }
    layer.lengths = whole ? TensorId{} : call.input(4);
  }
  return layer;
}

Values convert_recurrent(Call& call, int gates, const std::vector<std::string>& defaults,
                         Step step) {
  Builder& build = call.build;
  const std::string way = call.text("direction", "forward");
  const int directions = way == "bidirectional" ? 2 : 1;
  Layer layer = layer_of(call, gates, defaults, directions);
  std::vector<TensorId> all;
  std::vector<TensorId> hidden;
  std::vector<TensorId> cell;
  // [time, batch, hidden] -> [time, directions, batch, hidden], or batch first with directions third.
  const int all_axis = layer.batch_first ? 2 : 1;
  const int state_axis = layer.batch_first ? 1 : 0;
  for (int i = 0; i < directions; ++i) {
    const Swept swept = sweep(layer, direction_of(layer, i, way == "reverse" || i == 1), step);
    const TensorId ordered = layer.batch_first ? build.transpose(swept.all, {1, 0, 2}) : swept.all;
    all.push_back(build.insert_axis(ordered, all_axis));
    hidden.push_back(build.insert_axis(swept.hidden, state_axis));
    if (swept.cell.valid() && gates == 4) {
      cell.push_back(build.insert_axis(swept.cell, state_axis));
    }
  }
  Values out = {build.concat(all, all_axis), build.concat(hidden, state_axis)};
  if (!cell.empty()) {
    out.emplace_back(build.concat(cell, state_axis));
  }
  return out;
}

}  // namespace

Values convert_lstm(Call& call) {
  return convert_recurrent(call, 4, {"Sigmoid", "Tanh", "Tanh"}, lstm_step);
}

Values convert_gru(Call& call) {
  return convert_recurrent(call, 3, {"Sigmoid", "Tanh"}, gru_step);
}

Values convert_rnn(Call& call) {
  return convert_recurrent(call, 1, {"Tanh"}, rnn_step);
}

}  // namespace systole::frontend
