#include <doctest/doctest.h>

#include <cmath>

#include "tests/compiler/graph/naive.hpp"

namespace systole::graph::naive {

TEST_CASE("gather replaces an axis by the axes of the indices") {
  const Array x = real({2, 3}, {1, 2, 3, 4, 5, 6});
  CHECK(values(run(Gather{1}, {x, whole({2}, {2, -3})})) == Values{3, 1, 6, 4});
  CHECK(values(run(Gather{0}, {x, whole({1, 2}, {1, 1}, ElementType::i32)})) ==
        Values{4, 5, 6, 4, 5, 6});
  CHECK(run(Gather{0}, {x, whole({1, 2}, {1, 1})}).shape == Shape{1, 2, 3});
  const Array row = run(Gather{0}, {x, whole({}, {-1})});
  CHECK(row.shape == Shape{3});
  CHECK(values(row) == Values{4, 5, 6});
  CHECK(run(Gather{0}, {x, whole({0}, {})}).shape == Shape{0, 3});
  CHECK(values(run(Gather{0}, {whole({2}, {7, 8}, ElementType::u8), whole({3}, {1, 0, 1})})) ==
        Values{8, 7, 8});
}

TEST_CASE("gather by element reads along one axis") {
  const Array x = real({2, 3}, {1, 2, 3, 4, 5, 6});
  CHECK(values(run(GatherElements{1}, {x, whole({2, 2}, {0, -1, 1, 1})})) == Values{1, 3, 5, 5});
  CHECK(values(run(GatherElements{0}, {x, whole({1, 3}, {1, 0, 1})})) == Values{4, 2, 6});
  CHECK(values(run(GatherElements{0}, {x, whole({3, 1}, {1, 0, 1})})) == Values{4, 1, 4});
}

TEST_CASE("scatter replaces or combines slabs") {
  const Array x = real({3, 2}, {1, 2, 3, 4, 5, 6});
  const Array rows = whole({2, 1}, {2, -3});
  const Array updates = real({2, 2}, {10, 0, 20, 5});
  CHECK(values(run(ScatterND{ScatterMode::assign}, {x, rows, updates})) ==
        Values{20, 5, 3, 4, 10, 0});
  CHECK(values(run(ScatterND{ScatterMode::add}, {x, rows, updates})) == Values{21, 7, 3, 4, 15, 6});
  CHECK(values(run(ScatterND{ScatterMode::multiply}, {x, rows, updates})) ==
        Values{20, 10, 3, 4, 50, 0});
  CHECK(values(run(ScatterND{ScatterMode::max}, {x, rows, updates})) == Values{20, 5, 3, 4, 10, 6});
  CHECK(values(run(ScatterND{ScatterMode::min}, {x, rows, updates})) == Values{1, 2, 3, 4, 5, 0});
  CHECK(values(run(ScatterND{ScatterMode::assign}, {x, whole({1, 2}, {1, -1}), real({1}, {9})})) ==
        Values{1, 2, 3, 9, 5, 6});
}

TEST_CASE("scatter with repeated indices combines all updates; assigning keeps the last") {
  const Array x = whole({2}, {1, 1}, ElementType::i32);
  const Array twice = whole({3, 1}, {0, 0, 0});
  const Array updates = whole({3}, {2, 3, 4}, ElementType::i32);
  CHECK(values(run(ScatterND{ScatterMode::add}, {x, twice, updates})) == Values{10, 1});
  CHECK(values(run(ScatterND{ScatterMode::multiply}, {x, twice, updates})) == Values{24, 1});
  CHECK(values(run(ScatterND{ScatterMode::assign}, {x, twice, updates})) == Values{4, 1});
}

TEST_CASE("scatter of whole tensors and of nothing") {
  const Array x = real({2}, {1, 2});
  CHECK(values(run(ScatterND{ScatterMode::assign}, {x, whole({0}, {}), real({2}, {7, 8})})) ==
        Values{7, 8});
  CHECK(values(run(ScatterND{ScatterMode::assign}, {x, whole({0, 1}, {}), real({0}, {})})) ==
        Values{1, 2});
  CHECK(std::isnan(get(
      run(ScatterND{ScatterMode::max}, {x, whole({1, 1}, {0}), real({1}, {std::nan("")})}), 0)));
}

TEST_CASE("indices outside the axis are an error that names the node") {
  const Array x = real({2}, {1, 2});
  CHECK_THROWS_WITH_AS(
      run(Gather{0}, {x, whole({1}, {2})}),
      "node: gather: index 2 is outside an axis of 2 elements; use indices from -2 to 1", Error);
  CHECK_THROWS_AS(run(Gather{0}, {x, whole({1}, {-3})}), Error);
  CHECK_THROWS_AS(run(Gather{0}, {real({0}, {}), whole({1}, {0})}), Error);
  CHECK_THROWS_AS(run(GatherElements{0}, {x, whole({1}, {2})}), Error);
  CHECK_THROWS_AS(run(ScatterND{}, {x, whole({1, 1}, {2}), real({1}, {0})}), Error);
}

TEST_CASE("indexing that does not fit is refused") {
  CHECK(refusal(Gather{0}, {f32({2}), f32({1})}) ==
        "Origin_1: gather of f32[2], f32[1]: indices are f32; cast the indices to i64");
  CHECK(refusal(Gather{1}, {f32({2}), i64({1})}).find("axis 1 is outside rank 1") !=
        std::string::npos);
  CHECK(refusal(GatherElements{0}, {f32({2, 2}), i64({1, 3})})
            .find("exceed the data outside axis 0") != std::string::npos);
  CHECK(refusal(GatherElements{0}, {f32({2, 2}), i64({1})}).find("exceed the data") !=
        std::string::npos);
  CHECK(refusal(ScatterND{}, {f32({2, 2}), i64({1, 3}), f32({1})}).find("leading axes") !=
        std::string::npos);
  CHECK(refusal(ScatterND{}, {f32({2, 2}), i64({}), f32({1})}).find("leading axes") !=
        std::string::npos);
  CHECK(refusal(ScatterND{}, {f32({2, 2}), i64({3, 1}), f32({3})})
            .find("updates should have shape [3,2]") != std::string::npos);
  CHECK(refusal(ScatterND{}, {f32({2}), i64({1, 1}), i64({1})}).find("element type") !=
        std::string::npos);
}

}  // namespace systole::graph::naive
