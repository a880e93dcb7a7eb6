#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "tests/sim/bench.hpp"

namespace systole::sim {
namespace {

using namespace testing;
using isa::DType;
using isa::Space;

TEST_CASE("copy converts and moves whole quadrants") {
  Bench bench;
  const isa::Access in = sbuf(DType::f32, 20, 6, 0, 32);
  const isa::Access out = strided(Space::sbuf, DType::bf16, 20, 3, 8, 2, 3, 128, 96);
  const Rows x = bench.fill(in, -9, 9);
  bench.run(isa::Copy{in, out});
  const Rows y = bench.get(out);
  for (std::size_t p = 0; p < 20; ++p) {
    for (std::size_t i = 0; i < 6; ++i) {
      CHECK(y[p][i] == isa::rounded(DType::bf16, static_cast<float>(x[p][i])));
    }
  }
}

TEST_CASE("copy passes the bits of equal types, NaN payloads included") {
  Bench bench;
  const isa::Access in = sbuf(DType::u16, 1, 1, 0);
  bench.put(in, {{0x7f81}});  // a signalling NaN of bf16
  bench.run(isa::Copy{sbuf(DType::bf16, 1, 1, 0), sbuf(DType::bf16, 1, 1, 2)});
  CHECK(bench.get(sbuf(DType::u16, 1, 1, 2))[0][0] == 0x7f81);
}

TEST_CASE("copy_predicated leaves what the predicate does not choose") {
  Bench bench;
  const isa::Access predicate = sbuf(DType::u8, 3, 8, 0);
  const isa::Access in = sbuf(DType::f32, 3, 8, 64);
  const isa::Access out = strided(Space::sbuf, DType::bf16, 3, 2, 9, 4, 2, 256);
  const Rows chosen = bench.fill(predicate, 0, 2);
  const Rows x = bench.fill(in, -4, 4);
  const Rows before = bench.fill(out, -4, 4);
  bench.run(isa::CopyPredicated{predicate, in, out});
  const Rows after = bench.get(out);
  for (std::size_t p = 0; p < 3; ++p) {
    for (std::size_t i = 0; i < 8; ++i) {
      const double expected =
          chosen[p][i] != 0 ? isa::rounded(DType::bf16, static_cast<float>(x[p][i])) : before[p][i];
      CHECK(after[p][i] == expected);
    }
  }
}

TEST_CASE("memset fills the pattern only") {
  Bench bench;
  const isa::Access all = sbuf(DType::i16, 2, 16, 0);
  bench.fill(all, 5, 6);
  bench.run(isa::Memset{strided(Space::sbuf, DType::i16, 2, 2, 8, 2, 2, 2), -3.0F});
  const Rows rows = bench.get(all);
  for (std::size_t i = 0; i < 16; ++i) {
    CHECK(rows[1][i] == (i == 1 || i == 3 || i == 9 || i == 11 ? -3 : 5));
  }
}

TEST_CASE("transpose32 turns a block, in place too") {
  for (const auto& [p, f] : {std::pair{32, 32}, std::pair{5, 17}, std::pair{1, 32}}) {
    Bench bench;
    const isa::Access in = sbuf(DType::bf16, p, f, 0, 32);
    const isa::Access out = sbuf(DType::bf16, f, p, 0, 32);  // overlapping the input
    const Rows x = bench.fill(in, -4, 4);
    bench.run(isa::Transpose32{in, out});
    const Rows y = bench.get(out);
    bool equal = true;
    for (std::size_t i = 0; i < static_cast<std::size_t>(p); ++i) {
      for (std::size_t j = 0; j < static_cast<std::size_t>(f); ++j) {
        equal = equal && y[j][i] == x[i][j];
      }
    }
    CHECK(equal);
  }
}

TEST_CASE("shuffle32 permutes the lanes of every quadrant and leaves lanes of 255") {
  Bench bench;
  const isa::Access data = sbuf(DType::i32, 128, 3, 0);
  const Rows x = bench.fill(data, 0, 1000);
  isa::Shuffle32 op{data, data, {}};
  for (std::size_t i = 0; i < 32; ++i) {
    op.mask[i] = static_cast<std::uint8_t>(i == 4 ? 255 : (i * 7 + 3) % 32);
  }
  bench.run(op);
  const Rows y = bench.get(data);
  bool equal = true;
  for (std::size_t q = 0; q < 128; q += 32) {
    for (std::size_t i = 0; i < 32; ++i) {
      equal = equal && y[q + i] == (i == 4 ? x[q + 4] : x[q + (i * 7 + 3) % 32]);
    }
  }
  CHECK(equal);
}

TEST_CASE("max8, find_index8 and match_replace8 agree with sorting") {
  Bench bench;
  const isa::Access in = sbuf(DType::f32, 4, 50, 0);
  const isa::Access best = sbuf(DType::f32, 4, 8, 1024);
  const isa::Access index = sbuf(DType::u32, 4, 8, 2048);
  const isa::Access out = sbuf(DType::f32, 4, 50, 4096);
  Rows x = bench.fill(in, -1, 1);
  x[2][10] = x[2][20] = 5;  // a value twice
  bench.put(in, x);
  bench.run(isa::Max8{in, best});
  bench.run(isa::FindIndex8{best, in, index});
  bench.run(isa::MatchReplace8{best, in, out, -7.0F});
  for (std::size_t p = 0; p < 4; ++p) {
    std::vector<double> sorted = x[p];
    std::sort(sorted.rbegin(), sorted.rend());
    sorted.resize(8);
    CHECK(bench.get(best)[p] == sorted);
    std::vector<double> replaced = x[p];
    for (std::size_t i = 0; i < 8; ++i) {
      const auto at = static_cast<std::size_t>(bench.get(index)[p][i]);
      CHECK(x[p][at] == sorted[i]);
      replaced[at] = -7;
    }
    CHECK(bench.get(out)[p] == replaced);
  }
  CHECK(bench.get(index)[2][0] == 10);
  CHECK(bench.get(index)[2][1] == 20);
}

TEST_CASE("a value that is absent is found at N") {
  Bench bench;
  const isa::Access in = sbuf(DType::f32, 1, 9, 0);
  const isa::Access values = sbuf(DType::f32, 1, 8, 64);
  const isa::Access index = sbuf(DType::u32, 1, 8, 128);
  bench.fill(in, 0, 1);
  bench.fill(values, 5, 6);
  bench.run(isa::FindIndex8{values, in, index});
  CHECK(bench.get(index)[0] == std::vector<double>(8, 9.0));
}

TEST_CASE("iota and affine_select follow their affine expressions") {
  Bench bench;
  isa::Iota iota;
  iota.out = strided(Space::sbuf, DType::i32, 3, 2, 8, 4, 1, 0);
  iota.base = 100;
  iota.partition_step = -10;
  iota.steps = {5, 2, 0, 0};
  bench.run(iota);
  isa::AffineSelect select;
  select.in = iota.out;
  select.out = sbuf(DType::f32, 3, 8, 256);
  select.comparison = isa::Comparison::less;
  select.base = -3;
  select.partition_step = 1;
  select.steps = {2, 1, 0, 0};
  select.fill = 0.5F;
  bench.run(select);
  for (int p = 0; p < 3; ++p) {
    for (int i = 0; i < 2; ++i) {
      for (int j = 0; j < 4; ++j) {
        const double value = 100 - 10 * p + 5 * i + 2 * j;
        const auto at = static_cast<std::size_t>(i * 4 + j);
        CHECK(bench.get(iota.out)[static_cast<std::size_t>(p)][at] == value);
        CHECK(bench.get(select.out)[static_cast<std::size_t>(p)][at] ==
              (-3 + p + 2 * i + j < 0 ? value : 0.5));
      }
    }
  }
}

TEST_CASE("partition_reduce folds down the partitions") {
  Bench bench;
  const isa::Access in = sbuf(DType::f32, 100, 7, 0);
  const isa::Access out = sbuf(DType::f32, 1, 7, 512, 64);
  const Rows x = bench.fill(in, -1, 1);
  bench.run(isa::PartitionReduce{in, out, isa::AluOp::max});
  for (std::size_t i = 0; i < 7; ++i) {
    double best = x[0][i];
    for (const auto& row : x) {
      best = std::max(best, row[i]);
    }
    CHECK(bench.get(out)[0][i] == best);
  }
}

TEST_CASE("local_gather picks along the row and refuses an index out of range") {
  Bench bench;
  const isa::Access in = sbuf(DType::bf16, 2, 10, 0);
  const isa::Access index = sbuf(DType::u16, 2, 4, 64);
  const isa::Access out = sbuf(DType::f32, 2, 4, 128);
  const Rows x = bench.fill(in, -1, 1);
  bench.put(index, {{9, 0, 3, 3}, {1, 2, 3, 4}});
  bench.run(isa::LocalGather{in, index, out});
  CHECK(bench.get(out)[0] == std::vector<double>{x[0][9], x[0][0], x[0][3], x[0][3]});
  CHECK(bench.get(out)[1] == std::vector<double>{x[1][1], x[1][2], x[1][3], x[1][4]});
  CHECK(bench.context.fault.empty());
  bench.put(index, {{0, 0, 0, 0}, {0, 10, 0, 0}});
  bench.run(isa::LocalGather{in, index, out});
  CHECK(bench.context.fault.find("index 10") != std::string::npos);
}

}  // namespace
}  // namespace systole::sim
