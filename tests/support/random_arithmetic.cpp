#include <algorithm>
#include <cmath>

#include "tests/support/random_builder.hpp"

namespace systole::test {
namespace {

using graph::ReduceFunction;
using graph::Shape;
using graph::TensorId;

// x times itself along its last axis: both operands are one tensor.
bool add_gram(RandomBuilder& b, TensorId x) {
  const int rank = b.rank_of(x);
  graph::Contraction op;
  Shape result;
  std::int64_t products = 1;
  for (int i = 0; i < rank; ++i) {
    op.lhs.push_back(i);
    op.rhs.push_back(i == rank - 2 ? rank : i);
    products *= b.shape_of(x)[static_cast<std::size_t>(i)];
    if (i < rank - 1) {
      op.out.push_back(i);
      result.push_back(b.shape_of(x)[static_cast<std::size_t>(i)]);
    }
  }
  op.out.push_back(rank);
  result.push_back(b.shape_of(x)[static_cast<std::size_t>(rank - 2)]);
  if (!b.fits(result) || products * result.back() > b.options.max_products) {
    return false;
  }
  graph::add_node(b.graph, b.name("gram"), op, {x, x});
  return true;
}

bool add_contraction(RandomBuilder& b) {
  const auto x = b.pick(0, b.options.max_rank);
  if (!x.has_value()) {
    return false;
  }
  const Shape& shape = b.shape_of(*x);
  const int rank = b.rank_of(*x);
  if (rank >= 2 && b.chance(15)) {
    return add_gram(b, *x);
  }
  graph::Contraction op;
  std::vector<std::pair<int, std::int64_t>> right;
  std::vector<std::pair<int, std::int64_t>> result;
  std::int64_t depth = 1;
  std::int64_t products = 1;
  for (int i = 0; i < rank; ++i) {
    const std::int64_t extent = shape[static_cast<std::size_t>(i)];
    op.lhs.push_back(i);
    products *= extent;
    const auto kind = b.random.integer(0, 3);  // 0: batch, 1: m, else k
    if (kind != 1) {
      right.emplace_back(i, extent);
    }
    if (kind <= 1) {
      result.emplace_back(i, extent);
    } else {
      depth *= extent;
    }
  }
  const auto own = b.random.integer(0, 2);
  for (int i = 0; i < own; ++i) {
    const std::int64_t extent = b.one_of(b.options.extents);
    right.emplace_back(rank + i, extent);
    result.emplace_back(rank + i, extent);
    products *= extent;
  }
  if (b.chance(50)) {
    b.shuffle(right);
    b.shuffle(result);
  }
  Shape right_shape;
  Shape result_shape;
  for (const auto& [label, extent] : right) {
    op.rhs.push_back(label);
    right_shape.push_back(extent);
  }
  for (const auto& [label, extent] : result) {
    op.out.push_back(label);
    result_shape.push_back(extent);
  }
  if (!b.fits(right_shape) || !b.fits(result_shape) || products > b.options.max_products) {
    return false;
  }
  const TensorId y = b.operand(
      right_shape, 1.0 / std::sqrt(static_cast<double>(std::max<std::int64_t>(depth, 1))));
  std::vector<TensorId> operands{*x, y};
  if (b.chance(30)) {
    std::swap(op.lhs, op.rhs);
    std::swap(operands[0], operands[1]);
  }
  graph::add_node(b.graph, b.name("contraction"), op, operands);
  return true;
}

struct Windows {
  std::vector<std::int64_t> kernel, strides, low, high, dilations;
  Shape out;
};

std::optional<Windows> random_windows(RandomBuilder& b, const Shape& shape) {
  Windows w;
  for (std::size_t i = 2; i < shape.size(); ++i) {
    const std::int64_t kernel = b.random.integer(1, 3);
    const std::int64_t dilation = b.chance(25) ? 2 : 1;
    const std::int64_t stride = b.chance(40) ? b.random.integer(2, 4) : 1;
    const std::int64_t low = b.random.integer(0, 2);
    const std::int64_t high = b.random.integer(0, 2);
    const std::int64_t rest = shape[i] + low + high - ((kernel - 1) * dilation + 1);
    if (rest < 0) {
      return std::nullopt;
    }
    w.kernel.push_back(kernel);
    w.strides.push_back(stride);
    w.low.push_back(low);
    w.high.push_back(high);
    w.dilations.push_back(dilation);
    w.out.push_back(rest / stride + 1);
  }
  return w;
}

// An operand [N, C, spatial...], reshaped from another rank if there is none.
std::optional<TensorId> image(RandomBuilder& b) {
  auto x = b.pick(3, std::min(5, b.options.max_rank));
  if (!x.has_value() && b.options.max_rank >= 4) {
    x = b.input(b.shape(4));
  }
  return x;
}

bool add_convolution(RandomBuilder& b) {
  const auto x = image(b);
  if (!x.has_value()) {
    return false;
  }
  const Shape& shape = b.shape_of(*x);
  const auto windows = random_windows(b, shape);
  const std::int64_t channels = shape[1];
  if (!windows.has_value() || channels == 0) {
    return false;
  }
  std::vector<std::int64_t> divisors;
  for (std::int64_t g = 1; g <= channels; ++g) {
    if (channels % g == 0) {
      divisors.push_back(g);
    }
  }
  const std::int64_t groups = b.chance(50) ? 1 : b.chance(50) ? channels : b.one_of(divisors);
  const std::int64_t features =
      groups == 1 ? b.one_of(b.options.extents) : groups * b.random.integer(1, 2);
  Shape weights{features, channels / groups};
  weights.insert(weights.end(), windows->kernel.begin(), windows->kernel.end());
  Shape result{shape[0], features};
  result.insert(result.end(), windows->out.begin(), windows->out.end());
  const std::int64_t depth = graph::elements(Shape(weights.begin() + 1, weights.end()));
  if (!b.fits(weights) || !b.fits(result) ||
      graph::elements(result) * depth > b.options.max_products) {
    return false;
  }
  const TensorId w = b.operand(weights, 1.0 / std::sqrt(static_cast<double>(depth)));
  graph::add_node(
      b.graph, b.name("convolution"),
      graph::Convolution{windows->strides, windows->low, windows->high, windows->dilations, groups},
      {*x, w});
  return true;
}

bool add_window(RandomBuilder& b) {
  const auto x = image(b);
  if (!x.has_value()) {
    return false;
  }
  const Shape& shape = b.shape_of(*x);
  const auto w = random_windows(b, shape);
  if (!w.has_value()) {
    return false;
  }
  for (std::size_t i = 0; i < w->out.size(); ++i) {
    // A maximum over padding alone is -infinity: keep such windows out.
    const std::int64_t last = (w->out[i] - 1) * w->strides[i] - w->low[i];
    const std::int64_t reach = (w->kernel[i] - 1) * w->dilations[i];
    if (reach < w->low[i] || last >= shape[i + 2] ||
        w->dilations[i] > std::max<std::int64_t>(1, shape[i + 2])) {
      return false;
    }
  }
  Shape result{shape[0], shape[1]};
  result.insert(result.end(), w->out.begin(), w->out.end());
  if (!b.fits(result)) {
    return false;
  }
  graph::add_node(b.graph, b.name("window"),
                  graph::Window{b.chance(50) ? ReduceFunction::max : ReduceFunction::sum, w->kernel,
                                w->strides, w->low, w->high, w->dilations},
                  {*x});
  return true;
}

bool add_reduce(RandomBuilder& b) {
  const auto x = b.pick(1, b.options.max_rank);
  if (!x.has_value()) {
    return false;
  }
  graph::Reduce op;
  std::int64_t count = 1;
  for (int i = 0; i < b.rank_of(*x); ++i) {
    if (b.chance(45)) {
      op.axes.push_back(i);
      count *= b.shape_of(*x)[static_cast<std::size_t>(i)];
    }
  }
  if (op.axes.empty()) {
    return false;
  }
  op.keep = b.chance(50);
  op.function =
      b.one_of<ReduceFunction>({ReduceFunction::sum, ReduceFunction::max, ReduceFunction::min,
                                ReduceFunction::mean, ReduceFunction::product});
  if (count == 0 || (op.function == ReduceFunction::product && count > 8)) {
    op.function = ReduceFunction::sum;
  }
  graph::add_node(b.graph, b.name("reduce"), op, {*x});
  return true;
}

bool add_arg_reduce(RandomBuilder& b) {
  const auto x = b.pick(1, b.options.max_rank);
  if (!x.has_value()) {
    return false;
  }
  const auto axis = static_cast<int>(b.random.integer(0, b.rank_of(*x) - 1));
  if (b.shape_of(*x)[static_cast<std::size_t>(axis)] == 0) {
    return false;
  }
  graph::add_node(b.graph, b.name("arg_reduce"),
                  graph::ArgReduce{b.chance(50), axis, b.chance(50), b.chance(30)}, {*x});
  return true;
}

}  // namespace

bool add_arithmetic(RandomBuilder& b, Family family) {
  if (family == Family::contraction) {
    return add_contraction(b);
  }
  if (family == Family::convolution) {
    return add_convolution(b);
  }
  if (family == Family::reduce) {
    return add_reduce(b);
  }
  return family == Family::window ? add_window(b) : add_arg_reduce(b);
}

}  // namespace systole::test
