#include "compiler/lower/pieces.hpp"

#include <doctest/doctest.h>

#include <numeric>

#include "compiler/lower/kernels/chunks.hpp"
#include "isa/base/random.hpp"

namespace systole::lower {
namespace {

// Byte offsets that a tile enumerates, in order.
std::vector<std::int64_t> enumerated(const Tile& tile) {
  std::vector<std::int64_t> out{tile.offset};
  for (const isa::Dim& dim : tile.dims) {
    std::vector<std::int64_t> next;
    for (const std::int64_t offset : out) {
      for (std::int32_t i = 0; i < dim.extent; ++i) {
        next.push_back(offset + std::int64_t{dim.stride} * i * isa::size_of(tile.dtype));
      }
    }
    out = std::move(next);
  }
  return out;
}

std::vector<std::int64_t> enumerated(const isa::Access& access) {
  Tile tile;
  tile.dtype = access.dtype;
  tile.offset = access.offset;
  tile.dims.assign(access.dims.begin(), access.dims.begin() + access.rank);
  return enumerated(tile);
}

isa::Machine tight_machine() {
  isa::Machine machine;
  machine.access_extent_max = 12;
  machine.access_stride_max = 50;
  return machine;
}

}  // namespace

TEST_CASE("pieces of two tiles enumerate the same pairs as the tiles, within the limits") {
  const isa::Machine machine = tight_machine();
  Random random(3);
  for (int round = 0; round < 500; ++round) {
    Tile a;
    Tile b;
    a.partitions = b.partitions = 4;
    b.dtype = isa::DType::bf16;
    const int rank = static_cast<int>(random.integer(0, 6));
    for (int d = 0; d < rank; ++d) {
      const auto extent = static_cast<std::int32_t>(random.integer(1, 5));
      a.dims.push_back({static_cast<std::int32_t>(random.integer(-70, 70)), extent});
      b.dims.push_back({static_cast<std::int32_t>(random.integer(0, 3)), extent});
    }
    std::vector<std::pair<std::int64_t, std::int64_t>> want;
    const auto wa = enumerated(a);
    const auto wb = enumerated(b);
    for (std::size_t i = 0; i < wa.size(); ++i) {
      want.emplace_back(wa[i], wb[i]);
    }
    std::vector<std::pair<std::int64_t, std::int64_t>> got;
    for_each_piece(machine, {a, b}, [&](const std::vector<Tile>& pieces) {
      const isa::Access x = access(pieces[0]);
      const isa::Access y = access(pieces[1]);
      for (const isa::Access& one : {x, y}) {
        CHECK(isa::free_elements(one) <= machine.access_extent_max);
        for (int d = 0; d < one.rank; ++d) {
          CHECK(std::abs(one.dims[static_cast<std::size_t>(d)].stride) <= machine.access_stride_max);
        }
      }
      const auto ga = enumerated(x);
      const auto gb = enumerated(y);
      for (std::size_t i = 0; i < ga.size(); ++i) {
        got.emplace_back(ga[i], gb[i]);
      }
    });
    std::sort(want.begin(), want.end());
    std::sort(got.begin(), got.end());
    CHECK(got == want);
  }
}

TEST_CASE("slices, permutations and splits name the same elements") {
  Tile tile;
  tile.dims = {{20, 3}, {5, 4}, {1, 5}};
  CHECK(enumerated(slice(tile, 1, 3, 2, -2)) == enumerated(Tile{{}, {}, {}, 0, 0, 60, {{20, 3}, {-10, 2}, {1, 5}}}));
  CHECK(enumerated(permute(permute(tile, {2, 0, 1}), {1, 2, 0})) == enumerated(tile));
  CHECK(enumerated(split_dim(tile, 1, 2)) == enumerated(tile));
  CHECK(merged_rank(tile) == 1);
  CHECK(merged_rank(permute(tile, {1, 0, 2})) == 3);
  CHECK(enumerated(drop_dim(tile, 0, 2))[0] == 160);
}

TEST_CASE("chunks cover a box once, in order, within the limit") {
  for (const bool even : {true, false}) {
    for (const std::int64_t limit : {1, 2, 5, 7, 12, 100}) {
      const std::vector<std::int64_t> extents{3, 4, 5};
      std::int64_t next = 0;
      for_each_chunk(
          extents, limit,
          [&](const std::vector<Span>& spans) {
            CHECK(elements_of(spans) <= std::max<std::int64_t>(limit, 1));
            CHECK((spans[0].begin * 4 + spans[1].begin) * 5 + spans[2].begin == next);
            next += elements_of(spans);
          },
          even);
      CHECK(next == 60);
    }
  }
  for_each_chunk({3, 0, 2}, 4, [](const std::vector<Span>&) { FAIL("an empty box has no chunk"); });
  int scalars = 0;
  for_each_chunk({}, 4, [&](const std::vector<Span>&) { ++scalars; });
  CHECK(scalars == 1);
}

TEST_CASE("a range of the row-major order is a few boxes") {
  const std::vector<std::int64_t> extents{3, 4, 5};
  for (std::int64_t begin = 0; begin <= 60; ++begin) {
    for (std::int64_t count = 0; begin + count <= 60; ++count) {
      std::int64_t next = begin;
      for (const Box& box : boxes_of(extents, begin, count)) {
        CHECK(box.offset == next - begin);
        CHECK((box.spans[0].begin * 4 + box.spans[1].begin) * 5 + box.spans[2].begin == next);
        // A box of several rows has whole ones.
        CHECK((box.spans[0].extent == 1 || (box.spans[1].extent == 4 && box.spans[2].extent == 5)));
        CHECK((box.spans[1].extent == 1 || box.spans[2].extent == 5));
        next += elements_of(box.spans);
      }
      CHECK(next == begin + count);
    }
  }
}

}  // namespace systole::lower
