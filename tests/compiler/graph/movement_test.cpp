#include <doctest/doctest.h>

#include <numeric>

#include "tests/compiler/graph/naive.hpp"

namespace systole::graph::naive {
namespace {

Shape random_shape(Random& random) {
  Shape shape;
  const auto rank = random.integer(0, 5);
  for (int i = 0; i < rank; ++i) {
    shape.push_back(random.integer(0, 20) == 0 ? 0 : random.integer(1, 5));
  }
  return shape;
}

// Distinct values in every type.
Array numbered(const Shape& shape, ElementType type) {
  Array array = make_array(type, shape);
  for (std::int64_t i = 0; i < elements(shape); ++i) {
    set_integer(array, i, i % 120);
  }
  return array;
}

ElementType some_type(Random& random) {
  return std::vector<ElementType>{ElementType::f32, ElementType::i64, ElementType::f16,
                                  ElementType::u8}[static_cast<std::size_t>(random.integer(0, 3))];
}

bool equals(const Array& y, const std::function<double(const Index&)>& expected) {
  bool same = true;
  for_each_index(y.shape,
                 [&](const Index& index) { same = same && at(y, index) == expected(index); });
  return same;
}

}  // namespace

TEST_CASE("transposes of every permutation of rank 3 move elements to their places") {
  const Array x = numbered({2, 3, 4}, ElementType::f32);
  std::vector<int> perm{0, 1, 2};
  do {
    const Array y = run(Transpose{perm}, {x});
    for (std::size_t i = 0; i < 3; ++i) {
      CHECK(y.shape[i] == x.shape[static_cast<std::size_t>(perm[i])]);
    }
    CHECK(equals(y, [&](const Index& index) {
      Index from(3);
      for (std::size_t i = 0; i < 3; ++i) {
        from[static_cast<std::size_t>(perm[i])] = index[i];
      }
      return at(x, from);
    }));
  } while (std::next_permutation(perm.begin(), perm.end()));
  CHECK(run(Transpose{{}}, {real({}, {5})}).shape.empty());
}

TEST_CASE(
    "slices, pads and expands of random shapes equal their definitions, in types of every size") {
  Random random(51);
  for (int round = 0; round < 400; ++round) {
    const Array x = numbered(random_shape(random), some_type(random));
    Slice slice;
    Pad pad;
    pad.value = 7;
    TensorType sliced{x.type, {}};
    TensorType expanded{x.type, {}};
    for (const std::int64_t extent : x.shape) {
      const std::int64_t count = extent == 0 ? 0 : random.integer(0, extent);
      const std::int64_t step =
          count > 1 ? random.integer(1, (extent - 1) / (count - 1)) : random.integer(1, 3);
      const std::int64_t room = count > 0 ? extent - 1 - (count - 1) * step : 0;
      const std::int64_t start = count > 0 ? random.integer(0, room) : 0;
      const bool back = random.integer(0, 2) == 0;
      slice.starts.push_back(back && count > 0 ? start + (count - 1) * step : start);
      slice.steps.push_back(back ? -step : step);
      sliced.shape.push_back(count);
      pad.interior.push_back(random.integer(0, 2));
      const std::int64_t spread =
          extent + std::max<std::int64_t>(0, extent - 1) * pad.interior.back();
      pad.low.push_back(random.integer(-std::min<std::int64_t>(2, spread), 2));
      pad.high.push_back(random.integer(
          -std::min<std::int64_t>(2, spread + std::min<std::int64_t>(0, pad.low.back())), 2));
      expanded.shape.push_back(extent == 1 ? random.integer(0, 3) : extent);
    }
    expanded.shape.insert(expanded.shape.begin(), random.integer(1, 2));
    CHECK(equals(run(slice, {x}, &sliced), [&](const Index& index) {
      Index from = index;
      for (std::size_t i = 0; i < from.size(); ++i) {
        from[i] = slice.starts[i] + index[i] * slice.steps[i];
      }
      return at(x, from);
    }));
    CHECK(equals(run(pad, {x}), [&](const Index& index) {
      Index from = index;
      for (std::size_t i = 0; i < from.size(); ++i) {
        const std::int64_t place = index[i] - pad.low[i];
        if (place < 0 || place % (pad.interior[i] + 1) != 0 ||
            place / (pad.interior[i] + 1) >= x.shape[i]) {
          return 7.0;
        }
        from[i] = place / (pad.interior[i] + 1);
      }
      return at(x, from);
    }));
    CHECK(equals(run(Expand{}, {x}, &expanded), [&](const Index& index) {
      Index from(index.begin() + 1, index.end());
      for (std::size_t i = 0; i < from.size(); ++i) {
        from[i] = x.shape[i] == 1 ? 0 : from[i];
      }
      return at(x, from);
    }));
  }
}

TEST_CASE("pads give the extent of their definition") {
  CHECK(run(Pad{{1}, {-2}, {2}, 0.0}, {real({3}, {1, 2, 3})}).shape == Shape{6});
  CHECK(values(run(Pad{{1}, {-2}, {2}, 9.0}, {real({3}, {1, 2, 3})})) == Values{9, 1, 9, 9, 2, 9});
  CHECK(values(run(Pad{{2}, {1}, {5}, 1.0}, {real({0}, {})})) == Values{1, 1, 1});
}

TEST_CASE("reshapes keep the row-major order") {
  const TensorType target = f32({3, 1, 2});
  const Array y = run(Reshape{}, {real({2, 3}, {1, 2, 3, 4, 5, 6})}, &target);
  CHECK(y.shape == target.shape);
  CHECK(values(y) == Values{1, 2, 3, 4, 5, 6});
}

TEST_CASE("concatenations of random parts equal their definition") {
  Random random(52);
  for (int round = 0; round < 200; ++round) {
    Shape shape = random_shape(random);
    if (shape.empty()) {
      continue;
    }
    const auto axis =
        static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(shape.size()) - 1));
    const ElementType type = some_type(random);
    std::vector<Array> parts;
    const auto count = random.integer(1, 4);
    for (int i = 0; i < count; ++i) {
      shape[axis] = random.integer(0, 3);
      parts.push_back(numbered(shape, type));
    }
    CHECK(equals(run(Concat{static_cast<int>(axis)}, parts), [&](const Index& index) {
      Index from = index;
      std::size_t part = 0;
      while (from[axis] >= parts[part].shape[axis]) {
        from[axis] -= parts[part].shape[axis];
        ++part;
      }
      return at(parts[part], from);
    }));
  }
}

