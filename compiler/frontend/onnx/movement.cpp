// Operators that move elements: reshapes, permutations, slices, joins, padding, repetition.

#include <algorithm>
#include <limits>
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

Shape resolve_target(const Call& call, Integers target, bool zero_is_zero) {
  const Shape& from = call.shape(0);
  int open = -1;
  std::int64_t known = 1;
  for (std::size_t a = 0; a < target.size(); ++a) {
    if (target[a] == 0 && !zero_is_zero) {
      if (a >= from.size()) {
        call.fail(fmt::format("extent {} is copied from an axis that does not exist", a));
      }
      target[a] = from[a];
    }
    if (target[a] == -1 && open < 0) {
      open = static_cast<int>(a);
    } else if (target[a] < 0 || target[a] > call.build.options().tensor_elements ||
               known >
                   call.build.options().tensor_elements / std::max<std::int64_t>(1, target[a])) {
      call.fail(fmt::format("extent {} of the requested shape is not possible", target[a]));
    } else {
      known *= target[a];
    }
  }
  if (open >= 0) {
    const std::int64_t total = call.build.count(call.input(0));
    if (known == 0 || total % known != 0) {
      call.fail(fmt::format("{} elements do not fill the requested shape {}", total,
                            graph::to_string(target)));
    }
    target[static_cast<std::size_t>(open)] = total / known;
  }
  return target;
}

struct SliceRange {
  std::int64_t start = 0;
  std::int64_t step = 1;
  std::int64_t extent = 0;
};

// Clamps as the specification says; INT64 limits stand for "to the end".
SliceRange resolve_range(const Call& call, std::int64_t start, std::int64_t end, std::int64_t step,
                         std::int64_t extent) {
  if (step == 0 || step == std::numeric_limits<std::int64_t>::min()) {
    call.fail("a step of 0 is not possible");
  }
  const auto from_end = [&](std::int64_t at) { return at < 0 ? at + extent : at; };
  const std::int64_t low = step > 0 ? 0 : -1;
  const std::int64_t high = step > 0 ? extent : extent - 1;
  start = std::clamp(from_end(std::max(start, -extent - 1)), step > 0 ? low : 0,
                     std::max<std::int64_t>(high, step > 0 ? low : 0));
  end = std::clamp(from_end(std::max(end, -extent - 1)), low, std::max(high, low));
  if (extent == 0) {
    return {0, 1, 0};
  }
  const std::int64_t span = step > 0 ? end - start : start - end;
  const std::int64_t size = step > 0 ? step : -step;
  const std::int64_t taken = span <= 0 ? 0 : (span - 1) / size + 1;
  return {taken == 0 ? 0 : start, taken <= 1 ? 1 : step, taken};
}

// Positions that a padded axis reads, for the modes that repeat elements.
Integers padded_positions(const Call& call, const std::string& mode, std::int64_t extent,
                          std::int64_t low, std::int64_t high) {
  Integers out;
  if (extent + low + high < 0 || extent + low + high > call.build.options().fold_elements * 64) {
    call.fail("padding is too large");
  }
  if (extent == 0 && low + high > 0) {
    call.fail("an empty axis cannot be padded by repetition");
  }
  for (std::int64_t i = -low; i < extent + high; ++i) {
    std::int64_t at = i;
    if (mode == "edge") {
      at = std::clamp<std::int64_t>(i, 0, extent - 1);
    } else if (mode == "wrap") {
      at = ((i % extent) + extent) % extent;
    } else {  // reflect
      const std::int64_t period = std::max<std::int64_t>(1, 2 * (extent - 1));
      at = ((i % period) + period) % period;
      at = at >= extent ? period - at : at;
    }
    out.push_back(at);
  }
  return out;
}

struct PadAmounts {
  Integers low, high;
};

