// Tiers 3 to 7: whole kernels.
#include "sim/validate/kernels.hpp"
#include "sim/validate/matmul.hpp"
#include "sim/validate/points.hpp"

namespace systole::sim {
namespace {

using isa::DType;
using M = const isa::Machine&;
using T = const Timing&;

constexpr Product large{4096, 8192, 8192, DType::bf16};
constexpr Product large_fp32{4096, 8192, 8192, DType::f32};
constexpr Product cube{2048, 2048, 2048, DType::bf16};

template <class F>
std::function<Measured(M, T)> time_of(F make) {
  return [make](M machine, T timing) {
    const Report report = run_for_time(make(machine), machine, timing).report;
    return Measured{report.microseconds, report};
  };
}

Measured short_rows(M machine, T timing) {
  Timing capped = timing;
  capped.short_row_bytes_per_ns = 104;
  const Report report =
      run_for_time(streamed_product(large, {1, 1, 4, 8, 1}, machine), machine, capped).report;
  return {report.microseconds, report};
}

Measured transpose_ratio(M machine, T timing) {
  const Report inside =
      run_for_time(transposing_product(cube, {true, 4, 16}, machine), machine, timing).report;
  const Report before =
      run_for_time(transposing_product(cube, {false, 4, 16}, machine), machine, timing).report;
  return {inside.microseconds / before.microseconds, inside};
}

}  // namespace

std::vector<Point> kernel_points() {
  return {
      {"M4", "trn1", "product bf16 [4096,8192] x [8192,8192], all three extents blocked", "us", 3,
       6970, 0.10, 0, time_of([](M m) {
         return blocked_product(large, {2048, 1024, 1024, 4}, m);
       })},
      {"T6", "trn2", "product fp32 [4096,8192] x [8192,8192], all three extents blocked", "us", 3,
       28300, 0.10, 0, time_of([](M m) {
         return blocked_product(large_fp32, {1024, 512, 1024, 4}, m);
       })},
      {"N2", "trn2", "product bf16 2048^3, operands loaded once, one accumulator", "us", 3, 366,
       0.10, 0, time_of([](M m) {
         return resident_product(cube, {1, 4}, m);
       })},
      {"N3", "trn2", "the same, two accumulators", "us", 3, 262, 0.10, 0, time_of([](M m) {
         return resident_product(cube, {2, 4}, m);
       })},
      {"N5", "trn2", "the same, eight accumulators", "us", 3, 240, 0.10, 0, time_of([](M m) {
         return resident_product(cube, {8, 4}, m);
       })},
      {"M1", "trn1", "product bf16 [4096,8192] x [8192,8192], nothing reused, capped short rows",
       "us", 4, 51800, 0.20, 0, short_rows},
      {"T3", "trn2", "product fp32 [4096,8192] x [8192,8192], nothing reused", "us", 4, 39890, 0.20,
       0, time_of([](M m) {
         return streamed_product(large_fp32, {1, 1, 4, 8, 1}, m);
       })},
      {"T7", "trn2", "product bf16 4096^3, right operand not reused, 1 KiB rows, one ring", "us", 4,
       8602, 0.20, 0, time_of([](M m) {
         return streamed_product({4096, 4096, 4096, DType::bf16}, {4, 2, 1, 8, 1}, m);
       })},
      {"K4", "trn1", "product fp32 M 4096, N 12288, K 5120", "us", 4, 35200, 0.20, 0,
       time_of([](M m) {
         return streamed_product({4096, 12288, 5120, DType::f32}, {1, 2, 4, 8, 1}, m);
       })},
      {"K8", "trn1", "batched product fp32, 16 x [4096,64] x [64,4096]", "us", 4, 4333, 0.20, 0,
       time_of([](M m) { return shallow_product(16, 4096, 4096, m); })},
      {"F1", "trn1", "state-space scan, 256 channels", "us", 5, 172.9, 0.15, 0,
       time_of([](M m) { return state_space_scan(256, m); })},
      {"F2", "trn1", "state-space scan, 4096 channels", "us", 5, 2340, 0.20, 0,
       time_of([](M m) { return state_space_scan(4096, m); })},
      {"K12", "trn1", "AdamW step, 10944 x 2048 fp32", "us", 5, 1888, 0.20, 0,
       time_of([](M m) { return optimiser_step(10944, 2048, m); })},
      {"T10/T11", "trn2", "product bf16 2048^3 with transposes inside, over the one without",
       "ratio", 7, 802.0 / 608.0, 0.20, 0, transpose_ratio},
  };
}

}  // namespace systole::sim
