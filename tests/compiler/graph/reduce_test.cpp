#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/compiler/graph/naive.hpp"

namespace systole::graph::naive {
namespace {

const double nan = std::numeric_limits<double>::quiet_NaN();

// All elements that fall onto one element of the result, in row-major order.
std::vector<std::vector<double>> groups(const Array& x, const std::vector<int>& axes,
                                        const Shape& kept) {
  std::vector<std::vector<double>> result(static_cast<std::size_t>(elements(kept)));
  for_each_index(x.shape, [&](const Index& index) {
    Index place = index;
    for (const int axis : axes) {
      place[static_cast<std::size_t>(axis)] = 0;
    }
    result[static_cast<std::size_t>(linear(kept, place))].push_back(at(x, index));
  });
  return result;
}

double reduce(ReduceFunction function, const std::vector<double>& all) {
  double sum = 0.0;
  double product = 1.0;
  for (const double value : all) {
    sum += value;
    product *= value;
  }
  switch (function) {
    case ReduceFunction::sum:
      return sum;
    case ReduceFunction::product:
      return product;
    case ReduceFunction::mean:
      return sum / static_cast<double>(all.size());
    case ReduceFunction::max:
      return *std::max_element(all.begin(), all.end());
    case ReduceFunction::min:
      return *std::min_element(all.begin(), all.end());
  }
  return 0.0;
}

}  // namespace

TEST_CASE("reductions over any axes equal loops") {
  Random random(41);
  for (int round = 0; round < 300; ++round) {
    Shape shape;
    const auto rank = random.integer(1, 5);
    for (int i = 0; i < rank; ++i) {
      shape.push_back(random.integer(1, 4));
    }
    Reduce op;
    op.function = static_cast<ReduceFunction>(random.integer(0, 4));
    op.keep = random.integer(0, 1) == 1;
    Shape kept = shape;
    Shape dropped;
    for (int i = 0; i < static_cast<int>(rank); ++i) {
      if (random.integer(0, 1) == 1 || (op.axes.empty() && i + 1 == static_cast<int>(rank))) {
        op.axes.push_back(i);
        kept[static_cast<std::size_t>(i)] = 1;
      } else {
        dropped.push_back(shape[static_cast<std::size_t>(i)]);
      }
    }
    const Array x = random_whole(random, shape, ElementType::f64);
    const Array y = run(op, {x});
    CHECK(y.shape == (op.keep ? kept : dropped));
    const auto expected = groups(x, op.axes, kept);
    REQUIRE(expected.size() == static_cast<std::size_t>(elements(y.shape)));
    for (std::size_t i = 0; i < expected.size(); ++i) {
      CHECK(get(y, static_cast<std::int64_t>(i)) == reduce(op.function, expected[i]));
    }
  }
}

TEST_CASE("sums of floats are accumulated beyond single precision, means of integers truncate") {
  CHECK(values(run(Reduce{ReduceFunction::sum, {0}, false}, {real({3}, {1e8, 1, -1e8})})) ==
        Values{1});
  CHECK(values(run(Reduce{ReduceFunction::mean, {0}, false},
                   {whole({2}, {-2, -1}, ElementType::i32)})) == Values{-1});
  CHECK(get_integer(
            run(Reduce{ReduceFunction::sum, {0}, false}, {whole({2}, {std::int64_t{1} << 53, 1})}),
            0) == (std::int64_t{1} << 53) + 1);
}

TEST_CASE("reductions of nothing give the identity") {
  const auto of_nothing = [](ReduceFunction f) {
    return get(run(Reduce{f, {0}, false}, {real({0}, {})}), 0);
  };
  CHECK(of_nothing(ReduceFunction::sum) == 0);
  CHECK(of_nothing(ReduceFunction::product) == 1);
  CHECK(of_nothing(ReduceFunction::max) == -std::numeric_limits<double>::infinity());
  CHECK(of_nothing(ReduceFunction::min) == std::numeric_limits<double>::infinity());
  CHECK(std::isnan(of_nothing(ReduceFunction::mean)));
  CHECK(get_integer(run(Reduce{ReduceFunction::max, {0}, false}, {whole({0}, {}, ElementType::i8)}),
                    0) == -128);
  CHECK(get_integer(run(Reduce{ReduceFunction::min, {0}, false}, {whole({0}, {}, ElementType::u8)}),
                    0) == 255);
  CHECK(run(Reduce{ReduceFunction::sum, {1}, true}, {real({0, 3}, {})}).shape == Shape{0, 1});
  CHECK_THROWS_AS(run(Reduce{ReduceFunction::mean, {0}, false}, {whole({0}, {})}), Error);
}

TEST_CASE("NaN goes through maxima and minima") {
  for (const ReduceFunction f : {ReduceFunction::max, ReduceFunction::min}) {
    CHECK(std::isnan(get(run(Reduce{f, {0}, false}, {real({3}, {1, nan, 2})}), 0)));
  }
}

TEST_CASE("maxima of booleans are or, minima and") {
  const Array x = whole({2, 2}, {0, 1, 1, 1}, ElementType::boolean);
  CHECK(values(run(Reduce{ReduceFunction::max, {1}, false}, {x})) == Values{1, 1});
  CHECK(values(run(Reduce{ReduceFunction::min, {1}, false}, {x})) == Values{0, 1});
}

TEST_CASE("positions of extremes: first or last on ties, negative data, any axis") {
  const Array x = real({2, 4}, {-3, -1, -1, -2, 5, 5, 4, 4});
  CHECK(values(run(ArgReduce{true, 1, false, false}, {x})) == Values{1, 0});
  CHECK(values(run(ArgReduce{true, 1, false, true}, {x})) == Values{2, 1});
  CHECK(values(run(ArgReduce{false, 1, false, false}, {x})) == Values{0, 2});
  CHECK(values(run(ArgReduce{false, 1, false, true}, {x})) == Values{0, 3});
  const Array y = run(ArgReduce{true, 0, true, false}, {x});
  CHECK(y.shape == Shape{1, 4});
  CHECK(y.type == ElementType::i64);
  CHECK(values(y) == Values{1, 1, 1, 1});
  const Array cube = real({2, 3, 2}, {1, 9, 5, 2, 3, 4, 0, 0, 7, 1, 8, 1});
  CHECK(values(run(ArgReduce{true, 1, false, false}, {cube})) == Values{1, 0, 2, 1});
}

TEST_CASE("the first NaN is the extreme") {
  const Array x = real({4}, {1, nan, 9, nan});
  CHECK(values(run(ArgReduce{true, 0, false, false}, {x})) == Values{1});
  CHECK(values(run(ArgReduce{false, 0, false, false}, {x})) == Values{1});
  CHECK(values(run(ArgReduce{true, 0, false, true}, {x})) == Values{3});
}

TEST_CASE("reductions that do not fit are refused") {
  CHECK(refusal(Reduce{ReduceFunction::sum, {2}, false}, {f32({2, 3})}) ==
        "Origin_1: reduce of f32[2,3]: axis 2 is outside rank 2; use an axis from 0 to 1");
  CHECK(refusal(Reduce{ReduceFunction::sum, {0}, false}, {f32({})})
            .find("a value of rank 0 has no axis") != std::string::npos);
  CHECK(refusal(Reduce{ReduceFunction::sum, {-1}, false}, {f32({2})}).find("axis -1") !=
        std::string::npos);
  CHECK(refusal(Reduce{ReduceFunction::sum, {1, 0}, false}, {f32({2, 3})}).find("not ascending") !=
        std::string::npos);
  CHECK(refusal(Reduce{ReduceFunction::sum, {1, 1}, false}, {f32({2, 3})}).find("not ascending") !=
        std::string::npos);
  CHECK(refusal(Reduce{ReduceFunction::sum, {}, false}, {f32({2, 3})}).find("no axes") !=
        std::string::npos);
  CHECK(refusal(Reduce{ReduceFunction::sum, {0}, false}, {{ElementType::boolean, {2}}})
            .find("not numbers") != std::string::npos);
  CHECK(refusal(ArgReduce{true, 1, false, false}, {f32({2, 0})}).find("axis 1 is empty") !=
        std::string::npos);
  CHECK(refusal(ArgReduce{true, 1, false, false}, {f32({0, 0})}).empty());
}

}  // namespace systole::graph::naive
