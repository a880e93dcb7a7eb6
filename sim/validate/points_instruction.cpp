// Tier 1: single instructions, chains and streams.
#include <fmt/format.h>

#include "sim/validate/kernel.hpp"
#include "sim/validate/points.hpp"

namespace systole::sim {
namespace {

using isa::DType;
using isa::Engine;

double ns(const Timing& timing, Ticks ticks) {
  return microseconds(timing, ticks) * 1000;
}

// Start of the last instruction of the program to its completion.
Measured duration_of_last(Kernel kernel, const isa::Machine& machine, const Timing& timing) {
  const Run run = run_for_time(kernel.take(), machine, timing, true);
  return {ns(timing, run.report.total - run.trace.slices.back().begin), run.report};
}

Measured two_tiles(const isa::Machine& machine, const Timing& timing, int partitions,
                   isa::AluOp op) {
  constexpr std::int64_t n = 8192;
  Kernel kernel("tensor_tensor", machine);
  kernel.emit(Engine::vector, isa::TensorTensor{in_sbuf(DType::f32, partitions, n, 0),
                                                in_sbuf(DType::f32, partitions, n, 4 * n),
                                                in_sbuf(DType::f32, partitions, n, 8 * n), op});
  return duration_of_last(std::move(kernel), machine, timing);
}

isa::Activation activation(isa::Function function, std::int64_t n, std::int64_t from,
                           std::int64_t to) {
  isa::Activation op;
  op.in = in_sbuf(DType::f32, 128, n, from);
  op.out = in_sbuf(DType::f32, 128, n, to);
  op.function = function;
  return op;
}

Measured one_activation(const isa::Machine& machine, const Timing& timing, isa::Function function,
                        std::int64_t n) {
  Kernel kernel("activation", machine);
  kernel.emit(Engine::scalar, activation(function, n, 0, 4 * n));
  return duration_of_last(std::move(kernel), machine, timing);
}

Measured dependent_chain(const isa::Machine& machine, const Timing& timing) {
  const auto time = [&](int length) {
    Kernel kernel("chain", machine);
    for (int i = 0; i < length; ++i) {
      kernel.emit(Engine::scalar, activation(isa::Function::square, 1, 0, 0));
    }
    return run_for_time(kernel.take(), machine, timing).report;
  };
  const Report longer = time(200);
  return {(ns(timing, longer.total) - ns(timing, time(100).total)) / 100, longer};
}

void multiply(Kernel& kernel, std::int64_t n, std::int64_t bank) {
  kernel.emit(Engine::tensor, isa::LoadStationary{in_sbuf(DType::bf16, 128, 128, 0), 0});
  isa::Multiply op;
  op.moving = in_sbuf(DType::bf16, 128, n, 256);
  op.out = in_psum(128, n, bank * 2048);
  kernel.emit(Engine::tensor, op);
}

Measured multiply_latency(const isa::Machine& machine, const Timing& timing) {
  Kernel kernel("multiply", machine);
  multiply(kernel, 128, 0);
  return duration_of_last(std::move(kernel), machine, timing);
}

Measured multiply_stream(const isa::Machine& machine, const Timing& timing) {
  Kernel kernel("multiply stream", machine);
  for (int i = 0; i < 2048; ++i) {
    multiply(kernel, 512, i % 8);
  }
  const Run run = run_for_time(kernel.take(), machine, timing);
  return {run.report.microseconds, run.report};
}

}  // namespace

std::vector<Point> instruction_points() {
  using M = const isa::Machine&;
  using T = const Timing&;
  return {
      {"I1", "trn1", "tensor_tensor add fp32, 64 partitions x 8192", "ns", 1, 14968, 0.05, 0,
       [](M m, T t) { return two_tiles(m, t, 64, isa::AluOp::add); }},
      {"I2", "trn1", "tensor_tensor multiply fp32, 128 x 8192", "ns", 1, 14987, 0.05, 0,
       [](M m, T t) { return two_tiles(m, t, 128, isa::AluOp::multiply); }},
      {"I4", "trn1", "activation of one element, dependent chain, interval", "ns", 1, 189, 0.05, 0,
       dependent_chain},
      {"I6", "trn1", "multiply bf16, 128 columns, latency", "ns", 1, 188, 0.05, 0,
       multiply_latency},
      {"T1", "trn2", "2048 multiplies 128 x 128 x 512 bf16, back to back", "us", 1, 445, 0.05, 0,
       multiply_stream},
      {"T16", "trn2", "activation exp, 4096 elements", "ns", 1, 3708, 0.05, 0,
       [](M m, T t) { return one_activation(m, t, isa::Function::exp, 4096); }},
      {"T17", "trn2", "activation, 128 elements", "ns", 1, 398, 0.05, 0,
       [](M m, T t) { return one_activation(m, t, isa::Function::copy, 128); }},
  };
}

}  // namespace systole::sim