PadAmounts pad_amounts(const Call& call) {
  const auto rank = static_cast<std::size_t>(call.rank(0));
  const bool old_name = call.attribute("paddings") != nullptr;
  const auto pads = call.attribute_or_operand(old_name ? "paddings" : "pads", 1);
  std::vector<int> axes(rank);
  std::iota(axes.begin(), axes.end(), 0);
  if (call.has(3)) {
    axes.clear();
    for (const std::int64_t axis : call.integers_of(3, "axes")) {
      axes.push_back(call.axis(axis, static_cast<int>(rank)));
    }
  }
  if (!pads || pads->size() != 2 * axes.size()) {
    call.fail(fmt::format("pads must hold {} numbers", 2 * axes.size()));
  }
  PadAmounts out{Integers(rank, 0), Integers(rank, 0)};
  for (std::size_t i = 0; i < axes.size(); ++i) {
    out.low[static_cast<std::size_t>(axes[i])] = (*pads)[i];
    out.high[static_cast<std::size_t>(axes[i])] = (*pads)[i + axes.size()];
  }
  return out;
}

}  // namespace

Values convert_identity(Call& call) {
  return {call.has(0) ? call.operands[0] : Value{}};
}

Values convert_dropout(Call& call) {
  Builder& build = call.build;
  const TensorId x = call.input(0);
  if (call.has(2) && call.integer_of(2, "training_mode") != 0) {
    const double ratio = call.has(1) ? call.real_of(1, "ratio") : 0.5;
    if (ratio != 0) {
      call.fail("training mode is random", "export the model for inference");
    }
  }
  Values out{x};
  if (call.wants_output(1)) {
    const bool typed = call.opset < 10;
    out.push_back(build.filled(build.shape(x), 1, typed ? build.type(x) : ElementType::boolean));
  }
  return out;
}

Values convert_reshape(Call& call) {
  const TensorId x = call.input(0);
  const bool zero_is_zero = call.integer("allowzero", 0) != 0;
  if (call.has(1) && call.build.value(call.input(1)) == nullptr) {
    // The target depends on data; the model may still state the result, and there is one shape only.
    if (const auto stated = call.stated_shape(0)) {
      return {call.build.reshape(x, *stated)};
    }
  }
  const auto target = call.attribute_or_operand("shape", 1);
  if (!target) {
    call.fail("no target shape");
  }
  return {call.build.reshape(x, resolve_target(call, *target, zero_is_zero))};
}

Values convert_transpose(Call& call) {
  const int rank = call.rank(0);
  const auto given = call.integers("perm");
  std::vector<int> perm(static_cast<std::size_t>(rank));
  std::iota(perm.rbegin(), perm.rend(), 0);
  if (given) {
    Integers sorted = *given;
    std::sort(sorted.begin(), sorted.end());
    Integers identity(static_cast<std::size_t>(rank));
    std::iota(identity.begin(), identity.end(), 0);
    if (sorted != identity) {
      call.fail(fmt::format("perm {} is not a permutation of the axes of rank {}",
                            graph::to_string(*given), rank));
    }
    std::transform(given->begin(), given->end(), perm.begin(),
                   [](std::int64_t axis) { return static_cast<int>(axis); });
  }
  return {call.build.transpose(call.input(0), perm)};
}

Values convert_flatten(Call& call) {
  const Shape& shape = call.shape(0);
  const std::int64_t axis = call.integer("axis", 1);
  const auto rank = static_cast<std::int64_t>(shape.size());
  if (axis < -rank || axis > rank) {
    call.fail(fmt::format("axis {} does not exist in rank {}", axis, rank));
  }
  const auto split = static_cast<std::size_t>(axis < 0 ? axis + rank : axis);
  return {call.build.reshape(call.input(0),
                             {product(shape, 0, split), product(shape, split, shape.size())})};
}

