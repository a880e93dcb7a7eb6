// GridSample: every output position reads X at a coordinate that the grid gives. X becomes rows of channels, so that one
// gather along one axis reads a neighbour of all positions; interpolation adds the weighted neighbours.

#include <fmt/format.h>

#include "compiler/frontend/onnx/converters.hpp"

namespace systole::frontend {

namespace {

struct Sampling {
  std::string mode, padding;
  bool corners =
      false;  // -1 and 1 are the centres of the outermost elements, not their outer edges
};

TensorId clip(Builder& build, TensorId x, double low, double high) {
  return build.map(MapFunction::clip, {x}, low, high);
}

// The element coordinate of a grid coordinate in [-1, 1].
TensorId unnormalised(Builder& build, const Sampling& s, TensorId grid, std::int64_t extent) {
  const auto size = static_cast<double>(extent);
  const TensorId shifted = build.add(grid, 1.0);
  return s.corners ? build.multiply(shifted, (size - 1) / 2)
                   : build.multiply(build.add(build.multiply(shifted, size), -1.0), 0.5);
}

// Mirrored at the outermost centres or edges until inside.
TensorId reflected(Builder& build, const Sampling& s, TensorId x, std::int64_t extent) {
  const double low = s.corners ? 0.0 : -0.5;
  const double span = s.corners ? static_cast<double>(extent - 1) : static_cast<double>(extent);
  if (span <= 0) {
    return build.multiply(x, 0.0);
  }
  const ElementType type = build.type(x);
  const TensorId inside =
      build.map(MapFunction::modulo, {build.add(x, -low), build.scalar(2 * span, type)});
  const TensorId mirrored = build.subtract(build.scalar(2 * span, type), inside);
  const TensorId folded = build.map(MapFunction::min, {inside, mirrored});
  return clip(build, build.add(folded, low), 0.0, static_cast<double>(extent - 1));
}

TensorId padded(Builder& build, const Sampling& s, TensorId x, std::int64_t extent) {
  if (s.padding == "border") {
    return clip(build, x, 0.0, static_cast<double>(extent - 1));
  }
  return s.padding == "reflection" ? reflected(build, s, x, extent) : x;
}

struct Taps {
  std::vector<TensorId> index;   // whole numbers as floats, possibly outside
  std::vector<TensorId> weight;  // empty: the one tap counts fully
};

// Keys' cubic convolution with a = -0.75 for the four neighbours at distances 1 + t, t, 1 - t, 2 - t.
std::vector<TensorId> cubic_weights(Builder& build, TensorId t) {
  const double a = -0.75;
  const auto polynomial = [&](TensorId d, double c3, double c2, double c1, double c0) {
    TensorId value = build.add(build.multiply(d, c3), c2);
    value = build.add(build.multiply(value, d), c1);
    return build.add(build.multiply(value, d), c0);
  };
  const TensorId one = build.scalar(1.0, build.type(t));
  const TensorId rest = build.subtract(one, t);
  return {polynomial(build.add(t, 1.0), a, -5 * a, 8 * a, -4 * a),
          polynomial(t, a + 2, -(a + 3), 0, 1), polynomial(rest, a + 2, -(a + 3), 0, 1),
          polynomial(build.add(rest, 1.0), a, -5 * a, 8 * a, -4 * a)};
}

Taps taps_of(Call& call, const Sampling& s, TensorId grid, std::int64_t extent) {
  Builder& build = call.build;
  const TensorId x = unnormalised(build, s, grid, extent);
  Taps out;
  if (s.mode == "nearest") {
    out.index = {padded(build, s, build.map(MapFunction::round, {x}), extent)};
    return out;
  }
  if (s.mode == "bilinear" || s.mode == "linear") {
    const TensorId inside = padded(build, s, x, extent);
    const TensorId base = build.map(MapFunction::floor, {inside});
    const TensorId t = build.subtract(inside, base);
    out.index = {base, build.add(base, 1.0)};
    out.weight = {build.subtract(build.scalar(1.0, build.type(t)), t), t};
    return out;
  }
  if (s.mode != "bicubic" && s.mode != "cubic") {
    call.fail(fmt::format("mode '{}' is unknown", s.mode));
  }
  const TensorId base = build.map(MapFunction::floor, {x});
  out.weight = cubic_weights(build, build.subtract(x, base));
  for (const double k : {-1.0, 0.0, 1.0, 2.0}) {
    out.index.push_back(padded(build, s, build.add(base, k), extent));
  }
  return out;
}

TensorId within(Builder& build, TensorId index, std::int64_t extent) {
  const ElementType type = build.type(index);
  const TensorId after = build.map(MapFunction::greater_equal, {index, build.scalar(0.0, type)});
  const TensorId before = build.map(MapFunction::less_equal,
                                    {index, build.scalar(static_cast<double>(extent - 1), type)});
  return build.map(MapFunction::logical_and, {after, before});
}

}  // namespace

Values convert_grid_sample(Call& call) {
  Builder& build = call.build;
  const Shape x = call.shape(0);
  const Shape grid = call.shape(1);
  if (x.size() != 4 || grid.size() != 4 || grid[3] != 2 || grid[0] != x[0] ||
      graph::elements(x) == 0) {
    call.fail(fmt::format("grid {} does not fit {}", graph::to_string(grid), graph::to_string(x)));
  }
  const Sampling s{call.text("mode", "bilinear"), call.text("padding_mode", "zeros"),
                   call.integer("align_corners", 0) != 0};
  const ElementType type = build.type(call.input(0));
  const Shape places = {grid[0], grid[1], grid[2], 1};
  const auto coordinate = [&](std::int64_t i) {
    return build.cast(build.slice_axis(call.input(1), 3, i, 1), type);
  };
  const Taps columns = taps_of(call, s, coordinate(0), x[3]);
  const Taps rows = taps_of(call, s, coordinate(1), x[2]);
  const TensorId data =
      build.reshape(build.transpose(call.input(0), {0, 2, 3, 1}), {x[0] * x[2] * x[3], x[1]});
  const TensorId first =
      build.multiply(build.reshape(build.iota(x[0], ElementType::i64), {x[0], 1, 1, 1}),
                     static_cast<double>(x[2] * x[3]));
  TensorId total;
  for (std::size_t r = 0; r < rows.index.size(); ++r) {
    for (std::size_t c = 0; c < columns.index.size(); ++c) {
      const auto whole = [&](TensorId index, std::int64_t extent) {
        return build.cast(clip(build, index, 0.0, static_cast<double>(extent - 1)),
                          ElementType::i64);
      };
      const TensorId row = build.multiply(whole(rows.index[r], x[2]), static_cast<double>(x[3]));
      const TensorId at = build.add(build.add(row, whole(columns.index[c], x[3])), first);
      TensorId value = build.gather(data, build.reshape(at, {grid[0], grid[1], grid[2]}), 0);
      if (!rows.weight.empty()) {
        value = build.multiply(value, build.multiply(rows.weight[r], columns.weight[c]));
      }
      if (s.padding == "zeros") {
        const TensorId inside =
            build.map(MapFunction::logical_and,
                      {within(build, rows.index[r], x[2]), within(build, columns.index[c], x[3])});
        value = build.select(build.reshape(inside, places), value, build.scalar(0.0, type));
      }
      total = total.valid() ? build.add(total, value) : value;
    }
  }
  return {build.transpose(total, {0, 3, 1, 2})};
}

}  // namespace systole::frontend
