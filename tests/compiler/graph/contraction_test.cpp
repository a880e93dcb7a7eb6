#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>

#include "tests/compiler/graph/naive.hpp"

namespace systole::graph::naive {
namespace {

// Sums over all labels, one nested loop each.
Array contract(const Contraction& op, const Array& lhs, const Array& rhs, const Shape& extents,
               const Shape& result) {
  std::vector<double> sums(static_cast<std::size_t>(elements(result)), 0.0);
  const auto pick = [](const std::vector<int>& labels, const Index& all) {
    Index index;
    for (const int label : labels) {
      index.push_back(all[static_cast<std::size_t>(label)]);
    }
    return index;
  };
  for_each_index(extents, [&](const Index& all) {
    sums[static_cast<std::size_t>(linear(result, pick(op.out, all)))] +=
        at(lhs, pick(op.lhs, all)) * at(rhs, pick(op.rhs, all));
  });
  Array out = make_array(lhs.type, result);
  for (std::size_t i = 0; i < sums.size(); ++i) {
    set(out, static_cast<std::int64_t>(i), sums[i]);
  }
  return out;
}

struct Problem {
  Contraction op;
  Shape extents, lhs, rhs, out;  // of the labels; of the arrays
};

// Every label falls into one of the four classes; axis orders are random.
Problem random_problem(Random& random) {
  Problem p;
  const auto labels = static_cast<int>(random.integer(0, 5));
  for (int label = 0; label < labels; ++label) {
    p.extents.push_back(random.integer(0, 9) == 0 ? 0 : random.integer(1, 5));
    const auto kind = random.integer(0, 3);  // batch, m, n, k
    if (kind != 2) {
      p.op.lhs.push_back(label);
    }
    if (kind != 1) {
      p.op.rhs.push_back(label);
    }
    if (kind != 3) {
      p.op.out.push_back(label);
    }
  }
  for (std::vector<int>* order : {&p.op.lhs, &p.op.rhs, &p.op.out}) {
    for (std::size_t i = order->size(); i > 1; --i) {
      std::swap(
          (*order)[i - 1],
          (*order)[static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(i) - 1))]);
    }
  }
  const auto shape = [&](const std::vector<int>& order) {
    Shape s;
    for (const int label : order) {
      s.push_back(p.extents[static_cast<std::size_t>(label)]);
    }
    return s;
  };
  p.lhs = shape(p.op.lhs);
  p.rhs = shape(p.op.rhs);
  p.out = shape(p.op.out);
  return p;
}

}  // namespace

TEST_CASE("a matrix product has the values computed by hand") {
  const Array y = run(Contraction{{0, 1}, {1, 2}, {0, 2}},
                      {real({2, 3}, {1, 2, 3, 4, 5, 6}), real({3, 2}, {1, 0, 0, 1, 2, 2})});
  CHECK(y.shape == Shape{2, 2});
  CHECK(values(y) == Values{7, 8, 16, 17});
}

TEST_CASE("contractions of any axis order equal nested loops, floats and integers") {
  Random random(11);
  for (int round = 0; round < 400; ++round) {
    const Problem p = random_problem(random);
    const ElementType type = round % 3 == 0 ? ElementType::i32 : ElementType::f32;
    const Array lhs = random_whole(random, p.lhs, type);
    const Array rhs = random_whole(random, p.rhs, type);
    CHECK(run(p.op, {lhs, rhs}) == contract(p.op, lhs, rhs, p.extents, p.out));
  }
}

TEST_CASE("contractions larger than one panel equal nested loops") {
  Random random(12);
  for (const auto& [m, k, n] :
       {std::array<std::int64_t, 3>{3, 1100, 2}, {1030, 2, 3}, {2, 3, 2050}}) {
    const Array lhs = random_whole(random, {k, m});
    const Array rhs = random_whole(random, {n, k});
    const Contraction op{{2, 0}, {1, 2}, {1, 0}};
    CHECK(run(op, {lhs, rhs}) == contract(op, lhs, rhs, {m, n, k}, {n, m}));
  }
}

TEST_CASE("sums of products are accumulated beyond single precision") {
  Array lhs = make_array(ElementType::f32, {1, 3});
  set(lhs, 0, 1e8);
  set(lhs, 1, 1.0);
  set(lhs, 2, -1e8);
  CHECK(values(run(Contraction{{0, 1}, {1, 2}, {0, 2}}, {lhs, real({3, 1}, {1, 1, 1})})) ==
        Values{1.0});
}

TEST_CASE("integer contractions are exact in 64 bits and wrap in their type") {
  const std::int64_t big = (std::int64_t{1} << 53) + 1;
  const Array y = run(Contraction{{0}, {0}, {}}, {whole({2}, {big, 1}), whole({2}, {1, 1})});
  CHECK(get_integer(y, 0) == big + 1);
  const Array z = run(Contraction{{}, {}, {}},
                      {whole({}, {100}, ElementType::i8), whole({}, {3}, ElementType::i8)});
  CHECK(get_integer(z, 0) == 44);
}

TEST_CASE("a contraction over nothing is zero") {
  CHECK(values(run(Contraction{{0, 1}, {1, 2}, {0, 2}}, {real({2, 0}, {}), real({0, 1}, {})})) ==
        Values{0, 0});
}

TEST_CASE("contractions whose operands do not fit are refused with origin, shapes and remedy") {
  const Contraction product{{0, 1}, {1, 2}, {0, 2}};
  CHECK(refusal(product, {f32({2, 3}), f32({4, 5})}) ==
        "Origin_1: contraction of f32[2,3], f32[4,5]: label 1 is 3 in lhs and 4 in rhs; axes that "
        "are multiplied "
        "together need equal extents");
  CHECK(refusal(product, {f32({2, 3})}).find("needs 2 operands, has 1") != std::string::npos);
  CHECK(refusal(product, {f32({2, 3}), i64({3, 2})}).find("differ in element type") !=
        std::string::npos);
  CHECK(refusal(product, {f32({2, 3, 1}), f32({3, 2})}).find("lhs has 2 entries for 3 axes") !=
        std::string::npos);
  CHECK(refusal(Contraction{{0, 0}, {0}, {}}, {f32({2, 2}), f32({2})})
            .find("label 0 stands twice in lhs") != std::string::npos);
  CHECK(refusal(Contraction{{0, 1}, {0}, {0}}, {f32({2, 2}), f32({2})})
            .find("label 1 stands in lhs only") != std::string::npos);
  CHECK(refusal(Contraction{{0}, {0, 1}, {0}}, {f32({2}), f32({2, 2})})
            .find("label 1 stands in rhs only") != std::string::npos);
  CHECK(refusal(Contraction{{0}, {0}, {3}}, {f32({2}), f32({2})}).find("label 3 of the result") !=
        std::string::npos);
  CHECK(
      refusal(Contraction{{0}, {0}, {}}, {{ElementType::boolean, {2}}, {ElementType::boolean, {2}}})
          .find("booleans are not numbers") != std::string::npos);
}

}  // namespace systole::graph::naive
