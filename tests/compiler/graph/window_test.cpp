// Convolution and pooling against loops over output, channel and kernel positions.
#include <doctest/doctest.h>

#include <cmath>
#include <optional>

#include "tests/compiler/graph/naive.hpp"

namespace systole::graph::naive {
namespace {

struct Windows {
  std::vector<std::int64_t> kernel, strides, low, high, dilations;
};

// The place in the operand that output `o` looks at through kernel position `k`; nothing in the
// padding.
std::optional<Index> looked_at(const Windows& w, const Shape& shape, std::int64_t n, std::int64_t c,
                               const Index& o, const Index& k) {
  Index place{n, c};
  for (std::size_t i = 0; i < k.size(); ++i) {
    const std::int64_t p = o[i] * w.strides[i] + k[i] * w.dilations[i] - w.low[i];
    if (p < 0 || p >= shape[i + 2]) {
      return std::nullopt;
    }
    place.push_back(p);
  }
  return place;
}

Shape extents(const Windows& w, const Shape& shape) {
  Shape out;
  for (std::size_t i = 0; i < w.kernel.size(); ++i) {
    const std::int64_t reach = (w.kernel[i] - 1) * w.dilations[i] + 1;
    std::int64_t count = 0;  // counted, not divided
    for (std::int64_t start = -w.low[i]; start + reach <= shape[i + 2] + w.high[i];
         start += w.strides[i]) {
      ++count;
    }
    out.push_back(count);
  }
  return out;
}

Array convolve(const Windows& w, std::int64_t groups, const Array& x, const Array& weights) {
  const Shape spatial = extents(w, x.shape);
  Shape shape{x.shape[0], weights.shape[0]};
  shape.insert(shape.end(), spatial.begin(), spatial.end());
  Array y = make_array(x.type, shape);
  const std::int64_t channels = weights.shape[1];
  const std::int64_t per_group = weights.shape[0] / groups;
  for_each_index(shape, [&](const Index& o) {
    const Index position(o.begin() + 2, o.end());
    double sum = 0.0;
    for_each_index(Shape(weights.shape.begin() + 1, weights.shape.end()), [&](const Index& ck) {
      const Index k(ck.begin() + 1, ck.end());
      const auto place =
          looked_at(w, x.shape, o[0], o[1] / per_group * channels + ck[0], position, k);
      if (place.has_value()) {
        Index weight{o[1]};
        weight.insert(weight.end(), ck.begin(), ck.end());
        sum += at(x, *place) * at(weights, weight);
      }
    });
    set(y, linear(shape, o), sum);
  });
  return y;
}

Array pool(const Windows& w, bool largest, const Array& x) {
  const Shape spatial = extents(w, x.shape);
  Shape shape{x.shape[0], x.shape[1]};
  shape.insert(shape.end(), spatial.begin(), spatial.end());
  Array y = make_array(x.type, shape);
  for_each_index(shape, [&](const Index& o) {
    const Index position(o.begin() + 2, o.end());
    double value = largest ? -std::numeric_limits<double>::infinity() : 0.0;
    for_each_index(w.kernel, [&](const Index& k) {
      if (const auto place = looked_at(w, x.shape, o[0], o[1], position, k)) {
        value = largest ? std::max(value, at(x, *place)) : value + at(x, *place);
      }
    });
    set(y, linear(shape, o), value);
  });
  return y;
}

// Windows of this rank that fit the shape, with strides above the kernel, large pads and dilations
// among them.
Windows random_windows(Random& random, const Shape& shape) {
  Windows w;
  for (std::size_t i = 2; i < shape.size(); ++i) {
    while (true) {
      const std::int64_t k = random.integer(1, 4);
      const std::int64_t d = random.integer(1, 3);
      const std::int64_t low = random.integer(0, 4);
      const std::int64_t high = random.integer(0, 4);
      if ((k - 1) * d + 1 <= shape[i] + low + high) {
        w.kernel.push_back(k);
        w.dilations.push_back(d);
        w.low.push_back(low);
        w.high.push_back(high);
        w.strides.push_back(random.integer(1, 5));
        break;
      }
    }
  }
  return w;
}

Shape random_shape(Random& random, std::int64_t channels) {
  Shape shape{random.integer(1, 2), channels};
  const auto rank = random.integer(1, 3);
  for (int i = 0; i < rank; ++i) {
    shape.push_back(random.integer(1, 7));
  }
  return shape;
}

}  // namespace

TEST_CASE("a convolution has the values computed by hand") {
  const Array y = run(Convolution{{1}, {1}, {0}, {1}, 1},
                      {real({1, 1, 4}, {1, 2, 3, 4}), real({1, 1, 2}, {10, 1})});
  CHECK(y.shape == Shape{1, 1, 4});
  CHECK(values(y) == Values{1, 12, 23, 34});
}

TEST_CASE("convolutions of every rank, group, stride, dilation and pad equal nested loops") {
  Random random(21);
  for (int round = 0; round < 250; ++round) {
    const std::int64_t groups = random.integer(1, 3);
    const std::int64_t per_group = random.integer(1, 3);
    const Shape shape = random_shape(random, groups * per_group);
    const Windows w = random_windows(random, shape);
    Shape weights{groups * random.integer(1, 3), per_group};
    weights.insert(weights.end(), w.kernel.begin(), w.kernel.end());
    const ElementType type = round % 4 == 0 ? ElementType::i32 : ElementType::f32;
    const Array x = random_whole(random, shape, type);
    const Array k = random_whole(random, weights, type);
    CHECK(run(Convolution{w.strides, w.low, w.high, w.dilations, groups}, {x, k}) ==
          convolve(w, groups, x, k));
  }
}

TEST_CASE("convolutions of several blocks of pixels equal nested loops") {
  Random random(22);
  const Windows w{{3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}};
  const Array x = random_whole(random, {1, 2, 95, 97});
  const Array k = random_whole(random, {2, 2, 3, 3});
  CHECK(run(Convolution{w.strides, w.low, w.high, w.dilations, 1}, {x, k}) == convolve(w, 1, x, k));
}

TEST_CASE("empty batches and channels convolve to empty or zero") {
  CHECK(run(Convolution{{1}, {0}, {0}, {1}, 1},
            {real({0, 2, 3}, {}), real({4, 2, 1}, {1, 1, 1, 1, 1, 1, 1, 1})})
            .shape == Shape{0, 4, 3});
  CHECK(values(run(Convolution{{1}, {0}, {0}, {1}, 1},
                   {real({1, 0, 2}, {}), real({1, 0, 1}, {})})) == Values{0, 0});
}

TEST_CASE("pooling of every rank equals nested loops") {
  Random random(23);
  for (int round = 0; round < 250; ++round) {
    const Shape shape = random_shape(random, random.integer(1, 3));
    const Windows w = random_windows(random, shape);
    const Array x = random_whole(random, shape);
    for (const bool largest : {true, false}) {
      const Window op{largest ? ReduceFunction::max : ReduceFunction::sum,
                      w.kernel,
                      w.strides,
                      w.low,
                      w.high,
                      w.dilations};
      CHECK(run(op, {x}) == pool(w, largest, x));
    }
  }
}

TEST_CASE("padding never wins a maximum, in floats and integers") {
  const Window op{ReduceFunction::max, {2, 2}, {2, 2}, {1, 1}, {1, 1}, {1, 1}};
  CHECK(values(run(op, {real({1, 1, 2, 2}, {-1, -2, -3, -4})})) == Values{-1, -2, -3, -4});
  CHECK(values(run(op, {whole({1, 1, 2, 2}, {-1, -2, -3, -4}, ElementType::i8)})) ==
        Values{-1, -2, -3, -4});
}

TEST_CASE("windows that do not fit are refused") {
  const Convolution plain{{1, 1}, {0, 0}, {0, 0}, {1, 1}, 1};
  CHECK(refusal(plain, {f32({1, 3, 5, 5}), f32({4, 3, 6, 1})}) ==
        "Origin_1: convolution of f32[1,3,5,5], f32[4,3,6,1]: spatial axis 0: the kernel reaches "
        "over 6 elements, the "
        "padded operand has 5; use a smaller kernel or larger pads");
  CHECK(refusal(plain, {f32({1, 3, 5, 5}), f32({4, 2, 1, 1})})
            .find("1 groups do not fit 3 channels") != std::string::npos);
  CHECK(refusal(plain, {f32({1, 3, 5}), f32({4, 3, 1})}).find("strides has 2 entries for 1 axes") !=
        std::string::npos);
  CHECK(refusal(plain, {f32({1, 3}), f32({4, 3})}).find("rank of at least 3") != std::string::npos);
  Convolution bad = plain;
  bad.strides[1] = 0;
  CHECK(refusal(bad, {f32({1, 3, 5, 5}), f32({4, 3, 1, 1})}).find("out of range") !=
        std::string::npos);
  bad = plain;
  bad.pads_low[0] = -1;
  CHECK(refusal(bad, {f32({1, 3, 5, 5}), f32({4, 3, 1, 1})}).find("out of range") !=
        std::string::npos);
  bad.pads_low[0] = std::numeric_limits<std::int64_t>::max();
  CHECK(refusal(bad, {f32({1, 3, 5, 5}), f32({4, 3, 1, 1})}).find("out of range") !=
        std::string::npos);
  bad = plain;
  bad.groups = 0;
  CHECK(refusal(bad, {f32({1, 3, 5, 5}), f32({4, 3, 1, 1})}).find("0 groups") != std::string::npos);
  CHECK(refusal(Window{ReduceFunction::mean, {1}, {1}, {0}, {0}, {1}}, {f32({1, 1, 3})})
            .find("mean is not pooled") != std::string::npos);
  CHECK(refusal(Window{ReduceFunction::max, {1}, {1}, {0}, {0}, {1}}, {f32({1, 1, 1, 1, 1, 1})})
            .find("rank 6") != std::string::npos);
}

}  // namespace systole::graph::naive
