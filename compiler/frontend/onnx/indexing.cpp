// Gathers and scatters. Multi-dimensional gathers become one gather along one axis with linear indices; scatters along an
// axis become scatters of single elements with full coordinates.

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "compiler/frontend/onnx/by_data.hpp"
#include "compiler/frontend/onnx/converters.hpp"

namespace systole::frontend {

namespace {

std::int64_t product(const Shape& shape, std::size_t from, std::size_t to) {
  return std::accumulate(shape.begin() + static_cast<std::ptrdiff_t>(from),
                         shape.begin() + static_cast<std::ptrdiff_t>(to), std::int64_t{1},
                         std::multiplies<>());
}

TensorId integer(Builder& build, std::int64_t value) {
  return build.reshape(build.integers({value}), {});
}

// Negative indices count from the end.
TensorId wrapped(Builder& build, TensorId index, std::int64_t extent) {
  if (const Array* known = build.value(index)) {
    bool negative = false;
    for (std::int64_t i = 0; i < graph::elements(known->shape); ++i) {
      negative = negative || graph::get_integer(*known, i) < 0;
    }
    if (!negative) {
      return index;
    }
  }
  index = build.cast(index, ElementType::i64);
  const TensorId below = build.map(MapFunction::less, {index, integer(build, 0)});
  return build.select(below, build.add(index, integer(build, extent)), index);
}

// 0, 1, ... along `axis`, extent 1 elsewhere.
TensorId coordinates(Builder& build, std::int64_t extent, int axis, int rank) {
  Shape shape(static_cast<std::size_t>(rank), 1);
  shape[static_cast<std::size_t>(axis)] = extent;
  return build.reshape(build.iota(extent, ElementType::i64), shape);
}

graph::ScatterMode scatter_mode(const Call& call) {
  const std::string mode = call.text("reduction", "none");
  if (mode == "none") {
    return graph::ScatterMode::assign;
  }
  if (mode == "add") {
    return graph::ScatterMode::add;
  }
  if (mode == "mul") {
    return graph::ScatterMode::multiply;
  }
  if (mode == "max") {
    return graph::ScatterMode::max;
  }
  if (mode == "min") {
    return graph::ScatterMode::min;
  }
  call.fail(fmt::format("reduction '{}' is unknown", mode));
}

}  // namespace

Values convert_gather(Call& call) {
  const int axis = call.axis(call.integer("axis", 0), call.rank(0));
  return {call.build.gather(call.input(0), call.input(1), axis)};
}

Values convert_gather_elements(Call& call) {
  Builder& build = call.build;
  const int axis = call.axis(call.integer("axis", 0), call.rank(0));
  const TensorId index = wrapped(build, call.input(1), build.extent(call.input(0), axis));
  return {build.gather_elements(call.input(0), index, axis)};
}

Values convert_gather_nd(Call& call) {
  Builder& build = call.build;
  const Shape data = call.shape(0);
  const Shape indices = call.shape(1);
  const std::int64_t batch = call.integer("batch_dims", 0);
  const auto b = static_cast<std::size_t>(std::clamp<std::int64_t>(batch, 0, 64));
  if (indices.empty() || batch < 0 || b >= indices.size() ||
      indices.back() > static_cast<std::int64_t>(data.size()) - batch ||
      !std::equal(data.begin(),
                  data.begin() + static_cast<std::ptrdiff_t>(std::min(b, data.size())),
                  indices.begin())) {
    call.fail(fmt::format("indices {} do not fit data {}", graph::to_string(indices),
                          graph::to_string(data)));
  }
  const auto depth = static_cast<std::size_t>(indices.back());
  const int last = call.rank(1) - 1;
  const std::int64_t batches = product(data, 0, b);
  const std::int64_t addressed = product(data, b, b + depth);
  const Shape lead(indices.begin(), indices.end() - 1);
  TensorId linear = build.filled(lead, 0, ElementType::i64);
  for (std::size_t d = 0; d < depth; ++d) {
    TensorId part = build.slice_axis(call.input(1), last, static_cast<std::int64_t>(d), 1);
    part = wrapped(build, build.cast(build.reshape(part, lead), ElementType::i64), data[b + d]);
    linear = build.add(linear,
                       build.multiply(part, integer(build, product(data, b + d + 1, b + depth))));
  }
  if (batches > 1) {
    Shape shape(lead.size(), 1);
    std::copy(data.begin(), data.begin() + static_cast<std::ptrdiff_t>(b), shape.begin());
    const TensorId offset =
        build.multiply(build.iota(batches, ElementType::i64), integer(build, addressed));
    linear = build.add(linear, build.reshape(offset, shape));
  }
  Shape flat = {batches * addressed};
  flat.insert(flat.end(), data.begin() + static_cast<std::ptrdiff_t>(b + depth), data.end());
  return {build.gather(build.reshape(call.input(0), flat), linear, 0)};
}

Values convert_scatter_nd(Call& call) {
  Builder& build = call.build;
  const Shape data = call.shape(0);
  const Shape indices = call.shape(1);
  if (indices.empty() || indices.back() > static_cast<std::int64_t>(data.size())) {
    call.fail(fmt::format("indices {} do not fit data {}", graph::to_string(indices),
                          graph::to_string(data)));
  }
  TensorId index = build.cast(call.input(1), ElementType::i64);
  const Array* known = build.value(index);
  bool negative = known == nullptr;
  for (std::int64_t i = 0; known != nullptr && i < graph::elements(known->shape); ++i) {
    negative = negative || graph::get_integer(*known, i) < 0;
  }
  if (negative) {
    const Integers extents(data.begin(),
                           data.begin() + static_cast<std::ptrdiff_t>(indices.back()));
    const TensorId below = build.map(MapFunction::less, {index, integer(build, 0)});
    index = build.select(below, build.add(index, build.integers(extents)), index);
  }
  return {build.scatter_nd(call.input(0), index, call.input(2), scatter_mode(call))};
}

Values convert_scatter_elements(Call& call) {
  Builder& build = call.build;
  const int rank = call.rank(0);
  const int axis = call.axis(call.integer("axis", 0), rank);
  const Shape shape = call.shape(1);
  if (static_cast<int>(shape.size()) != rank || call.shape(2) != shape) {
    call.fail("data, indices and updates differ in rank or shape");
  }
  const TensorId along = wrapped(build, build.cast(call.input(1), ElementType::i64),
                                 build.extent(call.input(0), axis));
  Shape column = shape;
  column.push_back(1);
  std::vector<TensorId> parts;
  for (int a = 0; a < rank; ++a) {
    const TensorId part =
        a == axis
            ? along
            : build.expand(coordinates(build, shape[static_cast<std::size_t>(a)], a, rank), shape);
    parts.push_back(build.reshape(part, column));
  }
  const TensorId index = build.concat(parts, rank);
  return {build.scatter_nd(call.input(0), index, call.input(2), scatter_mode(call))};
}

Values convert_one_hot(Call& call) {
  Builder& build = call.build;
  const int rank = call.rank(0);
  const int axis = call.axis(call.integer("axis", -1), rank + 1);
  const auto stated = call.is_known(1) ? std::nullopt : call.stated_shape(0);
  const std::int64_t depth = stated && static_cast<int>(stated->size()) == rank + 1
                                 ? (*stated)[static_cast<std::size_t>(axis)]
                                 : static_cast<std::int64_t>(call.real_of(1, "depth"));
  build.check_size({std::max<std::int64_t>(depth, -1)});
  const TensorId index = wrapped(build, build.cast(call.input(0), ElementType::i64), depth);
  const TensorId hot = build.map(MapFunction::equal, {build.insert_axis(index, axis),
                                                      coordinates(build, depth, axis, rank + 1)});
  const TensorId off = build.reshape(build.slice_axis(call.input(2), 0, 0, 1), {});
  const TensorId on = build.reshape(build.slice_axis(call.input(2), 0, 1, 1), {});
  return {build.select(hot, on, off)};
}

Values convert_non_zero(Call& call) {
  Builder& build = call.build;
  if (!call.is_known(0) && call.stated_shape(0)) {
    return non_zero_by_data(call);
  }
  const Array& x = call.value_of(0, "the operand, which decides the output's extent,");
  const std::size_t rank = std::max<std::size_t>(1, x.shape.size());
  std::vector<Integers> found(rank);
  for (std::int64_t i = 0; i < graph::elements(x.shape); ++i) {
    if (graph::get(x, i) == 0) {
      continue;
    }
    std::int64_t rest = i;
    for (std::size_t a = rank; a-- > 0;) {
      const std::int64_t extent = x.shape.empty() ? 1 : x.shape[a];
      found[a].push_back(rest % extent);
      rest /= extent;
    }
  }
  Array out = graph::make_array(ElementType::i64, {static_cast<std::int64_t>(x.shape.size()),
                                                   static_cast<std::int64_t>(found[0].size())});
  std::int64_t at = 0;
  for (std::size_t a = 0; a < x.shape.size(); ++a) {
    for (const std::int64_t value : found[a]) {
      graph::set_integer(out, at++, value);
    }
  }
  return {build.constant(std::move(out))};
}

Values convert_compress(Call& call) {
  Builder& build = call.build;
  if (!call.is_known(1) && call.stated_shape(0)) {
    return compress_by_data(call);
  }
  TensorId x = call.input(0);
  const Integers condition = call.integers_of(1, "the condition");
  const bool flat = call.attribute("axis") == nullptr;
  x = flat ? build.reshape(x, {build.count(x)}) : x;
  const int axis = flat ? 0 : call.axis(call.integer("axis", 0), call.rank(0));
  Integers kept;
  for (std::size_t i = 0; i < condition.size(); ++i) {
    if (condition[i] != 0) {
      kept.push_back(static_cast<std::int64_t>(i));
    }
  }
  if (!kept.empty() && kept.back() >= build.extent(x, axis)) {
    call.fail("the condition is longer than the axis");
  }
  return {build.gather(x, build.integers(kept), axis)};
}

// Position t of batch b reads length(b) - 1 - t while t < length(b), and t beyond.
Values convert_reverse_sequence(Call& call) {
  Builder& build = call.build;
  const TensorId x = call.input(0);
  const int rank = call.rank(0);
  const int time = call.axis(call.integer("time_axis", 0), rank);
  const int batch = call.axis(call.integer("batch_axis", 1), rank);
  const TensorId t = coordinates(build, build.extent(x, time), time, rank);
  Shape along_batch(static_cast<std::size_t>(rank), 1);
  along_batch[static_cast<std::size_t>(batch)] = build.extent(x, batch);
  const TensorId length = build.reshape(build.cast(call.input(1), ElementType::i64), along_batch);
  const TensorId mirrored = build.subtract(build.subtract(length, integer(build, 1)), t);
  const TensorId inside = build.map(MapFunction::less, {t, length});
  const TensorId index = build.select(inside, mirrored, t);
  return {build.gather_elements(x, build.expand(index, build.shape(x)), time)};
}

}  // namespace systole::frontend
