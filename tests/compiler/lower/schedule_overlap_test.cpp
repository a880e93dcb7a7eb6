#include "compiler/lower/schedule_overlap.hpp"

#include <doctest/doctest.h>

#include <set>

#include "isa/base/random.hpp"

namespace systole::lower {
namespace {

isa::Access pattern(std::int32_t offset, std::vector<isa::Dim> dims,
                    isa::DType dtype = isa::DType::f32) {
  isa::Access access;
  access.dtype = dtype;
  access.offset = offset;
  access.rank = static_cast<std::int8_t>(dims.size());
  std::copy(dims.begin(), dims.end(), access.dims.begin());
  return access;
}

std::set<std::int64_t> bytes_of(const isa::Access& access) {
  std::set<std::int64_t> elements{0};
  for (int d = 0; d < access.rank; ++d) {
    std::set<std::int64_t> more;
    const isa::Dim& dim = access.dims[static_cast<std::size_t>(d)];
    for (const std::int64_t element : elements) {
      for (std::int64_t i = 0; i < dim.extent; ++i) {
        more.insert(element + i * dim.stride);
      }
    }
    elements = more;
  }
  std::set<std::int64_t> bytes;
  const int size = isa::size_of(access.dtype);
  for (const std::int64_t element : elements) {
    for (int k = 0; k < size; ++k) {
      bytes.insert(access.offset + element * size + k);
    }
  }
  return bytes;
}

Touch touch(const isa::Access& access) {
  return detail::touch_of(access, true, BufferId(0));
}

}  // namespace

TEST_CASE("column blocks of one matrix do not overlap") {
  const isa::Access left = pattern(0, {{64, 10}, {1, 16}});
  const isa::Access right = pattern(16 * 4, {{64, 10}, {1, 16}});
  const isa::Access middle = pattern(8 * 4, {{64, 10}, {1, 16}});
  CHECK_FALSE(may_overlap(touch(left), touch(right)));
  CHECK(may_overlap(touch(left), touch(middle)));
  CHECK(may_overlap(touch(middle), touch(right)));
}

TEST_CASE("other partitions do not overlap") {
  isa::Access a = pattern(0, {{1, 4}});
  isa::Access b = a;
  a.partitions = 3;
  b.partition = 3;
  CHECK_FALSE(may_overlap(touch(a), touch(b)));
  b.partition = 2;
  CHECK(may_overlap(touch(a), touch(b)));
}

TEST_CASE("the overlap test never misses a common byte, and finds most disjoint pairs") {
  Random random(11);
  int disjoint = 0;
  int found = 0;
  for (int round = 0; round < 20000; ++round) {
    const auto draw = [&random] {
      std::vector<isa::Dim> dims;
      const int rank = static_cast<int>(random.integer(0, 3));
      dims.reserve(static_cast<std::size_t>(rank));
      for (int d = 0; d < rank; ++d) {
        dims.push_back({static_cast<std::int32_t>(random.integer(-12, 12)),
                        static_cast<std::int32_t>(random.integer(1, 4))});
      }
      return pattern(static_cast<std::int32_t>(random.integer(100, 140)), dims,
                     random.integer(0, 1) == 0 ? isa::DType::f32 : isa::DType::bf16);
    };
    const isa::Access a = draw();
    const isa::Access b = draw();
    const std::set<std::int64_t> first = bytes_of(a);
    const std::set<std::int64_t> second = bytes_of(b);
    const bool common = std::any_of(first.begin(), first.end(),
                                    [&](std::int64_t x) { return second.count(x) != 0; });
    if (common) {
      CHECK(may_overlap(touch(a), touch(b)));
    } else {
      ++disjoint;
      found += may_overlap(touch(a), touch(b)) ? 0 : 1;
    }
    const bool full =
        static_cast<std::int64_t>(first.size()) == touch(a).bytes.end - touch(a).bytes.begin;
    if (fills_its_range(touch(a))) {
      CHECK(full);
    }
  }
  CHECK(found * 10 > disjoint * 7);
}

TEST_CASE("the rows of a pattern are its bytes, and few rows far apart are single ranges") {
  const std::vector<Touch> rows = rows_of(touch(pattern(8, {{-1000, 3}, {1, 2}})), 3);
  REQUIRE(rows.size() == 3);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    CHECK(rows[i].bytes.begin == 8 - 8000 + static_cast<std::int64_t>(i) * 4000);
    CHECK(rows[i].bytes.end == rows[i].bytes.begin + 8);
    CHECK(fills_its_range(rows[i]));
  }
  CHECK(rows_of(touch(pattern(8, {{1000, 3}, {1, 2}})), 2).size() == 1);
  Random random(12);
  int cut = 0;
  for (int round = 0; round < 3000; ++round) {
    std::vector<isa::Dim> dims;
    for (int d = static_cast<int>(random.integer(0, 3)); d > 0; --d) {
      dims.push_back({static_cast<std::int32_t>(random.integer(-40, 40)),
                      static_cast<std::int32_t>(random.integer(1, 4))});
    }
    const isa::Access access = pattern(500, dims);
    const std::set<std::int64_t> bytes = bytes_of(access);
    const std::vector<Touch> parts =
        rows_of(touch(access), static_cast<std::size_t>(random.integer(1, 70)));
    cut += parts.size() > 1 ? 1 : 0;
    std::size_t inside = 0;
    for (const Touch& part : parts) {
      const auto count =
          std::distance(bytes.lower_bound(part.bytes.begin), bytes.lower_bound(part.bytes.end));
      inside += static_cast<std::size_t>(count);
      CHECK(count > 0);
      CHECK((!fills_its_range(part) || count == part.bytes.end - part.bytes.begin));
    }
    CHECK(inside == bytes.size());  // every byte in one part, and parts are disjoint
  }
  CHECK(cut > 500);
}

}  // namespace systole::lower
