// What a history hands out, against all pairs of accesses byte by byte.
#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "compiler/lower/schedule_history.hpp"
#include "isa/base/random.hpp"

namespace systole::lower {
namespace {

using Names = std::set<std::uint32_t>;

// Rows of elements of one byte; the rows may be far apart.
isa::DmaAccess random_rows(Random& random, std::int64_t extent) {
  isa::DmaAccess out;
  out.dtype = isa::DType::u8;
  out.rank = 2;
  const auto rows =
      static_cast<std::int32_t>(random.integer(0, 1) == 0 ? 1 : random.integer(2, 40));
  const auto row = static_cast<std::int32_t>(random.integer(1, 24));
  const std::int64_t stride = row + (random.integer(0, 1) == 0 ? 0 : random.integer(0, 90));
  out.dims[0] = {stride, rows, false};
  out.dims[1] = {1, row, false};
  out.offset = random.integer(0, extent - 1 - stride * (rows - 1) - row);
  return out;
}

std::set<std::int64_t> bytes_of(const isa::DmaAccess& access) {
  std::set<std::int64_t> out;
  for (std::int64_t i = 0; i < access.dims[0].extent; ++i) {
    for (std::int64_t k = 0; k < access.dims[1].extent; ++k) {
      out.insert(access.offset + i * access.dims[0].stride + k);
    }
  }
  return out;
}

bool meet(const std::set<std::int64_t>& a, const std::set<std::int64_t>& b) {
  return std::any_of(a.begin(), a.end(), [&b](std::int64_t byte) { return b.contains(byte); });
}

// Names are counts: an access, or a joint of several.
struct Judge final : Joiner {
  std::vector<Names> before{{}};  // by name: all that is done when it is, itself included

  std::uint32_t add(const Names& names) {
    const auto name = static_cast<std::uint32_t>(before.size());
    Names all{name};
    for (const std::uint32_t n : names) {
      all.insert(before[n].begin(), before[n].end());
    }
    before.push_back(all);
    return name;
  }
  std::uint32_t join(const std::vector<std::uint32_t>& counts) override {
    return add({counts.begin(), counts.end()});
  }
};

Names needs_of(const History& history, const Touch& touch) {
  std::vector<std::uint32_t> names;
  history.collect(touch, names);
  return {names.begin(), names.end()};
}

}  // namespace

TEST_CASE("accesses that share a byte are ordered, however coarse the segments are") {
  constexpr std::int64_t extent = 6000;
  for (const std::int64_t tensor_bytes : {1, 1 << 16, 1 << 19, 1 << 22, 1 << 30}) {
    for (std::uint64_t seed = 1; seed <= 12; ++seed) {
      Random random(seed);
      History history(tensor_bytes);
      Judge judge;
      std::vector<isa::DmaAccess> accesses(150);
      std::vector<std::set<std::int64_t>> bytes;
      std::vector<bool> writes;
      std::vector<std::uint32_t> names;
      for (isa::DmaAccess& access : accesses) {
        access = random_rows(random, extent);
        bytes.push_back(bytes_of(access));
        writes.push_back(random.integer(0, 2) == 0);
        const Touch touch = detail::touch_of(access, writes.back(), BufferId());
        const std::uint32_t name = judge.add(needs_of(history, touch));
        std::size_t missing = 0;
        for (std::size_t i = 0; i + 1 < bytes.size(); ++i) {
          if ((writes[i] || writes.back()) && meet(bytes[i], bytes.back()) &&
              !judge.before[name].contains(names[i])) {
            ++missing;
          }
        }
        INFO("bytes ", tensor_bytes, " seed ", seed, " access ", names.size());
        CHECK(missing == 0);
        names.push_back(name);
        history.add(touch, name, judge);
      }
    }
  }
}

TEST_CASE("rows of one access that share a segment are all remembered") {
  constexpr std::int64_t grain = 16;
  constexpr std::int32_t rows = 30;
  constexpr std::int32_t stride = 24;
  constexpr std::int32_t row = 20;
  History history(grain << 14);
  Judge judge;
  const auto access = [](std::int64_t offset, isa::DmaDim outer, std::int32_t bytes) {
    isa::DmaAccess out;
    out.dtype = isa::DType::u8;
    out.rank = 2;
    out.dims[0] = outer;
    out.dims[1] = {1, bytes, false};
    out.offset = offset;
    return out;
  };
  std::vector<isa::DmaAccess> blocks(rows * stride / grain);
  std::uint32_t name = 0;
  for (isa::DmaAccess& block : blocks) {
    block = access(grain * static_cast<std::int64_t>(name), {0, 1, false}, grain);
    ++name;
    history.add(detail::touch_of(block, true, BufferId()), name, judge);
  }
  const isa::DmaAccess comb = access(0, {stride, rows, false}, row);
  ++name;
  history.add(detail::touch_of(comb, true, BufferId()), name, judge);
  for (std::int64_t i = 0; i < rows; ++i) {
    const isa::DmaAccess last_byte = access(i * stride + row - 1, {0, 1, false}, 1);
    INFO("row ", i);
    CHECK(needs_of(history, detail::touch_of(last_byte, false, BufferId())).contains(name));
  }
}

TEST_CASE("blocks of columns written side by side need nothing of each other") {
  constexpr std::int64_t row = 8192;
  History history(row * 4096);
  Judge judge;
  std::vector<isa::DmaAccess> blocks(32);
  std::uint32_t name = 0;
  for (isa::DmaAccess& block : blocks) {
    block.dtype = isa::DType::u8;
    block.rank = 2;
    block.offset = 256 * static_cast<std::int64_t>(name);
    block.dims[0] = {row, 128, false};
    block.dims[1] = {1, 256, false};
    const Touch touch = detail::touch_of(block, true, BufferId());
    CHECK(needs_of(history, touch).empty());
    ++name;
    history.add(touch, name, judge);
  }
}

}  // namespace systole::lower
