#include "sim/validate/kernels.hpp"

#include <algorithm>
#include <vector>

#include "sim/validate/kernel.hpp"

namespace systole::sim {
namespace {

using isa::DType;
using isa::Engine;
using Waits = std::vector<isa::SemaphoreWait>;

constexpr int tile = 128;
constexpr std::int64_t bank_bytes = 2048;

}  // namespace

isa::Program state_space_scan(int channels, const isa::Machine& machine) {
  constexpr int length = 512;
  constexpr int states = 16;
  constexpr std::int64_t row_bytes = length * 4;
  Kernel kernel("state-space scan", machine);
  const auto delta = kernel.matrix("delta", isa::Role::input, DType::f32, channels, length);
  const auto u = kernel.matrix("u", isa::Role::input, DType::f32, channels, length);
  const auto a = kernel.matrix("A", isa::Role::input, DType::f32, channels, states);
  const auto b = kernel.matrix("B", isa::Role::input, DType::f32, states, length);
  const auto c = kernel.matrix("C", isa::Role::input, DType::f32, states, length);
  const auto y = kernel.matrix("y", isa::Role::output, DType::f32, channels, length);
  Counter loaded = kernel.counter();
  Counter ones_ready = kernel.counter();
  Counter broadcast = kernel.counter();
  Counter exponential = kernel.counter();
  Counter vector = kernel.counter();
  Counter stored = kernel.counter();

  // SBUF: B and C rows on partition 0, ones, then two sets of per-tile buffers.
  constexpr std::int64_t b_at = 0;
  constexpr std::int64_t c_at = states * row_bytes;
  constexpr std::int64_t ones_at = 2 * c_at;
  constexpr std::int64_t sets = ones_at + tile * 4;
  constexpr std::int64_t set_bytes = 3 * row_bytes + states * 4;
  constexpr std::int64_t work = sets + 2 * set_bytes;
  kernel.emit(Engine::gpsimd, isa::Memset{in_sbuf(DType::f32, 1, tile, ones_at), 1.0F}, {},
              ones_ready.signal());
  for (const auto& [tensor, at] : {std::pair{b, b_at}, std::pair{c, c_at}}) {
    kernel.load({tensor, states * length, 0, 0, 1, states * length}, at, 0, {}, loaded.signal());
  }
  std::vector<std::int32_t> tile_ends;  // Vector instructions up to the end of each tile
  for (int first = 0; first < channels; first += tile) {
    const auto index = tile_ends.size();
    const std::int64_t set = sets + static_cast<std::int64_t>(index % 2) * set_bytes;
    const std::int64_t delta_at = set;
    const std::int64_t u_at = set + row_bytes;
    const std::int64_t y_at = set + 2 * row_bytes;
    const std::int64_t a_at = set + 3 * row_bytes;
    const Waits free{vector.at(index < 2 ? 0 : tile_ends[index - 2]),
                     stored.at(static_cast<std::int32_t>(index) - 1)};
    kernel.load({delta, length, first, 0, tile, length}, delta_at, 0, free, loaded.signal());
    kernel.load({u, length, first, 0, tile, length}, u_at, 0, {}, loaded.signal());
    kernel.load({a, states, first, 0, tile, states}, a_at, 0, {}, loaded.signal());
    for (int s = 0; s < states; ++s) {
      const std::int64_t step = static_cast<std::int64_t>(index) * states + s;
      const auto behind =
          static_cast<std::int32_t>(5 * (step - 1));  // Vector is done with the step before last
      const std::int64_t half = step % 2 * 4 * row_bytes;
      const isa::Access decay = in_sbuf(DType::f32, tile, length, work + half);
      const isa::Access drive = in_sbuf(DType::f32, tile, length, work + half + row_bytes);
      const isa::Access state = in_sbuf(DType::f32, tile, length, work + half + 2 * row_bytes);
      const isa::Access out = in_sbuf(DType::f32, tile, length, work + half + 3 * row_bytes);
      const isa::Access b_wide = in_psum(tile, length, step % 2 * 2 * bank_bytes);
      const isa::Access c_wide = in_psum(tile, length, (step % 2 * 2 + 1) * bank_bytes);
      const isa::Access sum = in_sbuf(DType::f32, tile, length, y_at);
      const isa::Access deltas = in_sbuf(DType::f32, tile, length, delta_at);
      const isa::Access us = in_sbuf(DType::f32, tile, length, u_at);

      kernel.emit(Engine::tensor, isa::LoadStationary{in_sbuf(DType::f32, 1, tile, ones_at), 0},
                  {ones_ready.now(), loaded.now()});
      kernel.emit(Engine::tensor,
                  isa::Multiply{in_sbuf(DType::f32, 1, length, b_at + s * row_bytes), b_wide, false,
                                false, true},
                  {vector.at(behind)});
      kernel.emit(Engine::tensor,
                  isa::Multiply{in_sbuf(DType::f32, 1, length, c_at + s * row_bytes), c_wide, false,
                                false, true},
                  {}, broadcast.signal());
      isa::Activation exp;
      exp.in = deltas;
      exp.out = decay;
      exp.function = isa::Function::exp;
      exp.scale.per_partition = true;
      exp.scale.access = in_sbuf(DType::f32, tile, 1, a_at + s * 4);
      kernel.emit(Engine::scalar, exp, {loaded.now(), vector.at(behind)}, exponential.signal());

      kernel.emit(Engine::vector, isa::TensorTensor{deltas, us, drive, isa::AluOp::multiply},
                  {loaded.now()}, vector.signal());
      kernel.emit(Engine::vector, isa::TensorTensor{drive, b_wide, drive, isa::AluOp::multiply},
                  {broadcast.now()}, vector.signal());
      kernel.emit(Engine::vector, isa::TensorScan{decay, drive, state}, {exponential.now()},
                  vector.signal());
      kernel.emit(Engine::vector, isa::TensorTensor{state, c_wide, out, isa::AluOp::multiply}, {},
                  vector.signal());
      if (s == 0) {  // the same time as an addition: an accumulator that starts with its first term
        isa::ScalarTensorTensor start;
        start.in = out;
        start.other = out;
        start.out = sum;
        start.op0 = isa::AluOp::bypass;
        start.op1 = isa::AluOp::bypass;
        kernel.emit(Engine::vector, start, {}, vector.signal());
      } else {
        kernel.emit(Engine::vector, isa::TensorTensor{sum, out, sum, isa::AluOp::add}, {},
                    vector.signal());
      }
    }
    tile_ends.push_back(vector.count);
    kernel.store({y, length, first, 0, tile, length}, y_at, 1, {vector.now()}, stored.signal(),
                 Engine::gpsimd);
  }
  return kernel.take();
}

isa::Program optimiser_step(std::int64_t rows, std::int64_t columns, const isa::Machine& machine) {
  Kernel kernel("optimiser step", machine);
  const auto parameter = kernel.matrix("parameter", isa::Role::input, DType::f32, rows, columns);
  const auto gradient = kernel.matrix("gradient", isa::Role::input, DType::f32, rows, columns);
  const auto first = kernel.matrix("first_moment", isa::Role::input, DType::f32, rows, columns);
  const auto second = kernel.matrix("second_moment", isa::Role::input, DType::f32, rows, columns);
  const auto updated = kernel.matrix("updated", isa::Role::output, DType::f32, rows, columns);
  const std::int64_t row_bytes = columns * 4;
  const std::int64_t set_bytes = 8 * row_bytes;
  Counter loaded = kernel.counter();
  Counter squared = kernel.counter();
  Counter rooted = kernel.counter();
  Counter moments = kernel.counter();
  Counter done = kernel.counter();
  Counter stored = kernel.counter();

  std::int32_t index = 0;
  for (std::int64_t row0 = 0; row0 < rows; row0 += tile, ++index) {
    const int count = static_cast<int>(std::min<std::int64_t>(tile, rows - row0));
    const std::int64_t set = index % 2 * set_bytes;
    const auto at = [&](int slot) {
      return in_sbuf(DType::f32, count, columns, set + slot * row_bytes);
    };
    const auto load = [&](isa::TensorId tensor, int slot) {
      kernel.load({tensor, columns, row0, 0, count, columns}, set + slot * row_bytes, 0,
                  {done.at(index - 1), stored.at(index - 1)}, loaded.signal());
    };
    load(gradient, 0);
    load(first, 1);
    load(second, 2);
    load(parameter, 3);
    const auto constant = [](float value) {
      isa::Scalar scalar;
      scalar.value = value;
      return scalar;
    };
    isa::Activation square;
    square.in = at(0);
    square.out = at(4);
    square.function = isa::Function::square;
    kernel.emit(Engine::scalar, square, {loaded.now()}, squared.signal());

    isa::TensorScalar scaled;  // (1 - b) x
    scaled.op0 = isa::AluOp::multiply;
    scaled.s0 = constant(0.1F);
    isa::ScalarTensorTensor moment;  // b m + x
    scaled.in = at(0);
    scaled.out = at(5);
    kernel.emit(Engine::vector, scaled, {loaded.now()});
    moment.in = at(1);
    moment.other = at(5);
    moment.out = at(1);
    moment.scalar = constant(0.9F);
    kernel.emit(Engine::vector, moment, {});
    scaled.in = at(4);
    scaled.out = at(6);
    scaled.s0 = constant(0.001F);
    kernel.emit(Engine::vector, scaled, {squared.now()});
    moment.in = at(2);
    moment.other = at(6);
    moment.out = at(2);
    moment.scalar = constant(0.999F);
    kernel.emit(Engine::vector, moment, {}, moments.signal());

    isa::Activation root;
    root.in = at(2);
    root.out = at(7);
    root.function = isa::Function::sqrt;
    kernel.emit(Engine::scalar, root, {moments.now()}, rooted.signal());
    isa::TensorScalar guard;
    guard.in = at(7);
    guard.out = at(7);
    guard.op0 = isa::AluOp::add;
    guard.s0 = constant(1e-8F);
    kernel.emit(Engine::vector, guard, {rooted.now()});
    kernel.emit(Engine::vector, isa::TensorTensor{at(1), at(7), at(6), isa::AluOp::divide}, {});
    isa::ScalarTensorTensor step;
    step.in = at(6);
    step.other = at(3);
    step.out = at(3);
    step.scalar = constant(-0.001F);
    kernel.emit(Engine::vector, step, {}, done.signal());
    kernel.store({updated, columns, row0, 0, count, columns}, set + 3 * row_bytes, 1, {done.now()},
                 stored.signal(), Engine::gpsimd);
  }
  return kernel.take();
}

isa::Program shallow_product(int batch, std::int64_t m, std::int64_t n,
                             const isa::Machine& machine) {
  constexpr int k = 64;
  constexpr int wide = 512;
  Kernel kernel("shallow product", machine);
  const auto left = kernel.matrix("left", isa::Role::input, DType::f32, batch * k, m);
  const auto right = kernel.matrix("right", isa::Role::input, DType::f32, batch * k, n);
  const auto out = kernel.matrix("out", isa::Role::output, DType::f32, batch * m, n);
  const std::int64_t set_bytes = (m + n) * 4;
  const std::int64_t rows_base = 2 * set_bytes;
  Counter loaded = kernel.counter();
  Counter multiplied = kernel.counter();
  Counter evicted = kernel.counter();
  Counter stored = kernel.counter();
  std::vector<std::int32_t> ends;
  std::int32_t group = 0;
  std::int32_t rows = 0;
  for (int b = 0; b < batch; ++b) {
    const std::int64_t set = b % 2 * set_bytes;
    const isa::SemaphoreWait free =
        multiplied.at(b < 2 ? 0 : ends[static_cast<std::size_t>(b - 2)]);
    kernel.load({left, m, b * k, 0, k, m}, set, 0, {free}, loaded.signal());
    kernel.load({right, n, b * k, 0, k, n}, set + m * 4, 0, {free}, loaded.signal());
    for (std::int64_t m0 = 0; m0 < m; m0 += tile, ++rows) {
      const std::int64_t row_at = rows_base + rows % 3 * n * 4;
      for (std::int64_t n0 = 0; n0 < n; n0 += wide, ++group) {
        const isa::Access bank = in_psum(tile, wide, group % 8 * bank_bytes);
        kernel.emit(Engine::tensor,
                    isa::LoadStationary{in_sbuf(DType::f32, k, tile, set + m0 * 4), 0},
                    {loaded.now()});
        kernel.emit(Engine::tensor,
                    isa::Multiply{in_sbuf(DType::f32, k, wide, set + (m + n0) * 4), bank, false,
                                  false, false},
                    {evicted.at(group - 7)}, multiplied.signal());
        kernel.emit(Engine::vector,
                    isa::Copy{bank, in_sbuf(DType::f32, tile, wide, row_at + n0 * 4)},
                    {multiplied.now(), stored.at(rows - 2)}, evicted.signal());
      }
      kernel.store({out, n, b * m + m0, 0, tile, n}, row_at, 1, {evicted.now()}, stored.signal(),
                   Engine::gpsimd);
    }
    ends.push_back(multiplied.count);
  }
  return kernel.take();
}

}  // namespace systole::sim