Values convert_squeeze(Call& call) {
  if (!call.is_known(1) && call.stated_shape(0)) {
    return {call.build.reshape(call.input(0), *call.stated_shape(0))};
  }
  const Shape& shape = call.shape(0);
  const auto given = call.attribute_or_operand("axes", 1);
  Shape target;
  const std::vector<int> axes = given ? call.axes(*given, call.rank(0)) : std::vector<int>{};
  for (std::size_t a = 0; a < shape.size(); ++a) {
    const bool named = std::find(axes.begin(), axes.end(), static_cast<int>(a)) != axes.end();
    if (named && shape[a] != 1) {
      call.fail(
          fmt::format("axis {} of {} has extent {}, not 1", a, graph::to_string(shape), shape[a]));
    }
    if (!(named || (!given && shape[a] == 1))) {
      target.push_back(shape[a]);
    }
  }
  return {call.build.reshape(call.input(0), target)};
}

Values convert_unsqueeze(Call& call) {
  if (!call.is_known(1) && call.stated_shape(0)) {
    return {call.build.reshape(call.input(0), *call.stated_shape(0))};
  }
  const auto given = call.attribute_or_operand("axes", 1);
  if (!given || given->size() > 64) {
    call.fail("no usable list of axes");
  }
  Shape target = call.shape(0);
  for (const int axis : call.axes(*given, call.rank(0) + static_cast<int>(given->size()))) {
    target.insert(target.begin() + axis, 1);
  }
  return {call.build.reshape(call.input(0), target)};
}

Values convert_concat(Call& call) {
  const int otherwise = call.opset < 4 ? 1 : 0;
  return {
      call.build.concat(call.inputs(), call.axis(call.integer("axis", otherwise), call.rank(0)))};
}

namespace {

// Sizes of the parts when they depend on data but the model states every part's shape.
std::optional<Integers> stated_parts(const Call& call, int axis) {
  if (call.is_known(1)) {
    return std::nullopt;
  }
  Integers sizes;
  for (int i = 0; i < call.output_count(); ++i) {
    const auto stated = call.stated_shape(i);
    if (!stated || stated->size() != static_cast<std::size_t>(call.rank(0))) {
      return std::nullopt;
    }
    sizes.push_back((*stated)[static_cast<std::size_t>(axis)]);
  }
  return sizes;
}

}  // namespace

Values convert_split(Call& call) {
  const int axis = call.axis(call.integer("axis", 0), call.rank(0));
  const std::int64_t extent = call.build.extent(call.input(0), axis);
  const std::int64_t parts = call.output_count();
  std::optional<Integers> sizes = stated_parts(call, axis);
  if (!sizes) {
    sizes = call.attribute_or_operand("split", 1);
  }
  if (!sizes) {
    const std::int64_t chunk = (extent + parts - 1) / std::max<std::int64_t>(1, parts);
    sizes = Integers();
    for (std::int64_t i = 0; i < parts; ++i) {
      sizes->push_back(std::clamp<std::int64_t>(extent - i * chunk, 0, chunk));
    }
  }
  Values out;
  std::int64_t start = 0;
  for (const std::int64_t size : *sizes) {
    if (size < 0 || size > extent - start) {
      call.fail(
          fmt::format("parts {} do not add up to extent {}", graph::to_string(*sizes), extent));
    }
    out.emplace_back(call.build.slice_axis(call.input(0), axis, start, size));
    start += size;
  }
  if (start != extent) {
    call.fail(fmt::format("parts {} do not add up to extent {}", graph::to_string(*sizes), extent));
  }
  return out;
}

