#include "compiler/frontend/builder.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "compiler/graph/evaluate.hpp"
#include "isa/base/error.hpp"

namespace systole::frontend {

namespace {

// Elements touched by one evaluation, products included: the currency of the folding budget.
std::int64_t work_of(const graph::Op& op, const std::vector<graph::TensorType>& operands,
                     std::int64_t result) {
  std::int64_t work = result;
  for (const graph::TensorType& operand : operands) {
    work += graph::elements(operand.shape);
  }
  std::int64_t repeat = 1;
  if (const auto* product = std::get_if<graph::Contraction>(&op)) {
    for (std::size_t i = 0; i < product->lhs.size(); ++i) {
      const bool kept = std::find(product->out.begin(), product->out.end(), product->lhs[i]) !=
                        product->out.end();
      repeat *= kept ? 1 : std::max<std::int64_t>(1, operands[0].shape[i]);
    }
  } else if (std::holds_alternative<graph::Convolution>(op)) {
    const Shape& kernel = operands[1].shape;
    repeat =
        std::max<std::int64_t>(1, graph::elements(kernel) / std::max<std::int64_t>(1, kernel[0]));
  } else if (const auto* pool = std::get_if<graph::Window>(&op)) {
    for (const std::int64_t extent : pool->kernel) {
      repeat = repeat > (std::int64_t{1} << 31U) ? repeat : repeat * extent;
    }
  }
  const std::int64_t limit = std::numeric_limits<std::int64_t>::max() / 4;
  return repeat > limit / std::max<std::int64_t>(1, work) ? limit : work * repeat;
}

constexpr std::int64_t folding_budget = std::int64_t{1} << 34U;

}  // namespace

Builder::Builder(const Options& options) : options_(options), work_left_(folding_budget) {}

std::int64_t Builder::extent(TensorId id, int axis) const {
  return shape(id)[static_cast<std::size_t>(axis)];
}

bool Builder::is_constant(TensorId id) const {
  return graph_.tensors[id].kind == graph::TensorKind::constant;
}

const Array* Builder::value(TensorId id) const {
  return is_constant(id) ? graph_.tensors[id].data.get() : nullptr;
}

void Builder::fail(const std::string& what, const std::string& remedy) const {
  throw Error(origin_, what, remedy);
}

void Builder::check_size(const Shape& shape) const {
  std::int64_t product = 1;
  for (const std::int64_t extent : shape) {
    if (extent < 0) {
      fail(fmt::format("negative extent {} in shape {}", extent, graph::to_string(shape)));
    }
    const std::int64_t factor = std::max<std::int64_t>(extent, 1);
    if (factor > options_.tensor_elements || product > options_.tensor_elements / factor) {
      fail(fmt::format("shape {} has more than {} elements", graph::to_string(shape),
                       options_.tensor_elements));
    }
    product *= factor;
  }
}

void Builder::account(std::int64_t bytes) {
  constant_bytes_ += bytes;
  if (constant_bytes_ > options_.constant_bytes) {
    fail(fmt::format("constants need more than {} bytes", options_.constant_bytes));
  }
}

TensorId Builder::input(const std::string& name, ElementType type, const Shape& shape) {
  check_size(shape);
  return graph::add_input(graph_, name, type, shape);
}

TensorId Builder::weight(const std::string& name, ElementType type, const Shape& shape) {
  check_size(shape);
  if (!options_.random_weights) {
    return graph::add_weight(graph_, name, type, shape);
  }
  account(graph::elements(shape) * graph::size_of(type));
  graph::Tensor tensor;
  tensor.name = name;
  tensor.type = type;
  tensor.shape = shape;
  tensor.kind = graph::TensorKind::constant;
  return graph::add_constant(graph_, name,
                             graph::random_array(tensor, *options_.random_weights, true));
}

TensorId Builder::constant(const std::string& name, Array value) {
  account(static_cast<std::int64_t>(value.data.size()));
  return graph::add_constant(graph_, name, std::move(value));
}

TensorId Builder::constant(Array value) {
  return constant(origin_ + "/constant", std::move(value));
}

TensorId Builder::scalar(double value, ElementType type) {
  Array array = graph::make_array(type, {});
  graph::set(array, 0, value);
  return constant(std::move(array));
}

TensorId Builder::integers(const Integers& values) {
  Array array = graph::make_array(ElementType::i64, {static_cast<std::int64_t>(values.size())});
  for (std::size_t i = 0; i < values.size(); ++i) {
    graph::set_integer(array, static_cast<std::int64_t>(i), values[i]);
  }
  return constant(std::move(array));
}

TensorId Builder::reals(const std::vector<double>& values, ElementType type, Shape shape) {
  Array array = graph::make_array(type, std::move(shape));
  check(static_cast<std::int64_t>(values.size()) == graph::elements(array.shape),
        "values do not fill the shape");
  for (std::size_t i = 0; i < values.size(); ++i) {
    graph::set(array, static_cast<std::int64_t>(i), values[i]);
  }
  return constant(std::move(array));
}

TensorId Builder::iota(std::int64_t count, ElementType type) {
  check_size({count});
  account(count * graph::size_of(type));
  Array array = graph::make_array(type, {count});
  for (std::int64_t i = 0; i < count; ++i) {
    graph::set_integer(array, i, i);
  }
  return graph::add_constant(graph_, origin_ + "/iota", std::move(array));
}

TensorId Builder::filled(const Shape& shape, double value, ElementType type) {
  check_size(shape);
  account(graph::elements(shape) * graph::size_of(type));
  Array array = graph::make_array(type, shape);
  if (value != 0 && !array.data.empty()) {
    graph::set(array, 0, value);
    const std::size_t total = array.data.size();  // doubled until full: a memory copy, not a loop
    for (std::size_t done = static_cast<std::size_t>(graph::size_of(type)); done < total;) {
      const std::size_t more = std::min(done, total - done);
      std::memcpy(array.data.data() + done, array.data.data(), more);
      done += more;
    }
  }
  return graph::add_constant(graph_, origin_ + "/filled", std::move(array));
}

// The operator in the graph, or its value where all operands are constants and the result is small enough.
TensorId Builder::place(graph::Op op, std::vector<TensorId> inputs,
                        const graph::TensorType& requested) {
  const bool all_constant =
      std::all_of(inputs.begin(), inputs.end(), [&](TensorId id) { return is_constant(id); });
  if (all_constant && !inputs.empty()) {
    const TensorId folded = fold(op, inputs, requested);
    if (folded.valid()) {
      return folded;
    }
  }
  if (static_cast<std::int64_t>(graph_.nodes.size()) >= options_.nodes) {
    fail(fmt::format("the model needs more than {} operators", options_.nodes));
  }
  const TensorId out =
      graph::add_node(graph_, origin_, std::move(op), std::move(inputs), requested);
  check_size(shape(out));
  return out;
}

TensorId Builder::fold(const graph::Op& op, const std::vector<TensorId>& inputs,
                       const graph::TensorType& requested) {
  std::vector<graph::TensorType> types;
  std::vector<const Array*> values;
  std::int64_t operand_elements = 0;
  for (const TensorId id : inputs) {
    types.push_back(graph::type_of(graph_.tensors[id]));
    values.push_back(value(id));
    operand_elements += count(id);
  }
  const graph::TensorType result = graph::infer(op, origin_, types, requested);
  check_size(result.shape);
  const std::int64_t size = graph::elements(result.shape);
  if (size > std::max(options_.fold_elements, operand_elements)) {
    return {};
  }
  if (std::find(values.begin(), values.end(), nullptr) != values.end()) {
    return graph::add_weight(graph_, origin_ + "/weight", result.type, result.shape);
  }
  const std::int64_t work = work_of(op, types, size);
  if (work > work_left_) {
    return {};
  }
  work_left_ -= work;
  account(size * graph::size_of(result.type));
  return graph::add_constant(graph_, origin_ + "/folded",
                             graph::evaluate(op, origin_, values, result));
}

TensorId Builder::node(graph::Op op, std::vector<TensorId> inputs) {
  graph::TensorType requested;
  if (!inputs.empty()) {
    requested = graph::type_of(graph_.tensors[inputs[0]]);
  }
  return place(std::move(op), std::move(inputs), requested);
}

TensorId Builder::map(MapFunction function, std::vector<TensorId> inputs, double alpha,
                      double beta) {
  return node(graph::Map{function, alpha, beta}, std::move(inputs));
}

TensorId Builder::cast(TensorId x, ElementType to) {
  if (type(x) == to) {
    return x;
  }
  return place(graph::Map{.function = MapFunction::cast}, {x}, {to, shape(x)});
}

TensorId Builder::reduce(ReduceFunction function, TensorId x, std::vector<int> axes, bool keep) {
  std::sort(axes.begin(), axes.end());
  return axes.empty() ? x : node(graph::Reduce{function, std::move(axes), keep}, {x});
}

TensorId Builder::arg_reduce(TensorId x, const graph::ArgReduce& op) {
  return cast(node(op, {x}), ElementType::i64);
}

TensorId Builder::contract(TensorId lhs, TensorId rhs, graph::Contraction op) {
  return node(std::move(op), {lhs, rhs});
}

TensorId Builder::convolve(TensorId x, TensorId w, const graph::Convolution& op) {
  return node(op, {x, w});
}

TensorId Builder::window(TensorId x, const graph::Window& op) {
  return node(op, {x});
}

TensorId Builder::reshape(TensorId x, const Shape& target) {
  check_size(target);
  if (shape(x) == target) {
    return x;
  }
  if (count(x) != graph::elements(target)) {
    fail(fmt::format("cannot reshape {} to {}: different numbers of elements",
                     graph::to_string(shape(x)), graph::to_string(target)));
  }
  return place(graph::Reshape{}, {x}, {type(x), target});
}

TensorId Builder::transpose(TensorId x, const std::vector<int>& perm) {
  std::vector<int> identity(perm.size());
  std::iota(identity.begin(), identity.end(), 0);
  return perm == identity ? x : node(graph::Transpose{perm}, {x});
}

TensorId Builder::expand(TensorId x, const Shape& target) {
  check_size(target);
  if (shape(x) == target) {
    return x;
  }
  return place(graph::Expand{}, {x}, {type(x), target});
}

TensorId Builder::slice(TensorId x, const Integers& starts, const Integers& steps,
                        const Shape& target) {
  const bool forward = std::all_of(steps.begin(), steps.end(), [](auto step) { return step == 1; });
  if (shape(x) == target && forward) {
    return x;
  }
  return place(graph::Slice{starts, steps}, {x}, {type(x), target});
}

TensorId Builder::slice_axis(TensorId x, int axis, std::int64_t start, std::int64_t extent,
                             std::int64_t step) {
  Shape target = shape(x);
  Integers starts(target.size(), 0);
  Integers steps(target.size(), 1);
  const auto a = static_cast<std::size_t>(axis);
  target[a] = extent;
  starts[a] = start;
  steps[a] = step;
  return slice(x, starts, steps, target);
}

TensorId Builder::concat(const std::vector<TensorId>& parts, int axis) {
  return parts.size() == 1 ? parts[0] : node(graph::Concat{axis}, parts);
}

TensorId Builder::pad(TensorId x, const graph::Pad& op) {
  const auto zero = [](const Integers& amounts) {
    return std::all_of(amounts.begin(), amounts.end(), [](auto amount) { return amount == 0; });
  };
  if (zero(op.low) && zero(op.high) && zero(op.interior)) {
    return x;
  }
  Shape target = shape(x);
  for (std::size_t a = 0; a < target.size(); ++a) {
    const std::int64_t limit = options_.tensor_elements;
    if (op.low[a] > limit || op.high[a] > limit || op.interior[a] > limit || op.low[a] < -limit ||
        op.high[a] < -limit || (target[a] > 1 && op.interior[a] > limit / target[a])) {
      fail(fmt::format("padding of axis {} is too large", a));
    }
    target[a] += op.low[a] + op.high[a] + std::max<std::int64_t>(0, target[a] - 1) * op.interior[a];
  }
  check_size(target);
  return node(op, {x});
}

TensorId Builder::gather(TensorId data, TensorId indices, int axis) {
  return node(graph::Gather{axis}, {data, indices});
}

TensorId Builder::gather_elements(TensorId data, TensorId indices, int axis) {
  return node(graph::GatherElements{axis}, {data, indices});
}

TensorId Builder::scatter_nd(TensorId data, TensorId indices, TensorId updates,
                             graph::ScatterMode mode) {
  return node(graph::ScatterND{mode}, {data, indices, updates});
}

TensorId Builder::insert_axis(TensorId x, int axis) {
  Shape target = shape(x);
  target.insert(target.begin() + axis, 1);
  return reshape(x, target);
}

TensorId Builder::drop_axis(TensorId x, int axis) {
  Shape target = shape(x);
  target.erase(target.begin() + axis);
  return reshape(x, target);
}

}  // namespace systole::frontend
