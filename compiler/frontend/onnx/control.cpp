// Control flow. The core graph has none: a constant condition picks its branch, a data-dependent one computes both and selects,
// loops with a known number of turns are unrolled.

#include <algorithm>

#include <fmt/format.h>

#include "compiler/frontend/onnx/converters.hpp"
#include "compiler/frontend/onnx/importer.hpp"
#include "compiler/frontend/onnx/proto.hpp"

namespace systole::frontend {

namespace {

bool is_true(const Array& value) {
  return graph::elements(value.shape) == 1 && graph::get(value, 0) != 0;
}

// Both branches run; possible when they give tensors of the same shapes.
Values selected(Call& call, const Values& yes, const Values& no) {
  Builder& build = call.build;
  Values out;
  for (std::size_t i = 0; i < yes.size() && i < no.size(); ++i) {
    const TensorId a = yes[i].tensor;
    const TensorId b = no[i].tensor;
    if (!a.valid() || !b.valid() || build.shape(a) != build.shape(b) ||
        build.type(a) != build.type(b)) {
      call.fail("the condition depends on data and the branches give values of different shapes",
                "make the condition constant");
    }
    const TensorId condition = build.reshape(call.input(0), {});
    out.emplace_back(build.select(condition, a, b));
  }
  return out;
}

void check_trips(const Call& call, std::int64_t trips) {
  if (trips > call.build.options().trips) {
    call.fail(fmt::format("{} turns are too many to unroll", trips),
              fmt::format("the limit is {}", call.build.options().trips));
  }
}

// The values of one output over all turns, joined along a new axis.
TensorId stacked(Builder& build, const std::vector<TensorId>& parts, int axis) {
  std::vector<TensorId> rows;
  for (const TensorId part : parts) {
    rows.push_back(build.insert_axis(part, axis));
  }
  return build.concat(rows, axis);
}

TensorId scalar_of(Builder& build, std::int64_t value, ElementType type) {
  Array array = graph::make_array(type, {});
  graph::set_integer(array, 0, value);
  return build.constant(std::move(array));
}

struct LoopState {
  Values carried;
  std::vector<std::vector<TensorId>> collected;  // per scan output, one per turn
};

// The number of turns, when nothing but the trip count and constants decides it; -1 without a trip count.
std::int64_t trip_count(Call& call) {
  if (!call.has(0)) {
    return -1;
  }
  return std::max<std::int64_t>(0, call.integer_of(0, "the trip count"));
}

// Whether another turn is taken; throws when that depends on data.
bool continues(Call& call, const Value& condition) {
  if (condition.empty()) {
    return true;
  }
  const Array* value = call.build.value(condition.tensor);
  if (value == nullptr) {
    call.fail("whether it goes on depends on the values of a graph input",
              "make the number of turns constant");
  }
  return is_true(*value);
}

TensorId empty_scan(Call& call, const proto::GraphProto& body, int output) {
  Shape shape = {0};
  for (const auto& dim : body.output(output).type().tensor_type().shape().dim()) {
    shape.push_back(dim.has_dim_value() ? dim.dim_value() : 0);
  }
  return call.build.filled(shape, 0, ElementType::f32);
}

struct ScanPlan {
  int states = 0;
  std::vector<int> axes;        // per scanned input
  std::vector<bool> backwards;  // per scanned input
  std::vector<int> out_axes;
  std::vector<bool> out_backwards;
  std::int64_t turns = 0;
};

std::vector<bool> directions(const Call& call, std::string_view name, int count) {
  std::vector<bool> out(static_cast<std::size_t>(count), false);
  const Integers given = call.integers(name).value_or(Integers());
  for (std::size_t i = 0; i < out.size() && i < given.size(); ++i) {
    out[i] = given[i] != 0;
  }
  return out;
}

ScanPlan plan_scan(Call& call, const proto::GraphProto& body) {
  ScanPlan plan;
  const auto scanned = call.integer("num_scan_inputs", 0);
  if (scanned < 1 || scanned > call.operand_count()) {
    call.fail("num_scan_inputs does not fit the operands");
  }
  plan.states = call.operand_count() - static_cast<int>(scanned);
  const int results = body.output_size() - plan.states;
  if (results < 0) {
    call.fail("the body has fewer outputs than states");
  }
  const Integers in_axes = call.integers("scan_input_axes").value_or(Integers());
  for (int i = 0; i < scanned; ++i) {
    const int rank = call.rank(plan.states + i);
    const auto at = static_cast<std::size_t>(i);
    plan.axes.push_back(call.axis(at < in_axes.size() ? in_axes[at] : 0, rank));
    const std::int64_t extent = call.build.extent(call.input(plan.states + i), plan.axes.back());
    if (i > 0 && extent != plan.turns) {
      call.fail("the scanned operands differ in length");
    }
    plan.turns = extent;
  }
  const Integers out_axes = call.integers("scan_output_axes").value_or(Integers());
  for (int i = 0; i < results; ++i) {
    const auto at = static_cast<std::size_t>(i);
    plan.out_axes.push_back(at < out_axes.size() ? static_cast<int>(out_axes[at]) : 0);
  }
  plan.backwards = directions(call, "scan_input_directions", static_cast<int>(scanned));
  plan.out_backwards = directions(call, "scan_output_directions", results);
  check_trips(call, plan.turns);
  return plan;
}

Values run_scan(Call& call, const proto::GraphProto& body, const ScanPlan& plan, Values states,
                const std::vector<TensorId>& scanned) {
  Builder& build = call.build;
  const std::string origin = build.origin();
  std::vector<std::vector<TensorId>> collected(plan.out_axes.size());
  for (std::int64_t turn = 0; turn < plan.turns; ++turn) {
    Values inputs = states;
    for (std::size_t i = 0; i < scanned.size(); ++i) {
      const std::int64_t at = plan.backwards[i] ? plan.turns - 1 - turn : turn;
      inputs.emplace_back(
          build.drop_axis(build.slice_axis(scanned[i], plan.axes[i], at, 1), plan.axes[i]));
    }
    const Values results =
        call.importer.run_body(body, inputs, call.scope, fmt::format("{}/{}/", origin, turn));
    build.set_origin(origin);
    const auto split = results.begin() + plan.states;
    states.assign(results.begin(), split);
    for (std::size_t i = 0; i < collected.size(); ++i) {
      collected[i].push_back(results[static_cast<std::size_t>(plan.states) + i].tensor);
    }
  }
  Values out = states;
  for (std::size_t i = 0; i < collected.size(); ++i) {
    if (collected[i].empty()) {
      call.fail("a scan over an empty axis is not supported");
    }
    if (plan.out_backwards[i]) {
      std::reverse(collected[i].begin(), collected[i].end());
    }
    const int rank = build.rank(collected[i][0]) + 1;
    out.emplace_back(stacked(build, collected[i], call.axis(plan.out_axes[i], rank)));
  }
  return out;
}

// Opset 8 adds a batch axis in front of everything; each batch entry is scanned by itself.
Values convert_scan_8(Call& call, const proto::GraphProto& body) {
  Builder& build = call.build;
  const auto scanned_count = static_cast<int>(call.integer("num_scan_inputs", 0));
  const int states = call.operand_count() - 1 - scanned_count;
  if (call.has(0) || scanned_count < 1 || states < 0) {
    call.fail("this form of opset 8 is not supported", "convert the model to opset 9");
  }
  const std::int64_t batch = build.extent(call.input(1 + states), 0);
  ScanPlan plan;
  plan.states = states;
  plan.axes.assign(static_cast<std::size_t>(scanned_count), 0);
  plan.backwards = directions(call, "directions", scanned_count);
  plan.out_axes.assign(static_cast<std::size_t>(std::max(0, body.output_size() - states)), 0);
  plan.out_backwards.assign(plan.out_axes.size(), false);
  plan.turns = build.extent(call.input(1 + states), 1);
  check_trips(call, plan.turns * std::max<std::int64_t>(1, batch));
  std::vector<std::vector<TensorId>> parts(static_cast<std::size_t>(body.output_size()));
  for (std::int64_t b = 0; b < batch; ++b) {
    const auto entry = [&](int i) {
      return build.drop_axis(build.slice_axis(call.input(i), 0, b, 1), 0);
    };
    Values initial;
    std::vector<TensorId> scanned;
    for (int i = 0; i < states; ++i) {
      initial.emplace_back(entry(1 + i));
    }
    for (int i = 0; i < scanned_count; ++i) {
      scanned.push_back(entry(1 + states + i));
    }
    const Values results = run_scan(call, body, plan, initial, scanned);
    for (std::size_t i = 0; i < results.size(); ++i) {
      parts[i].push_back(results[i].tensor);
    }
  }
  Values out;
  for (const auto& part : parts) {
    out.emplace_back(stacked(build, part, 0));
  }
  return out;
}

}  // namespace

Values convert_if(Call& call) {
  const std::string origin = call.build.origin();
  const auto branch = [&](const char* name) {
    const Values out =
        call.importer.run_body(call.body(name), {}, call.scope, fmt::format("{}/", origin));
    call.build.set_origin(origin);
    return out;
  };
  if (const Array* condition = call.build.value(call.input(0))) {
    return branch(is_true(*condition) ? "then_branch" : "else_branch");
  }
  const Values yes = branch("then_branch");
  return selected(call, yes, branch("else_branch"));
}

Values convert_loop(Call& call) {
  Builder& build = call.build;
  const std::string origin = build.origin();
  const proto::GraphProto& body = call.body("body");
  const std::int64_t limit = trip_count(call);
  const int states = std::max(0, call.operand_count() - 2);
  if (body.output_size() < states + 1) {
    call.fail("the body has fewer outputs than carried values");
  }
  Value condition = call.operand_count() > 1 ? call.operands[1] : Value{};
  LoopState state;
  state.carried.assign(call.operands.begin() + std::min(2, call.operand_count()),
                       call.operands.end());
  state.collected.resize(static_cast<std::size_t>(body.output_size() - 1 - states));
  for (std::int64_t turn = 0; (limit < 0 || turn < limit) && continues(call, condition); ++turn) {
    check_trips(call, turn + 1);
    Values inputs = {
        scalar_of(build, turn, ElementType::i64),
        condition.empty() ? Value{scalar_of(build, 1, ElementType::boolean)} : condition};
    inputs.insert(inputs.end(), state.carried.begin(), state.carried.end());
    const Values results =
        call.importer.run_body(body, inputs, call.scope, fmt::format("{}/{}/", origin, turn));
    build.set_origin(origin);
    condition = results[0];
    state.carried.assign(results.begin() + 1, results.begin() + 1 + states);
    for (std::size_t i = 0; i < state.collected.size(); ++i) {
      state.collected[i].push_back(results[1 + static_cast<std::size_t>(states) + i].tensor);
    }
  }
  Values out = state.carried;
  for (std::size_t i = 0; i < state.collected.size(); ++i) {
    const bool none = state.collected[i].empty();
    out.emplace_back(none ? empty_scan(call, body, 1 + states + static_cast<int>(i))
                          : stacked(build, state.collected[i], 0));
  }
  return out;
}

Values convert_scan(Call& call) {
  const proto::GraphProto& body = call.body("body");
  if (call.opset < 9) {
    return convert_scan_8(call, body);
  }
  const ScanPlan plan = plan_scan(call, body);
  Values states(call.operands.begin(), call.operands.begin() + plan.states);
  std::vector<TensorId> scanned;
  for (int i = plan.states; i < call.operand_count(); ++i) {
    scanned.push_back(call.input(i));
  }
  return run_scan(call, body, plan, std::move(states), scanned);
}

}  // namespace systole::frontend