TEST_CASE("movements that do not fit are refused") {
  CHECK(refusal(Transpose{{0, 2, 1}}, {f32({1, 2, 3, 4})}) ==
        "Origin_1: transpose of f32[1,2,3,4]: perm (0,2,1) does not permute the axes of rank 4; "
        "list each axis once");
  CHECK(refusal(Transpose{{0, 0}}, {f32({1, 2})}).find("does not permute") != std::string::npos);
  CHECK(refusal(Transpose{{0, -1}}, {f32({1, 2})}).find("does not permute") != std::string::npos);
  CHECK(refusal(Reshape{}, {f32({2, 3})}, f32({4})) ==
        "Origin_1: reshape of f32[2,3]: the target [4] has another number of elements; give a "
        "shape with the same "
        "product of extents");
  CHECK(refusal(Reshape{}, {f32({0})}, f32({-1, 0})).find("the target [-1,0]") !=
        std::string::npos);
  CHECK(refusal(Slice{{1}, {1}}, {f32({3})}, f32({3})) ==
        "Origin_1: slice of f32[3]: axis 0: 3 elements from 1 by 1 do not lie within 3; choose "
        "start, step and extent "
        "within the operand; the step is not 0");
  CHECK(refusal(Slice{{0}, {0}}, {f32({3})}, f32({1})).find("slice") != std::string::npos);
  CHECK(refusal(Slice{{0}, {-1}}, {f32({3})}, f32({2})).find("slice") != std::string::npos);
  CHECK(refusal(Slice{{0}, {std::numeric_limits<std::int64_t>::max()}}, {f32({3})}, f32({3}))
            .find("slice") != std::string::npos);
  CHECK(refusal(Slice{{0}, {1}}, {f32({3, 3})}, f32({3, 3}))
            .find("starts has 1 entries for 2 axes") != std::string::npos);
  CHECK(refusal(Slice{{99}, {1}}, {f32({3})}, f32({0})).empty());
  CHECK(refusal(Expand{}, {f32({2, 3})}, f32({3})).find("cannot be broadcast to [3]") !=
        std::string::npos);
  CHECK(refusal(Expand{}, {f32({2})}, f32({4})).find("cannot be broadcast to [4]") !=
        std::string::npos);
  CHECK(refusal(Pad{{-2}, {-2}, {0}, 0.0}, {f32({3})}).find("leave no valid extent") !=
        std::string::npos);
  CHECK(refusal(Pad{{0}, {0}, {-1}, 0.0}, {f32({3})}).find("leave no valid extent") !=
        std::string::npos);
  const std::int64_t huge = std::numeric_limits<std::int64_t>::max();
  CHECK(refusal(Pad{{huge}, {huge}, {0}, 0.0}, {f32({3})}).find("leave no valid extent") !=
        std::string::npos);
  CHECK(refusal(Concat{0}, {f32({2, 3}), f32({2, 4})}).find("extents differ outside axis 0") !=
        std::string::npos);
  CHECK(refusal(Concat{0}, {f32({2}), f32({2, 1})}).find("extents differ") != std::string::npos);
  CHECK(refusal(Concat{0}, {f32({}), f32({})}).find("rank 0 has no axis") != std::string::npos);
  CHECK(refusal(Concat{0}, {}).find("concat of nothing") != std::string::npos);
  CHECK(refusal(Concat{0}, {f32({2}), i64({2})}).find("element type") != std::string::npos);
}

}  // namespace systole::graph::naive
