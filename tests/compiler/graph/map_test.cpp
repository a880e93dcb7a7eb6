#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "tests/compiler/graph/naive.hpp"

namespace systole::graph::naive {
namespace {

using enum MapFunction;
constexpr double infinity = std::numeric_limits<double>::infinity();
const double nan = std::numeric_limits<double>::quiet_NaN();

double one(MapFunction function, double x, double alpha = 0.0, double beta = 0.0) {
  return get(run(Map{function, alpha, beta}, {real({}, {x}, ElementType::f64)}), 0);
}
double two(MapFunction function, double a, double b) {
  return get(run(Map{function}, {real({}, {a}, ElementType::f64), real({}, {b}, ElementType::f64)}),
             0);
}
std::int64_t two_integers(MapFunction function, std::int64_t a, std::int64_t b,
                          ElementType type = ElementType::i64) {
  return get_integer(run(Map{function}, {whole({}, {a}, type), whole({}, {b}, type)}), 0);
}
std::int64_t one_integer(MapFunction function, std::int64_t x,
                         ElementType type = ElementType::i64) {
  return get_integer(run(Map{function}, {whole({}, {x}, type)}), 0);
}

struct Row {
  MapFunction function;
  double x, expected;  // expected: tables to 10 digits
};

}  // namespace

TEST_CASE("functions of one operand have their tabulated values") {
  const std::vector<Row> rows = {{negate, 1.5, -1.5},
                                 {MapFunction::abs, -1.5, 1.5},
                                 {sign, -0.1, -1},
                                 {sign, 0, 0},
                                 {relu, -2, 0},
                                 {relu, 2, 2},
                                 {MapFunction::exp, 1, 2.7182818285},
                                 {MapFunction::log, 10, 2.3025850930},
                                 {MapFunction::sqrt, 2, 1.4142135624},
                                 {rsqrt, 4, 0.5},
                                 {reciprocal, 8, 0.125},
                                 {square, -3, 9},
                                 {sigmoid, 1, 0.7310585786},
                                 {sigmoid, -1, 0.2689414214},
                                 {sigmoid, -800, 0},
                                 {MapFunction::tanh, 0.5, 0.4621171573},
                                 {MapFunction::erf, 0.5, 0.5204998778},
                                 {gelu, 1, 0.8413447461},
                                 {gelu, -1, -0.1586552539},
                                 {gelu_tanh, 1, 0.8411919906},
                                 {silu, 1, 0.7310585786},
                                 {softplus, 0, 0.6931471806},
                                 {softplus, 800, 800},
                                 {mish, 1, 0.8650983883},
                                 {MapFunction::sin, 1, 0.8414709848},
                                 {MapFunction::cos, 1, 0.5403023059},
                                 {MapFunction::tan, 1, 1.5574077247},
                                 {MapFunction::asin, 0.5, 0.5235987756},
                                 {MapFunction::acos, 0.5, 1.0471975512},
                                 {MapFunction::atan, 1, 0.7853981634},
                                 {MapFunction::sinh, 1, 1.1752011936},
                                 {MapFunction::cosh, 1, 1.5430806348},
                                 {MapFunction::asinh, 1, 0.8813735870},
                                 {MapFunction::acosh, 2, 1.3169578969},
                                 {MapFunction::atanh, 0.5, 0.5493061443},
                                 {MapFunction::floor, -1.5, -2},
                                 {MapFunction::ceil, -1.5, -1},
                                 {MapFunction::round, 0.5, 0},
                                 {MapFunction::round, 1.5, 2},
                                 {MapFunction::round, -2.5, -2},
                                 {MapFunction::round, 2.6, 3},
                                 {copy, 3.25, 3.25}};
  for (const Row& row : rows) {
    CAPTURE(name_of(row.function));
    CHECK(one(row.function, row.x) == doctest::Approx(row.expected).epsilon(2e-10));
  }
  CHECK(one(clip, 7, 0, 6) == 6);
  CHECK(one(clip, -7, 0, 6) == 0);
  CHECK(one(leaky_relu, -2, 0.25) == -0.5);
  CHECK(one(leaky_relu, 2, 0.25) == 2);
  CHECK(one(elu, -1, 2) == doctest::Approx(-1.2642411177).epsilon(1e-9));
}

TEST_CASE("functions of two operands have their values") {
  CHECK(two(add, 2, 3) == 5);
  CHECK(two(subtract, 2, 3) == -1);
  CHECK(two(multiply, 2, 3) == 6);
  CHECK(two(divide, 3, 2) == 1.5);
  CHECK(two(max, 2, 3) == 3);
  CHECK(two(min, 2, 3) == 2);
  CHECK(two(power, 2, -1) == 0.5);
  CHECK(two(modulo, -7, 3) == 2);
  CHECK(two(modulo, 7, -3) == -2);
  CHECK(two(MapFunction::remainder, -7, 3) == -1);
  CHECK(two(MapFunction::remainder, 7, -3) == 1);
  CHECK(two(divide, 1, 0) == infinity);
}

TEST_CASE("NaN goes through maximum, minimum, clip and relu, and compares unequal") {
  for (const MapFunction f : {max, min}) {
    CHECK(std::isnan(two(f, nan, 1)));
    CHECK(std::isnan(two(f, 1, nan)));
  }
  CHECK(std::isnan(one(relu, nan)));
  CHECK(std::isnan(one(clip, nan, 0, 1)));
  CHECK(std::isnan(one(sign, nan)));
  CHECK(two(equal, nan, nan) == 0);
  CHECK(two(not_equal, nan, nan) == 1);
  CHECK(two(less, nan, 1) == 0);
  CHECK(one(is_nan, nan) == 1);
  CHECK(one(is_nan, infinity) == 0);
  CHECK(one(is_inf, -infinity) == 1);
  CHECK(one(is_inf, nan) == 0);
}

TEST_CASE("integer division truncates, modulo follows the divisor, remainder the dividend") {
  CHECK(two_integers(divide, -7, 2) == -3);
  CHECK(two_integers(divide, 7, -2) == -3);
  CHECK(two_integers(modulo, -7, 3) == 2);
  CHECK(two_integers(modulo, 7, -3) == -2);
  CHECK(two_integers(MapFunction::remainder, -7, 3) == -1);
  CHECK(two_integers(MapFunction::remainder, 7, -3) == 1);
  const std::int64_t lowest = std::numeric_limits<std::int64_t>::min();
  CHECK(two_integers(divide, lowest, -1) == lowest);
  CHECK(two_integers(modulo, lowest, -1) == 0);
  CHECK(two_integers(divide, -1, 2, ElementType::u64) == std::numeric_limits<std::int64_t>::max());
  for (const MapFunction f : {divide, modulo, MapFunction::remainder}) {
    CHECK_THROWS_WITH_AS(two_integers(f, 1, 0),
                         (std::string("node: ") + std::string(name_of(f)) +
                          ": an integer is divided by zero; keep zeros out of the divisor")
                             .c_str(),
                         Error);
  }
}

TEST_CASE("integer arithmetic is exact in 64 bits and wraps in its type") {
  CHECK(two_integers(add, (std::int64_t{1} << 53), 1) == (std::int64_t{1} << 53) + 1);
  CHECK(two_integers(add, 120, 10, ElementType::i8) == -126);
  CHECK(two_integers(subtract, 1, 2, ElementType::u8) == 255);
  CHECK(two_integers(multiply, 65536, 65536, ElementType::i32) == 0);
  CHECK(two_integers(max, -1, 1, ElementType::u64) == -1);  // the largest of u64, read as i64
  CHECK(one_integer(negate, 5, ElementType::u8) == 251);
  CHECK(one_integer(MapFunction::abs, -5) == 5);
  CHECK(one_integer(sign, -5) == -1);
  CHECK(one_integer(sign, -5, ElementType::u64) == 1);
  CHECK(one_integer(relu, -5) == 0);
  CHECK(one_integer(square, -5) == 25);
  CHECK(one_integer(bitwise_not, 0, ElementType::u8) == 255);
  CHECK(get_integer(run(Map{clip, -2, 3}, {whole({}, {9})}), 0) == 3);
}

TEST_CASE("integer powers are exact; mixed powers take the type of the base") {
  CHECK(two_integers(power, 3, 39) == 4052555153018976267);
  CHECK(two_integers(power, -2, 3) == -8);
  CHECK(two_integers(power, 2, -1) == 0);
  CHECK(two_integers(power, -1, -3) == -1);
  const Array a = run(Map{power}, {whole({}, {9}, ElementType::i32), real({}, {0.5})});
  CHECK(a.type == ElementType::i32);
  CHECK(get_integer(a, 0) == 3);
  const Array b = run(Map{power}, {real({}, {1.5}), whole({}, {2})});
  CHECK(b.type == ElementType::f32);
  CHECK(get(b, 0) == 2.25);
}

TEST_CASE("bitwise functions and shifts") {
  CHECK(two_integers(bitwise_and, 12, 10) == 8);
  CHECK(two_integers(bitwise_or, 12, 10) == 14);
  CHECK(two_integers(bitwise_xor, 12, 10) == 6);
  CHECK(two_integers(shift_left, 1, 4, ElementType::u8) == 16);
  CHECK(two_integers(shift_left, 1, 8, ElementType::u8) == 0);
  CHECK(two_integers(shift_left, 1, 64) == 0);
  CHECK(two_integers(shift_right, -8, 1) == -4);
  CHECK(two_integers(shift_right, -8, 99) == -1);
  CHECK(two_integers(shift_right, -1, 63, ElementType::u64) == 1);
}

TEST_CASE("comparisons and logic give booleans") {
  const Array a = real({3}, {1, 2, 3});
  const Array b = real({}, {2});
  const auto result = [&](MapFunction f) { return values(run(Map{f}, {a, b})); };
  CHECK(result(equal) == Values{0, 1, 0});
  CHECK(result(not_equal) == Values{1, 0, 1});
  CHECK(result(less) == Values{1, 0, 0});
  CHECK(result(less_equal) == Values{1, 1, 0});
  CHECK(result(greater) == Values{0, 0, 1});
  CHECK(result(greater_equal) == Values{0, 1, 1});
  CHECK(run(Map{less}, {a, b}).type == ElementType::boolean);
  const Array p = whole({4}, {0, 0, 1, 1}, ElementType::boolean);
  const Array q = whole({4}, {0, 1, 0, 1}, ElementType::boolean);
  CHECK(values(run(Map{logical_and}, {p, q})) == Values{0, 0, 0, 1});
  CHECK(values(run(Map{logical_or}, {p, q})) == Values{0, 1, 1, 1});
  CHECK(values(run(Map{logical_xor}, {p, q})) == Values{0, 1, 1, 0});
  CHECK(values(run(Map{logical_not}, {p})) == Values{1, 1, 0, 0});
  CHECK(two_integers(less, -1, 1, ElementType::u64) == 0);
  CHECK(two_integers(less, -1, 1) == 1);
}

TEST_CASE("broadcasting aligns shapes from the right, also with equal extents and empty axes") {
  const Array x = real({2, 2}, {1, 2, 3, 4});
  CHECK(values(run(Map{add}, {x, real({2}, {10, 20})})) == Values{11, 22, 13, 24});
  CHECK(values(run(Map{add}, {x, real({2, 1}, {10, 20})})) == Values{11, 12, 23, 24});
  CHECK(values(run(Map{subtract}, {real({}, {1}), x})) == Values{0, -1, -2, -3});
  const Array cube = run(Map{multiply}, {real({2, 1, 1}, {1, 10}), real({3, 1}, {1, 2, 3})});
  CHECK(cube.shape == Shape{2, 3, 1});
  CHECK(values(cube) == Values{1, 2, 3, 10, 20, 30});
  CHECK(run(Map{add}, {real({0, 3}, {}), real({1, 3}, {1, 2, 3})}).shape == Shape{0, 3});
  CHECK(run(Map{add}, {real({0}, {}), real({1}, {1})}).shape == Shape{0});
}

TEST_CASE("broadcasting equals nested loops on random shapes") {
  Random random(31);
  for (int round = 0; round < 300; ++round) {
    Shape full;
    const auto rank = random.integer(0, 5);
    for (int i = 0; i < rank; ++i) {
      full.push_back(random.integer(1, 4));
    }
    const auto part = [&] {
      Shape shape(full.begin() + random.integer(0, rank), full.end());
      for (std::int64_t& extent : shape) {
        extent = random.integer(0, 2) == 0 ? 1 : extent;
      }
      return shape;
    };
    const Array a = random_whole(random, part());
    const Array b = random_whole(random, part());
    const Array c = convert(random_whole(random, part()), ElementType::boolean);
    Shape shape(std::max({a.shape.size(), b.shape.size(), c.shape.size()}), 1);
    for (const Array* array : {&a, &b, &c}) {
      for (std::size_t i = 0; i < array->shape.size(); ++i) {
        std::int64_t& extent = shape[shape.size() - array->shape.size() + i];
        extent = std::max(extent, array->shape[i]);
      }
    }
    const Array y = run(Map{select}, {c, a, b});
    REQUIRE(y.shape == shape);
    const auto read = [&](const Array& array, const Index& index) {
      Index own(index.end() - static_cast<std::ptrdiff_t>(array.shape.size()), index.end());
      for (std::size_t i = 0; i < own.size(); ++i) {
        own[i] = array.shape[i] == 1 ? 0 : own[i];
      }
      return at(array, own);
    };
    bool same = true;
    for_each_index(shape, [&](const Index& index) {
      same = same && at(y, index) == (read(c, index) != 0 ? read(a, index) : read(b, index));
    });
    CHECK(same);
  }
}

TEST_CASE("casts convert to the requested type") {
  const TensorType target{ElementType::i32, {2}};
  const Array y = run(Map{cast}, {real({2}, {-1.75, 3.5})}, &target);
  CHECK(y.type == ElementType::i32);
  CHECK(values(y) == Values{-1, 3});
}

TEST_CASE("results of float types are rounded to the type") {
  CHECK(get(run(Map{add}, {real({}, {2048}, ElementType::f16), real({}, {1}, ElementType::f16)}),
            0) == 2048);
  CHECK(get(run(Map{divide}, {real({}, {1}), real({}, {3})}), 0) ==
        static_cast<double>(1.0F / 3.0F));
}

TEST_CASE("maps on operands that do not fit are refused") {
  CHECK(refusal(Map{add}, {f32({2, 3}), f32({2})}) ==
        "Origin_1: add of f32[2,3], f32[2]: the shapes do not broadcast; aligned from the right, "
        "extents must be equal "
        "or 1");
  CHECK(refusal(Map{add}, {f32({0}), f32({2})}).find("do not broadcast") != std::string::npos);
  CHECK(refusal(Map{add}, {f32({2})}).find("needs 2 operands, has 1") != std::string::npos);
  CHECK(refusal(Map{add}, {f32({2}), i64({2})}).find("differ in element type") !=
        std::string::npos);
  CHECK(refusal(Map{MapFunction::exp}, {i64({2})}).find("exp of i64[2]: is not defined on i64") !=
        std::string::npos);
  CHECK(refusal(Map{bitwise_and}, {f32({2}), f32({2})}).find("is not defined on f32") !=
        std::string::npos);
  CHECK(refusal(Map{add}, {{ElementType::boolean, {}}, {ElementType::boolean, {}}})
            .find("is not defined on bool") != std::string::npos);
  CHECK(refusal(Map{logical_and}, {f32({}), f32({})}).find("is not defined on f32") !=
        std::string::npos);
  CHECK(refusal(Map{select}, {f32({}), f32({}), f32({})}).find("boolean condition") !=
        std::string::npos);
  CHECK(refusal(Map{select}, {{ElementType::boolean, {}}, f32({}), i64({})}).find("one type") !=
        std::string::npos);
  CHECK(refusal(Map{power}, {{ElementType::boolean, {}}, f32({})}).find("not numbers") !=
        std::string::npos);
}

TEST_CASE("every map function has a name of its own and is defined on some type") {
  std::vector<std::string_view> names;
  const TensorType boolean{ElementType::boolean, {}};
  for (int i = 0; i <= static_cast<int>(select); ++i) {
    const auto function = static_cast<MapFunction>(i);
    CAPTURE(name_of(function));
    for (const std::string_view other : names) {
      CHECK(other != name_of(function));
    }
    names.push_back(name_of(function));
    const auto operands = static_cast<std::size_t>(operands_of(function));
    bool defined = false;
    for (const TensorType& type : {f32({}), i64({}), boolean}) {
      std::vector<TensorType> types(operands, type);
      if (function == select) {
        types.front() = boolean;
      }
      defined = defined || refusal(Map{function}, types, type).empty();
    }
    CHECK(defined);
  }
}

}  // namespace systole::graph::naive
