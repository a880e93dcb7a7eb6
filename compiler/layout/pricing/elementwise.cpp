// Vector and scalar engines: time goes with the elements per partition, however many partitions
// take part.
#include <algorithm>
#include <numeric>

#include "compiler/layout/pricing/work.hpp"

namespace systole::layout {

namespace {

// Passes over the output's elements. `vector_pair`: passes that read two whole tiles and therefore
// count twice.
struct Passes {
  double vector = 0;
  double vector_pair = 0;
  double scalar = 0;
};

Passes passes_of(graph::MapFunction function) {
  using F = graph::MapFunction;
  switch (function) {
    case F::cast:
    case F::copy:
    case F::negate:
    case F::abs:
    case F::sign:
    case F::relu:
    case F::clip:
    case F::logical_not:
    case F::bitwise_not:
    case F::is_nan:
    case F::is_inf:
    case F::square:
      return {1, 0, 0};
    case F::exp:
    case F::log:
    case F::sqrt:
    case F::rsqrt:
    case F::sigmoid:
    case F::tanh:
    case F::erf:
    case F::gelu:
    case F::gelu_tanh:
    case F::silu:
    case F::softplus:
    case F::mish:
    case F::sin:
    case F::atan:
      return {0, 0, 1};
    case F::reciprocal:
      return {8, 0, 0};
    case F::floor:
    case F::ceil:
    case F::round:
    case F::leaky_relu:
      return {2, 1, 0};
    case F::elu:
      return {2, 1, 1};
    case F::cos:
    case F::sinh:
    case F::cosh:
    case F::asinh:
    case F::acosh:
    case F::atanh:
      return {2, 1, 2};
    case F::tan:
    case F::asin:
    case F::acos:
      return {10, 1, 3};
    case F::add:
    case F::subtract:
    case F::multiply:
    case F::max:
    case F::min:
    case F::equal:
    case F::not_equal:
    case F::less:
    case F::less_equal:
    case F::greater:
    case F::greater_equal:
    case F::logical_and:
    case F::logical_or:
    case F::logical_xor:
    case F::bitwise_and:
    case F::bitwise_or:
    case F::bitwise_xor:
    case F::shift_left:
    case F::shift_right:
    case F::divide:
      return {0, 1, 0};
    case F::power:
      return {0, 1, 2};
    case F::modulo:
    case F::remainder:
      return {10, 3, 0};
    case F::select:
      return {1, 2, 0};
  }
  return {};
}

// Elements of the result inside a partition, next to each other, that take the same element of an operand.
std::int64_t repeats(const NodeViews& node, std::size_t operand) {
  const Layout& layout = node.configuration.output;
  const graph::Shape& out = *node.site.shapes.back();
  const graph::Shape& in = *node.site.shapes[operand];
  const std::size_t missing = out.size() - in.size();
  std::int64_t count = 1;
  for (std::size_t i = layout.order.size(); i-- > static_cast<std::size_t>(layout.split);) {
    const auto axis = static_cast<std::size_t>(layout.order[i]);
    if (out[axis] != 1 && axis >= missing && in[axis - missing] == out[axis]) {
      break;
    }
    count *= out[axis];
  }
  return count;
}

// Elements from which rows inside a partition are worked on one by one.
constexpr std::int64_t long_row = 128;

// One value per partition at most, or per long row of one: instructions take such an operand as a scalar beside the data.
bool is_scalar(const NodeViews& node, std::size_t operand) {
  const View& view = node.views[operand];
  const View& out = node.views.back();
  return (view.free == 1 && out.free > 1) ||
         (!view.hbm && view.partitions == out.partitions && repeats(node, operand) >= long_row);
}

// Partitions over which an operand that lacks some of the result's partition axes differs: with whole blocks that are alike,
// one of them serves all.
std::int64_t distinct_partitions(const NodeViews& node, std::size_t operand, std::int64_t lanes) {
  const Layout& layout = node.configuration.output;
  const graph::Shape& out = *node.site.shapes.back();
  const graph::Shape& in = *node.site.shapes[operand];
  const std::size_t missing = out.size() - in.size();
  std::int64_t period = 1;
  bool leads = false;
  for (int i = 0; i < layout.split; ++i) {
    const auto axis = static_cast<std::size_t>(layout.order[static_cast<std::size_t>(i)]);
    leads = leads || (out[axis] != 1 && axis >= missing && in[axis - missing] == out[axis]);
    period *= leads ? out[axis] : 1;
  }
  return std::min(node.views.back().partitions, std::lcm(period, lanes));
}

// The operand lacks some of the result's partition axes: its rows are repeated across the partitions, by DMA or, if it is a
// short row that was computed into one partition, by a product with ones.
void broadcast(Work& work, const NodeViews& node, std::size_t place) {
  const View& operand = node.views[place];
  const View& out = node.views.back();
  if (operand.partitions >= out.partitions || operand.elements() <= 1) {
    work.operand(operand);
    return;
  }
  const isa::Machine& machine = work.machine();
  if (!operand.hbm && !operand.ready && operand.partitions == 1 &&
      isa::is_float(node.dtypes[place]) && operand.free <= machine.moving_max) {
    work.multiply(node.dtypes[place] == isa::DType::f32, 1, operand.free);
    work.stationary(1, std::min<std::int64_t>(out.partitions, machine.array_columns), operand.free);
    work.elementwise(Feature::vector_element, 1, operand.free);
    work.add(Feature::handover, 3);  // array, eviction, consumer
    return;
  }
  const std::int64_t partitions = distinct_partitions(node, place, machine.partitions);
  work.rows(static_cast<double>(partitions * operand.free * operand.bytes),
            static_cast<double>(operand.free * operand.bytes), partitions);
  if (!operand.ready) {
    work.add(Feature::transfer, 1);
  }
}

}  // namespace

void price_map(Work& work, const graph::Map& op, const NodeViews& node) {
  const View& out = node.views.back();
  const Passes passes = passes_of(op.function);
  int tiles = 0;
  bool narrow = node.dtypes.back() == isa::DType::bf16;
  for (std::size_t i = 0; i + 1 < node.views.size(); ++i) {
    broadcast(work, node, i);
    const bool scalar = is_scalar(node, i);
    tiles += scalar ? 0 : 1;
    // A tile that is broadcast along the innermost free axis is read with stride 0, which has no fast mode.
    narrow = narrow && node.dtypes[i] == isa::DType::bf16 && (scalar || repeats(node, i) == 1);
  }
  using F = graph::MapFunction;
  // A scale or shift of what a function of Scalar's table reads is part of its instruction, one per row of one number.
  if (out.folds && tiles == 1 &&
      (op.function == F::add || op.function == F::subtract || op.function == F::multiply)) {
    std::int64_t row = out.per_partition();
    for (std::size_t i = 0; i + 1 < node.views.size(); ++i) {
      row = is_scalar(node, i) ? std::min(row, repeats(node, i)) : row;
    }
    work.add(Feature::instruction,
             static_cast<double>(parts(out.per_partition(), std::max<std::int64_t>(1, row)) - 1));
    return;
  }
  // Two tiles are read one after the other, except 2-byte sums, differences and products.
  const bool fast =
      narrow && (op.function == F::add || op.function == F::subtract || op.function == F::multiply);
  const double pair = tiles >= 2 && !fast ? 2.0 : 1.0;
  const std::int64_t elements = out.per_partition();
  if (passes.scalar > 0) {
    work.add(Feature::table, 1);
  }
  const bool follows = std::any_of(node.views.begin(), node.views.end() - 1,
                                   [](const View& view) { return view.passing; });
  if (follows) {
    const double all = passes.vector + passes.vector_pair * pair + passes.scalar;
    work.add(Feature::fused_element, all * static_cast<double>(elements));
    work.add(Feature::follower, 1);
    work.result(out);
    return;
  }
  if (passes.vector + passes.vector_pair > 0) {
    work.elementwise(Feature::vector_element, passes.vector, elements);
    work.add(Feature::vector_element, passes.vector_pair * pair * static_cast<double>(elements));
  }
  if (passes.scalar > 0) {
    work.elementwise(Feature::scalar_element, passes.scalar, elements);
  }
  work.add(Feature::handover, 1);
  work.result(out);
}

namespace {

// Whether the instructions that make a value also make the sums of its rows.
bool are_summed_on_the_way(const View& value, std::int64_t row) {
  return value.sums_from > 0 && row >= value.sums_from && (row == value.free || row >= long_row);
}

void reduce_inside(Work& work, const graph::Reduce& op, const NodeViews& node) {
  const View& in = node.views[0];
  const Layout& layout = node.configuration.inputs[0];
  const graph::Shape& shape = *node.site.shapes[0];
  // Reduced axes that are not innermost are read with a long stride, at half rate.
  double passes = 1;
  for (std::size_t i = layout.order.size(); i-- > static_cast<std::size_t>(layout.split);) {
    if (shape[static_cast<std::size_t>(layout.order[i])] != 1) {
      passes = std::ranges::find(op.axes, layout.order[i]) == op.axes.end() ? 2 : 1;
      break;
    }
  }
  // Sums and maxima of 2-byte elements take two at a time; sums of what Scalar looks up are made on the way.
  using F = graph::ReduceFunction;
  const bool adds = op.function == F::sum || op.function == F::mean;
  if (adds && passes == 1 && !in.hbm &&
      are_summed_on_the_way(in, in.free / std::max<std::int64_t>(1, node.views[1].free))) {
    // An instruction for each row.
    work.add(Feature::instruction, static_cast<double>(in.blocks * (node.views[1].free - 1)));
    return;
  }
  const bool pairs = node.dtypes[0] == isa::DType::bf16 && node.dtypes[1] == isa::DType::bf16 &&
                     (op.function == F::sum || op.function == F::mean || op.function == F::max);
  work.elementwise(Feature::vector_element, pairs ? passes / 2 : passes, in.per_partition());
}

void reduce_across(Work& work, const NodeViews& node) {
  const isa::Machine& machine = work.machine();
  const View& in = node.views[0];
  const View& out = node.views[1];
  const bool fp32 = node.dtypes[0] == isa::DType::f32;
  const std::int64_t kept = out.elements();
  if (kept == 0) {
    return;
  }
  if (in.free > kept) {
    work.elementwise(Feature::vector_element, 1,
                     in.per_partition());  // reduced axes inside the partitions first
  }
  const auto passes = static_cast<double>(parts(in.partitions, machine.array_rows));
  if (out.partitions == 1) {
    work.multiply(fp32, passes, kept);
    work.stationary(passes, 1, kept);
    work.elementwise(Feature::vector_element, 1, kept, machine.moving_max);
  } else {
    const auto tiles = static_cast<double>(out.blocks * out.free);
    work.multiply(fp32, passes * tiles, 1);
    work.stationary(passes * tiles, std::min<std::int64_t>(out.partitions, machine.array_columns),
                    1);
    work.elementwise(Feature::vector_element, 1, out.per_partition(), machine.moving_max);
  }
  work.add(Feature::handover, 2);  // array, eviction
}

}  // namespace

void price_reduce(Work& work, const graph::Reduce& op, const NodeViews& node) {
  work.operand(node.views[0]);
  if (node.configuration.mechanism == Mechanism::ones_matmul) {
    reduce_across(work, node);
  } else {
    reduce_inside(work, op, node);
  }
  if (op.function == graph::ReduceFunction::mean) {
    work.elementwise(Feature::vector_element, 1, node.views[1].per_partition());
  }
  work.add(Feature::handover, 1);
  work.result(node.views[1]);
}

// Reduce, compare with the result, select an index per element, reduce again.
void price_arg_reduce(Work& work, const NodeViews& node) {
  work.operand(node.views[0]);
  work.elementwise(Feature::vector_element, 5, node.views[0].per_partition());
  work.add(Feature::handover, 4);
  work.result(node.views[1]);
}

void price_window(Work& work, const graph::Window& op, const NodeViews& node) {
  std::int64_t kernel = 1;
  for (const std::int64_t extent : op.kernel) {
    kernel *= extent;
  }
  work.operand(node.views[0]);
  // One reduction over the kernel positions of every result; 2-byte elements count half.
  const bool narrow = node.dtypes[0] == isa::DType::bf16 && node.dtypes[1] == isa::DType::bf16;
  const std::int64_t read = kernel * node.views[1].per_partition();
  work.add(Feature::vector_element,
           narrow ? 0.5 * static_cast<double>(read) : static_cast<double>(read));
  work.add(Feature::instruction, static_cast<double>(parts(read, Work::chunk_elements)));
  work.add(Feature::handover, 1);
  work.result(node.views[1]);
}

}  // namespace systole::layout