Values convert_slice(Call& call) {
  if (!call.is_known(1) || !call.is_known(2) || !call.is_known(3) || !call.is_known(4)) {
    return slice_by_data(call);
  }
  const auto starts = call.attribute_or_operand("starts", 1);
  const auto ends = call.attribute_or_operand("ends", 2);
  const auto axes = call.attribute_or_operand("axes", 3);
  const Integers steps = call.has(4) ? call.integers_of(4, "steps") : Integers();
  if (!starts || !ends || starts->size() != ends->size() ||
      (axes && axes->size() != starts->size()) ||
      (!steps.empty() && steps.size() != starts->size())) {
    call.fail("starts, ends, axes and steps differ in length");
  }
  Shape target = call.shape(0);
  Integers from(target.size(), 0);
  Integers by(target.size(), 1);
  for (std::size_t i = 0; i < starts->size(); ++i) {
    const auto axis = static_cast<std::size_t>(
        call.axis(axes ? (*axes)[i] : static_cast<std::int64_t>(i), call.rank(0)));
    const SliceRange range =
        resolve_range(call, (*starts)[i], (*ends)[i], steps.empty() ? 1 : steps[i], target[axis]);
    from[axis] = range.start;
    by[axis] = range.step;
    target[axis] = range.extent;
  }
  return {call.build.slice(call.input(0), from, by, target)};
}

Values convert_pad(Call& call) {
  if (!call.is_known(1)) {
    return pad_by_data(call);
  }
  Builder& build = call.build;
  TensorId x = call.input(0);
  const std::string mode = call.text("mode", "constant");
  PadAmounts amounts = pad_amounts(call);
  if (mode != "constant") {
    for (int a = 0; a < call.rank(0); ++a) {
      const auto at = static_cast<std::size_t>(a);
      if (amounts.low[at] != 0 || amounts.high[at] != 0) {
        const Integers positions =
            padded_positions(call, mode, build.extent(x, a), amounts.low[at], amounts.high[at]);
        x = build.gather(x, build.integers(positions), a);
      }
    }
    return {x};
  }
  const bool dynamic_value = call.has(2) && build.value(call.input(2)) == nullptr;
  graph::Pad op;
  op.low = amounts.low;
  op.high = amounts.high;
  op.interior.assign(amounts.low.size(), 0);
  op.value = dynamic_value ? 0.0 : call.has(2) ? call.real_of(2, "value") : call.real("value", 0.0);
  const TensorId padded = build.pad(x, op);
  if (!dynamic_value) {
    return {padded};
  }
  op.value = 1.0;  // the fill depends on data: choose it where a constant mask says padding
  const TensorId mask = build.pad(build.filled(build.shape(x), 0, ElementType::boolean), op);
  return {build.select(mask, build.reshape(call.input(2), {}), padded)};
}

namespace {

Integers stated_repeats(const Call& call, const Shape& stated) {
  const Shape from = call.shape(0);
  Integers repeats;
  for (std::size_t a = 0; a < from.size() && from.size() == stated.size(); ++a) {
    repeats.push_back(from[a] == 0 ? 1 : stated[a] / from[a]);
  }
  return repeats;
}

}  // namespace

Values convert_tile(Call& call) {
  Builder& build = call.build;
  const TensorId x = call.input(0);
  Integers repeats;
  if (call.operand_count() == 3) {  // opset 1: tiles along one axis
    repeats.assign(static_cast<std::size_t>(call.rank(0)), 1);
    repeats[static_cast<std::size_t>(call.axis(call.integer_of(2, "axis"), call.rank(0)))] =
        call.integer_of(1, "tiles");
  } else {
    const auto stated = call.is_known(1) ? std::nullopt : call.stated_shape(0);
    repeats = stated ? stated_repeats(call, *stated) : call.integers_of(1, "repeats");
  }
  if (repeats.size() != static_cast<std::size_t>(call.rank(0))) {
    call.fail(fmt::format("{} repeats for rank {}", repeats.size(), call.rank(0)));
  }
  Shape split, wide, target;
  for (std::size_t a = 0; a < repeats.size(); ++a) {
    const std::int64_t extent = call.shape(0)[a];
    if (repeats[a] < 0 ||
        repeats[a] > build.options().tensor_elements / std::max<std::int64_t>(1, extent)) {
      call.fail(fmt::format("{} repeats are not possible", repeats[a]));
    }
    if (repeats[a] != 1) {
      split.push_back(1);
      wide.push_back(repeats[a]);
    }
    split.push_back(extent);
    wide.push_back(extent);
    target.push_back(extent * repeats[a]);
  }
  return {build.reshape(build.expand(build.reshape(x, split), wide), target)};
}

