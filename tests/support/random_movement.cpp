#include <algorithm>
#include <numeric>

#include "tests/support/random_builder.hpp"

namespace systole::test {
namespace {

using graph::Shape;
using graph::TensorId;

bool add_transpose(RandomBuilder& b, TensorId x) {
  std::vector<int> perm(b.shape_of(x).size());
  std::iota(perm.begin(), perm.end(), 0);
  b.shuffle(perm);
  graph::add_node(b.graph, b.name("transpose"), graph::Transpose{perm}, {x});
  return true;
}

// Merges neighbouring axes, splits one by a divisor, inserts axes of extent 1.
bool add_reshape(RandomBuilder& b, TensorId x) {
  Shape shape = b.shape_of(x);
  const auto edits = b.random.integer(1, 3);
  for (int edit = 0; edit < edits; ++edit) {
    const auto last = static_cast<std::int64_t>(shape.size()) - 1;
    const auto kind = b.random.integer(0, 2);
    if (kind == 0 && last >= 1) {
      const auto at = b.random.integer(0, last - 1);
      shape[static_cast<std::size_t>(at)] *= shape[static_cast<std::size_t>(at) + 1];
      shape.erase(shape.begin() + at + 1);
    } else if (kind == 1 && last >= 0 && last + 1 < b.options.max_rank) {
      const auto at = b.random.integer(0, last);
      std::vector<std::int64_t> divisors{1};
      for (std::int64_t d = 2; d <= 8; ++d) {
        if (shape[static_cast<std::size_t>(at)] > 0 &&
            shape[static_cast<std::size_t>(at)] % d == 0) {
          divisors.push_back(d);
        }
      }
      const std::int64_t divisor = b.one_of(divisors);
      shape[static_cast<std::size_t>(at)] /= divisor;
      shape.insert(shape.begin() + at + b.random.integer(0, 1), divisor);
    } else if (last + 1 < b.options.max_rank) {
      shape.insert(shape.begin() + b.random.integer(0, last + 1), 1);
    }
  }
  graph::add_reshape(b.graph, b.name("reshape"), x, shape);
  return true;
}

bool add_slice(RandomBuilder& b, TensorId x) {
  const Shape& shape = b.shape_of(x);
  std::vector<std::int64_t> starts;
  std::vector<std::int64_t> steps;
  Shape result;
  for (const std::int64_t extent : shape) {
    if (extent == 0 || b.chance(40)) {
      starts.push_back(0);
      steps.push_back(1);
      result.push_back(extent);
      continue;
    }
    const std::int64_t start = b.random.integer(0, extent - 1);
    const std::int64_t size = b.chance(70) ? 1 : b.random.integer(2, 3);
    const bool back = b.chance(25);
    const std::int64_t room = (back ? start : extent - 1 - start) / size + 1;
    starts.push_back(start);
    steps.push_back(back ? -size : size);
    result.push_back(b.random.integer(1, room));
  }
  graph::add_slice(b.graph, b.name("slice"), x, starts, steps, result);
  return true;
}

bool add_concat(RandomBuilder& b, TensorId x) {
  const Shape shape = b.shape_of(x);
  if (shape.empty()) {
    return false;
  }
  const auto axis = b.random.integer(0, static_cast<std::int64_t>(shape.size()) - 1);
  std::vector<TensorId> parts{x};
  Shape total = shape;
  const auto more = b.random.integer(1, 2);
  for (int i = 0; i < more; ++i) {
    Shape part = shape;
    const bool again = b.chance(30);
    if (!again) {
      part[static_cast<std::size_t>(axis)] = b.one_of(b.options.extents);
    }
    total[static_cast<std::size_t>(axis)] += part[static_cast<std::size_t>(axis)];
    if (!b.fits(total) || !b.fits(part)) {
      return false;
    }
    parts.push_back(again ? x : b.operand(part));
  }
  b.shuffle(parts);
  graph::add_node(b.graph, b.name("concat"), graph::Concat{static_cast<int>(axis)}, parts);
  return true;
}

bool add_pad(RandomBuilder& b, TensorId x) {
  graph::Pad op;
  Shape result;
  for (const std::int64_t extent : b.shape_of(x)) {
    op.low.push_back(b.random.integer(extent > 3 ? -1 : 0, 2));
    op.high.push_back(b.random.integer(extent > 3 ? -1 : 0, 2));
    op.interior.push_back(b.chance(20) ? 1 : 0);
    result.push_back(extent + op.low.back() + op.high.back() +
                     op.interior.back() * std::max<std::int64_t>(0, extent - 1));
  }
  op.value = b.chance(50) ? 0.0 : -1.5;
  if (!b.fits(result)) {
    return false;
  }
  graph::add_node(b.graph, b.name("pad"), op, {x});
  return true;
}

bool add_expand(RandomBuilder& b, TensorId x) {
  Shape shape = b.shape_of(x);
  for (std::int64_t& extent : shape) {
    extent = extent == 1 ? b.one_of(b.options.extents) : extent;
  }
  if (b.chance(50)) {
    shape.insert(shape.begin(), b.random.integer(1, 3));
  }
  if (!b.fits(shape)) {
    return false;
  }
  graph::add_expand(b.graph, b.name("expand"), x, shape);
  return true;
}

bool add_gather(RandomBuilder& b, TensorId x, bool by_element) {
  const Shape shape = b.shape_of(x);
  if (shape.empty()) {
    return false;
  }
  const auto axis = b.random.integer(0, static_cast<std::int64_t>(shape.size()) - 1);
  const std::int64_t extent = shape[static_cast<std::size_t>(axis)];
  if (extent == 0) {
    return false;
  }
  if (by_element) {
    Shape index = shape;
    for (std::int64_t& each : index) {
      each = each == 0 ? 0 : b.random.integer(1, each);
    }
    graph::add_node(b.graph, b.name("gather_elements"),
                    graph::GatherElements{static_cast<int>(axis)},
                    {x, b.indices(index, -extent, extent - 1)});
    return true;
  }
  Shape index;
  const auto rank = b.random.integer(0, 2);
  for (int i = 0; i < rank; ++i) {
    index.push_back(b.random.integer(1, 4));
  }
  Shape result(shape.begin(), shape.begin() + axis);
  result.insert(result.end(), index.begin(), index.end());
  result.insert(result.end(), shape.begin() + axis + 1, shape.end());
  if (!b.fits(result)) {
    return false;
  }
  const TensorId indices = extent >= 2 && b.chance(25) ? b.input(index, graph::ElementType::i64)
                                                       : b.indices(index, -extent, extent - 1);
  graph::add_node(b.graph, b.name("gather"), graph::Gather{static_cast<int>(axis)}, {x, indices});
  return true;
}

// Without repeated indices, so that every mode has one answer in any order.
bool add_scatter(RandomBuilder& b, TensorId x) {
  const Shape shape = b.shape_of(x);
  if (shape.empty() || shape.front() == 0) {
    return false;
  }
  std::vector<std::int64_t> places(static_cast<std::size_t>(shape.front()));
  std::iota(places.begin(), places.end(), 0);
  b.shuffle(places);
  const auto count = b.random.integer(1, std::min<std::int64_t>(shape.front(), 5));
  graph::Array index = graph::make_array(graph::ElementType::i64, {count, 1});
  for (std::int64_t i = 0; i < count; ++i) {
    graph::set_integer(index, i, places[static_cast<std::size_t>(i)]);
  }
  Shape updates = shape;
  updates.front() = count;
  const TensorId indices = graph::add_constant(b.graph, b.name("places"), index);
  using Mode = graph::ScatterMode;
  const Mode mode = b.one_of<Mode>({Mode::assign, Mode::add, Mode::multiply, Mode::max, Mode::min});
  graph::add_node(b.graph, b.name("scatter"), graph::ScatterND{mode},
                  {x, indices, b.operand(updates)});
  return true;
}

}  // namespace

bool add_movement(RandomBuilder& b, Family family) {
  const auto x = b.pick(0, b.options.max_rank);
  if (!x.has_value()) {
    return false;
  }
  switch (family) {
    case Family::transpose:
      return add_transpose(b, *x);
    case Family::reshape:
      return add_reshape(b, *x);
    case Family::slice:
      return add_slice(b, *x);
    case Family::concat:
      return add_concat(b, *x);
    case Family::pad:
      return add_pad(b, *x);
    case Family::expand:
      return add_expand(b, *x);
    case Family::gather:
    case Family::gather_elements:
      return add_gather(b, *x, family == Family::gather_elements);
    case Family::scatter:
      return add_scatter(b, *x);
    case Family::unary:
    case Family::binary:
    case Family::select:
    case Family::integer:
    case Family::contraction:
    case Family::convolution:
    case Family::reduce:
    case Family::arg_reduce:
    case Family::window:
      break;
  }
  return false;
}

}  // namespace systole::test
