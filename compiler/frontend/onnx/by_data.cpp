#include "compiler/frontend/onnx/by_data.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace systole::frontend {

namespace {

Shape required_shape(const Call& call, int operand, std::string_view what) {
  const auto stated = call.stated_shape(0);
  if (!stated) {
    static_cast<void>(call.value_of(operand, what));  // says which operand and why
    call.fail("the model does not state the shape of the result");
  }
  return *stated;
}

TensorId number(Builder& build, std::int64_t value) {
  return build.reshape(build.integers({value}), {});
}

TensorId entry(Builder& build, TensorId vector, std::int64_t i) {
  return build.reshape(build.slice_axis(build.cast(vector, ElementType::i64), 0, i, 1), {});
}

// What a list of per-axis numbers says of axis `a`: its entry where `axes` names the axis, else `otherwise`.
TensorId of_axis(Call& call, TensorId list, int axes_operand, int a, std::int64_t otherwise) {
  Builder& build = call.build;
  const std::int64_t size = build.count(list);
  if (!call.has(axes_operand)) {
    return a < size ? entry(build, list, a) : number(build, otherwise);
  }
  const TensorId rank = number(build, call.rank(0));
  TensorId result = number(build, otherwise);
  for (std::int64_t j = 0; j < size; ++j) {
    const TensorId axis =
        build.map(MapFunction::modulo, {entry(build, call.input(axes_operand), j), rank});
    const TensorId named = build.map(MapFunction::equal, {axis, number(build, a)});
    result = build.select(named, entry(build, list, j), result);
  }
  return result;
}

TensorId clamped(Builder& build, TensorId x, std::int64_t low, std::int64_t high) {
  const TensorId above = build.map(MapFunction::max, {x, number(build, low)});
  return build.map(MapFunction::min, {above, number(build, high)});
}

// Positions of the true entries of a boolean vector, of which there are `count`.
TensorId true_positions(Builder& build, TensorId condition, std::int64_t count) {
  const std::int64_t n = build.count(condition);
  // Entry i is number k when as many true entries stand before it: a product with a triangle of ones counts them.
  const TensorId ones = build.cast(condition, ElementType::f32);
  const TensorId index = build.iota(n, ElementType::f32);
  const TensorId before = build.cast(
      build.map(MapFunction::less, {build.insert_axis(index, 1), build.insert_axis(index, 0)}),
      ElementType::f32);
  const TensorId rank = build.contract(ones, before, {{0}, {0, 1}, {1}});
  const TensorId place = build.insert_axis(build.iota(count, ElementType::f32), 1);
  const TensorId is_next = build.map(MapFunction::equal, {build.insert_axis(rank, 0), place});
  const TensorId hit =
      build.map(MapFunction::logical_and, {is_next, build.insert_axis(condition, 0)});
  const TensorId chosen = build.select(hit, index, build.scalar(0, ElementType::f32));
  return build.cast(build.reduce(ReduceFunction::sum, chosen, {1}, false), ElementType::i64);
}

// All sets of `size` axes out of `rank`, ascending.
std::vector<std::vector<int>> axis_sets(int rank, std::size_t size) {
  std::vector<std::vector<int>> out;
  for (unsigned bits = 0; bits < (1U << static_cast<unsigned>(rank)); ++bits) {
    std::vector<int> axes;
    for (int a = 0; a < rank; ++a) {
      if ((bits >> static_cast<unsigned>(a) & 1U) != 0) {
        axes.push_back(a);
      }
    }
    if (axes.size() == size) {
      out.push_back(axes);
    }
  }
  return out;
}

// Whether every entry of `given` names an axis of the set.
TensorId names_set(Call& call, TensorId given, const std::vector<int>& axes) {
  Builder& build = call.build;
  const TensorId wrapped = build.map(
      MapFunction::modulo, {build.cast(given, ElementType::i64), number(build, call.rank(0))});
  const TensorId wanted = build.integers(Integers(axes.begin(), axes.end()));
  const TensorId same =
      build.map(MapFunction::equal, {build.insert_axis(wrapped, 1), build.insert_axis(wanted, 0)});
  const TensorId any =
      build.reduce(ReduceFunction::max, build.cast(same, ElementType::i32), {1}, false);
  return build.cast(build.reduce(ReduceFunction::min, any, {0}, false), ElementType::boolean);
}

Shape reduced_shape(const Shape& shape, const std::vector<int>& axes, bool keep) {
  Shape out;
  for (std::size_t a = 0; a < shape.size(); ++a) {
    const bool gone = std::find(axes.begin(), axes.end(), static_cast<int>(a)) != axes.end();
    if (!gone || keep) {
      out.push_back(gone ? 1 : shape[a]);
    }
  }
  return out;
}

}  // namespace

