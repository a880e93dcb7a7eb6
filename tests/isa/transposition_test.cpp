// Which patterns are transpositions, and how many blocks they take.
#include "isa/transposition.hpp"

#include <doctest/doctest.h>

namespace systole::isa {
namespace {

struct Side {
  Space space;
  std::vector<DmaDim> dims;  // outermost first
};

DmaAccess access(const Side& side) {
  DmaAccess out;
  out.space = side.space;
  out.dtype = DType::bf16;
  out.rank = static_cast<std::int8_t>(side.dims.size());
  std::copy(side.dims.begin(), side.dims.end(), out.dims.begin());
  return out;
}

std::optional<Transposition> of(const Side& source, const Side& destination) {
  return transposition_of(access(source), access(destination));
}

DmaDim along(std::int64_t stride, std::int32_t extent) {
  return {stride, extent, false};
}

DmaDim across(std::int64_t stride, std::int32_t extent) {
  return {stride, extent, true};
}

constexpr Space hbm = Space::hbm;
constexpr Space sbuf = Space::sbuf;

}  // namespace

TEST_CASE("a matrix whose rows become columns is a transposition, from HBM and from SBUF") {
  const Side turned{sbuf, {across(1, 96), along(1, 40)}};
  CHECK(of({hbm, {along(1, 96), along(96, 40)}}, turned) == Transposition{96, 40, 1});
  CHECK(of({sbuf, {along(1, 96), across(1, 40)}}, turned) == Transposition{96, 40, 1});
  CHECK(of({sbuf, {along(1, 96), across(3, 40)}}, turned) == Transposition{96, 40, 1});
  // Walked in the source's order.
  CHECK(of({hbm, {along(96, 40), along(1, 96)}}, {sbuf, {along(1, 40), across(1, 96)}}) ==
        Transposition{96, 40, 1});
}

TEST_CASE("axes between the two repeat it, whatever they step through") {
  // [a, m, b] to [b, m, a].
  CHECK(of({sbuf, {along(1, 64), along(64, 5), across(1, 32)}},
           {sbuf, {across(1, 64), along(32, 5), along(1, 32)}}) == Transposition{64, 32, 5});
  // Two heads that lie in a row at both sides are one axis; if the source has a gap they are not.
  CHECK(of({hbm, {along(1, 128), along(128, 10)}},
           {sbuf, {across(64, 2), across(1, 64), along(1, 10)}}) == Transposition{128, 10, 1});
  CHECK(of({hbm, {along(100, 2), along(1, 64), along(200, 10)}},
           {sbuf, {across(64, 2), across(1, 64), along(1, 10)}}) == Transposition{64, 10, 2});
  // One row.
  CHECK(of({sbuf, {along(1, 64)}}, {sbuf, {across(1, 64)}}) == Transposition{64, 1, 1});
}

TEST_CASE("other patterns are none") {
  const Side columns{sbuf, {across(1, 8), along(1, 6)}};
  CHECK_FALSE(of({hbm, {along(6, 8), along(1, 6)}}, columns));   // rows stay rows
  CHECK_FALSE(of({sbuf, {along(1, 8), along(8, 6)}}, columns));  // from one partition
  CHECK_FALSE(of({hbm, {along(2, 8), along(16, 6)}}, columns));  // no neighbours
  CHECK_FALSE(of({hbm, {along(1, 8), along(0, 6)}}, columns));   // one row again and again
  CHECK_FALSE(of({hbm, {along(1, 8), along(8, 6)}}, {sbuf, {across(2, 8), along(1, 6)}}));
  CHECK_FALSE(of({sbuf, {along(1, 8), across(1, 6)}}, {hbm, {along(6, 8), along(1, 6)}}));
  CHECK_FALSE(of({hbm, {along(1, 12), along(12, 4)}},
                 {sbuf, {across(1, 8), along(1, 6)}}));          // dims that do not nest
  CHECK_FALSE(of({hbm, {along(8, 6)}}, {sbuf, {along(1, 6)}}));  // a column alone
}

TEST_CASE("blocks of all partitions by one row per engine, filled or not") {
  Machine machine;
  machine.partitions = 128;
  machine.dma_engines = 16;
  CHECK(blocks_of({128, 128, 1}, machine) == 8);
  CHECK(blocks_of({64, 16, 3}, machine) == 3);
  CHECK(blocks_of({2, 1, 7}, machine) == 7);
  CHECK(blocks_of({128, 17, 2}, machine) == 4);
}

}  // namespace systole::isa