Values convert_expand(Call& call) {
  Builder& build = call.build;
  const TensorId x = call.input(0);
  if (build.value(call.input(1)) == nullptr) {
    if (const auto stated = call.stated_shape(0)) {
      return {build.expand(x, *stated)};
    }
  }
  Shape target = call.integers_of(1, "shape");
  const Shape& from = build.shape(x);
  if (target.size() < from.size()) {
    target.insert(target.begin(), from.size() - target.size(), 1);
  }
  for (std::size_t i = 0; i < from.size(); ++i) {
    std::int64_t& extent = target[target.size() - 1 - i];
    const std::int64_t have = from[from.size() - 1 - i];
    extent = extent == 1 ? have : extent;  // broadcasting goes both ways
  }
  return {build.expand(x, target)};
}

Values convert_depth_to_space(Call& call) {
  Builder& build = call.build;
  const Shape& s = call.shape(0);
  const std::int64_t b = call.integer("blocksize", 0);
  if (s.size() != 4 || b < 1 || b > 65536 || s[1] % (b * b) != 0) {
    call.fail(
        fmt::format("block size {} does not divide the channels of {}", b, graph::to_string(s)));
  }
  const std::int64_t c = s[1] / (b * b);
  const bool crd = call.text("mode", "DCR") == "CRD";
  const TensorId blocks = crd ? build.reshape(call.input(0), {s[0], c, b, b, s[2], s[3]})
                              : build.reshape(call.input(0), {s[0], b, b, c, s[2], s[3]});
  const TensorId moved = build.transpose(
      blocks, crd ? std::vector<int>{0, 1, 4, 2, 5, 3} : std::vector<int>{0, 3, 4, 1, 5, 2});
  return {build.reshape(moved, {s[0], c, s[2] * b, s[3] * b})};
}

Values convert_space_to_depth(Call& call) {
  Builder& build = call.build;
  const Shape& s = call.shape(0);
  const std::int64_t b = call.integer("blocksize", 0);
  if (s.size() != 4 || b < 1 || s[2] % b != 0 || s[3] % b != 0) {
    call.fail(fmt::format("block size {} does not divide the plane of {}", b, graph::to_string(s)));
  }
  const TensorId blocks = build.reshape(call.input(0), {s[0], s[1], s[2] / b, b, s[3] / b, b});
  const TensorId moved = build.transpose(blocks, {0, 3, 5, 1, 2, 4});
  return {build.reshape(moved, {s[0], s[1] * b * b, s[2] / b, s[3] / b})};
}

Values convert_center_crop_pad(Call& call) {
  Builder& build = call.build;
  const Integers sizes = call.integers_of(1, "shape");
  const auto given = call.integers("axes");
  const auto rank = static_cast<std::size_t>(call.rank(0));
  if (sizes.size() != (given ? given->size() : rank)) {
    call.fail("shape and axes differ in length");
  }
  graph::Pad op{Integers(rank, 0), Integers(rank, 0), Integers(rank, 0), 0.0};
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const auto axis = static_cast<std::size_t>(
        call.axis(given ? (*given)[i] : static_cast<std::int64_t>(i), call.rank(0)));
    const std::int64_t extent = call.shape(0)[axis];
    const std::int64_t more =
        std::clamp<std::int64_t>(sizes[i], 0, build.options().tensor_elements) - extent;
    // Odd amounts: the crop starts early, the padding ends late.
    op.low[axis] = more >= 0 ? more / 2 : -((-more) / 2);
    op.high[axis] = more - op.low[axis];
  }
  return {build.pad(call.input(0), op)};
}

}  // namespace systole::frontend