Values slice_by_data(Call& call) {
  Builder& build = call.build;
  const Shape target = required_shape(call, call.is_known(1) ? 3 : 1, "starts");
  const Shape from = call.shape(0);
  if (target.size() != from.size() || !call.has(1)) {
    call.fail("the stated shape has another rank than the operand");
  }
  TensorId x = call.input(0);
  for (int a = 0; a < call.rank(0); ++a) {
    const std::int64_t extent = from[static_cast<std::size_t>(a)];
    const std::int64_t taken = target[static_cast<std::size_t>(a)];
    if (extent == 0 || taken == 0) {
      x = build.slice_axis(x, a, 0, 0);
      continue;
    }
    const TensorId start = of_axis(call, call.input(1), 3, a, 0);
    const TensorId negative = build.map(MapFunction::less, {start, number(build, 0)});
    const TensorId first =
        clamped(build, build.select(negative, build.add(start, number(build, extent)), start), 0,
                extent - 1);
    const TensorId step = call.has(4) ? of_axis(call, call.input(4), 3, a, 1) : number(build, 1);
    const TensorId index =
        build.add(first, build.multiply(build.iota(taken, ElementType::i64), step));
    x = build.gather(x, clamped(build, index, 0, extent - 1), a);
  }
  return {x};
}

Values pad_by_data(Call& call) {
  Builder& build = call.build;
  const Shape target = required_shape(call, 1, "pads");
  const Shape from = call.shape(0);
  const std::string mode = call.text("mode", "constant");
  if (target.size() != from.size() || call.has(3) ||
      build.count(call.input(1)) != static_cast<std::int64_t>(2 * from.size())) {
    call.fail("the pads do not fit the stated shape");
  }
  TensorId x = call.input(0);
  TensorId fill = call.has(2) ? build.reshape(call.input(2), {}) : build.scalar(0, build.type(x));
  for (int a = 0; a < call.rank(0); ++a) {
    const std::int64_t extent = from[static_cast<std::size_t>(a)];
    const std::int64_t wide = target[static_cast<std::size_t>(a)];
    if (extent == 0) {
      call.fail("an empty axis cannot be padded by data");
    }
    const TensorId place =
        build.subtract(build.iota(wide, ElementType::i64), entry(build, call.input(1), a));
    TensorId index = place;
    if (mode == "reflect") {
      const std::int64_t period = std::max<std::int64_t>(1, 2 * (extent - 1));
      const TensorId inside = build.map(MapFunction::modulo, {place, number(build, period)});
      const TensorId far = build.map(MapFunction::greater_equal, {inside, number(build, extent)});
      index = build.select(far, build.subtract(number(build, period), inside), inside);
    } else if (mode == "wrap") {
      index = build.map(MapFunction::modulo, {place, number(build, extent)});
    }
    x = build.gather(x, clamped(build, index, 0, extent - 1), a);
    if (mode == "constant") {
      Shape along(from.size(), 1);
      along[static_cast<std::size_t>(a)] = wide;
      const TensorId after = build.map(MapFunction::greater_equal, {place, number(build, 0)});
      const TensorId before = build.map(MapFunction::less, {place, number(build, extent)});
      const TensorId inside = build.map(MapFunction::logical_and, {after, before});
      x = build.select(build.reshape(inside, along), x, fill);
    }
  }
  return {x};
}

Values non_zero_by_data(Call& call) {
  Builder& build = call.build;
  const Shape target = required_shape(call, 0, "the operand");
  const Shape from = call.shape(0);
  if (target.size() != 2 || target[0] != static_cast<std::int64_t>(from.size()) || from.empty()) {
    call.fail("the stated shape does not fit the operand");
  }
  const TensorId flat = build.reshape(call.input(0), {build.count(call.input(0))});
  const TensorId set = build.map(MapFunction::not_equal, {flat, build.scalar(0, build.type(flat))});
  TensorId rest = true_positions(build, set, target[1]);
  std::vector<TensorId> rows(from.size());
  for (std::size_t a = from.size(); a-- > 0;) {
    const TensorId extent = number(build, from[a]);
    rows[a] = build.insert_axis(build.map(MapFunction::modulo, {rest, extent}), 0);
    rest = build.divide(rest, extent);
  }
  return {build.concat(rows, 0)};
}

Values compress_by_data(Call& call) {
  Builder& build = call.build;
  const Shape target = required_shape(call, 1, "the condition");
  TensorId x = call.input(0);
  const bool flat = call.attribute("axis") == nullptr;
  x = flat ? build.reshape(x, {build.count(x)}) : x;
  const int axis = flat ? 0 : call.axis(call.integer("axis", 0), call.rank(0));
  if (static_cast<int>(target.size()) != build.rank(x)) {
    call.fail("the stated shape does not fit the operand");
  }
  const TensorId index =
      true_positions(build, call.input(1), target[static_cast<std::size_t>(axis)]);
  return {build.gather(x, index, axis)};
}

Values reduce_by_data(Call& call,
                      TensorId (*apply)(Call&, TensorId, const std::vector<int>&, bool)) {
  const Shape target = required_shape(call, 1, "axes");
  const bool keep = call.integer("keepdims", 1) != 0;
  if (call.rank(0) > 8) {
    call.fail("axes that depend on data are supported up to rank 8");
  }
  const auto size = static_cast<std::size_t>(call.build.count(call.input(1)));
  TensorId result;
  for (const std::vector<int>& axes : axis_sets(call.rank(0), size)) {
    if (reduced_shape(call.shape(0), axes, keep) != target) {
      continue;
    }
    const TensorId candidate = apply(call, call.input(0), axes, keep);
    result = result.valid()
                 ? call.build.select(names_set(call, call.input(1), axes), candidate, result)
                 : candidate;
  }
  if (!result.valid()) {
    call.fail("no choice of axes gives the stated shape");
  }
  return {result};
}

}  // namespace systole::frontend
