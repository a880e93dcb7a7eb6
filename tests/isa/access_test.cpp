// Access patterns against enumeration of every element.
#include "isa/access.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "isa/base/random.hpp"
#include "isa/jumps.hpp"

namespace systole::isa {
namespace {

using Point = std::pair<std::int64_t, std::int64_t>;  // partition, element

// The enumeration as the header defines it: last dim fastest.
std::vector<Point> enumerate(const DmaAccess& access) {
  std::vector<Point> points = {{access.partition, 0}};
  for (int d = 0; d < access.rank; ++d) {
    const DmaDim& dim = access.dims[static_cast<std::size_t>(d)];
    std::vector<Point> next;
    for (const auto& [partition, element] : points) {
      for (std::int32_t i = 0; i < dim.extent; ++i) {
        next.emplace_back(partition + (dim.across ? i * dim.stride : 0),
                          element + (dim.across ? 0 : i * dim.stride));
      }
    }
    points = std::move(next);
  }
  return points;
}

bool follows(const Point& a, const Point& b) {
  return a.first == b.first && b.second == a.second + 1;
}

std::int64_t brute_rows(const DmaAccess& source, const DmaAccess& destination) {
  const std::vector<Point> a = enumerate(source);
  const std::vector<Point> b = enumerate(destination);
  std::int64_t count = 1;
  for (std::size_t i = 1; i < a.size(); ++i) {
    if (!follows(a[i - 1], a[i]) || !follows(b[i - 1], b[i])) {
      ++count;
    }
  }
  return count;
}

bool jumps(const Point& a, const Point& b) {
  return !follows(a, b) && b.first != a.first + 1;
}

std::int64_t brute_double_jumps(const DmaAccess& source, const DmaAccess& destination) {
  const std::vector<Point> a = enumerate(source);
  const std::vector<Point> b = enumerate(destination);
  std::int64_t count = 0;
  for (std::size_t i = 1; i < a.size(); ++i) {
    count += jumps(a[i - 1], a[i]) && jumps(b[i - 1], b[i]) ? 1 : 0;
  }
  return count;
}

DmaAccess side(std::vector<DmaDim> dims, Space space = Space::sbuf) {
  DmaAccess access;
  access.space = space;
  access.rank = static_cast<std::int8_t>(dims.size());
  std::copy(dims.begin(), dims.end(), access.dims.begin());
  return access;
}

// Splits a number of elements into random factors with random, often merging strides.
DmaAccess random_side(Random& random, std::int64_t count) {
  std::vector<DmaDim> dims;
  std::int64_t stride = random.integer(0, 3) == 0 ? random.integer(-2, 3) : 1;
  while (count > 1 && dims.size() + 1 < DmaAccess::max_rank) {
    std::vector<std::int64_t> divisors;
    for (std::int64_t d = 1; d <= count; ++d) {
      if (count % d == 0) {
        divisors.push_back(d);
      }
    }
    const std::int64_t extent = divisors[static_cast<std::size_t>(
        random.integer(0, static_cast<std::int64_t>(divisors.size()) - 1))];
    const bool across = random.integer(0, 4) == 0;
    dims.push_back(
        {across ? random.integer(0, 2) : stride, static_cast<std::int32_t>(extent), across});
    if (!across) {
      stride =
          random.integer(0, 2) == 0 ? stride * extent + random.integer(-1, 2) : stride * extent;
    }
    count /= extent;
  }
  if (count > 1 || dims.empty()) {
    dims.push_back({stride, static_cast<std::int32_t>(count), false});
  }
  std::reverse(dims.begin(), dims.end());
  return side(dims);
}

TEST_CASE("elements are partitions times extents") {
  Access access;
  access.partitions = 7;
  CHECK(free_elements(access) == 1);
  CHECK(elements(access) == 7);
  access.rank = 2;
  access.dims = {Dim{9, 3}, Dim{0, 5}, Dim{1, 100}};
  CHECK(free_elements(access) == 15);
  CHECK(elements(access) == 105);
  CHECK(elements(side({{4, 3}, {1, 2, true}})) == 6);
  CHECK(elements(side({})) == 1);
}

TEST_CASE("adjacent dims merge into one run") {
  CHECK(contiguous_run(side({{1, 8}})) == 8);
  CHECK(contiguous_run(side({{4, 3}, {1, 4}})) == 12);
  CHECK(contiguous_run(side({{5, 3}, {1, 4}})) == 4);
  CHECK(contiguous_run(side({{1, 3, true}, {1, 4}})) == 4);
  CHECK(contiguous_run(side({{1, 3, true}})) == 1);
  CHECK(contiguous_run(side({{2, 8}})) == 1);
  CHECK(contiguous_run(side({{0, 8}})) == 1);
  CHECK(contiguous_run(side({{-1, 8}})) == 1);
  CHECK(contiguous_run(side({{4, 3}, {77, 1}, {1, 4}})) == 12);  // extent 1 separates nothing
  CHECK(contiguous_run(side({{1, 1, true}, {4, 3}, {1, 4}, {9, 1}})) == 12);
  CHECK(contiguous_run(side({})) == 1);
}

TEST_CASE("rows of a transfer are what both sides have in common") {
  // A tile of 64 rows of 128 elements of a matrix with 512 columns, to 64 partitions.
  CHECK(rows(side({{512, 64}, {1, 128}}, Space::hbm), side({{1, 64, true}, {1, 128}})) == 64);
  // The same, stored contiguously: one row per partition stays.
  CHECK(rows(side({{1, 8192}}, Space::hbm), side({{1, 64, true}, {1, 128}})) == 64);
  CHECK(rows(side({{1, 8192}}, Space::hbm), side({{1, 8192}}, Space::hbm)) == 1);
  // Element by element: a transpose through strides.
  CHECK(rows(side({{1, 64}, {64, 128}}, Space::hbm), side({{1, 64, true}, {1, 128}})) == 8192);
  // Runs of 4 against runs of 6 in 12 elements: breaks at 4, 6, 8.
  CHECK(rows(side({{5, 3}, {1, 4}}), side({{7, 2}, {1, 6}})) == 4);
  CHECK(rows(side({}), side({})) == 1);
}

TEST_CASE("a tile of a matrix jumps on one side, cut rows into cut rows on both") {
  const DmaAccess matrix = side({{512, 64}, {1, 128}}, Space::hbm);
  CHECK(double_jumps(matrix, side({{1, 64, true}, {1, 128}})) == 0);
  CHECK(double_jumps(matrix, side({{1, 32, true}, {256, 2}, {1, 128}})) == 32);
  CHECK(double_jumps(matrix, matrix) == 63);
  CHECK(double_jumps(side({{1, 64}}), side({{1, 64}})) == 0);
}

TEST_CASE("rows and runs agree with enumeration for random patterns") {
  Random random(3);
  std::int64_t merged = 0;
  for (int i = 0; i < 20000; ++i) {
    const std::int64_t count = random.integer(1, 96);
    const DmaAccess a = random_side(random, count);
    const DmaAccess b = random_side(random, count);
    REQUIRE(elements(a) == count);
    REQUIRE(elements(b) == count);
    REQUIRE(rows(a, b) == brute_rows(a, b));
    REQUIRE(rows(a, b) == rows(b, a));
    REQUIRE(double_jumps(a, b) == brute_double_jumps(a, b));
    const std::vector<Point> points = enumerate(a);
    std::int64_t run = 1;
    while (run < count && follows(points[static_cast<std::size_t>(run - 1)],
                                  points[static_cast<std::size_t>(run)])) {
      ++run;
    }
    REQUIRE(contiguous_run(a) == run);
    merged += rows(a, b) < count && rows(a, b) > 1 ? 1 : 0;
  }
  CHECK(merged > 1000);  // the cases that say something
}

TEST_CASE("byte and partition ranges enclose exactly what is touched") {
  Random random(4);
  for (int i = 0; i < 5000; ++i) {
    DmaAccess access = random_side(random, random.integer(1, 64));
    access.dtype = static_cast<DType>(random.integer(0, dtype_count - 1));
    access.partition = static_cast<std::int16_t>(random.integer(0, 100));
    access.offset = random.integer(0, 1000);
    const std::vector<Point> points = enumerate(access);
    const auto [low, high] = std::minmax_element(points.begin(), points.end());
    CHECK(partition_range(access) == PartitionRange{low->first, high->first + 1});
    std::int64_t first = points[0].second;
    std::int64_t last = points[0].second;
    for (const Point& point : points) {
      first = std::min(first, point.second);
      last = std::max(last, point.second);
    }
    const std::int64_t size = size_of(access.dtype);
    REQUIRE(byte_range(access) ==
            ByteRange{access.offset + first * size, access.offset + (last + 1) * size});
    access.space = Space::hbm;
    REQUIRE(byte_range(access) ==
            ByteRange{(access.offset + first) * size, (access.offset + last + 1) * size});
  }
  Access access{Space::sbuf, DType::bf16, 0, 1, 2, 100, {Dim{-10, 3}, Dim{1, 4}}};
  CHECK(byte_range(access) == ByteRange{60, 108});
}

TEST_CASE("sizes beyond 64 bits saturate") {
  const std::int64_t huge = std::int64_t{1} << 62;
  DmaAccess access = side({{huge, 2000000000}, {-huge, 2000000000}, {1, 2000000000}});
  CHECK(elements(access) == std::numeric_limits<std::int64_t>::max());
  CHECK(byte_range(access).end == std::numeric_limits<std::int64_t>::max());
  CHECK(byte_range(access).begin < 0);
}

}  // namespace
}  // namespace systole::isa
