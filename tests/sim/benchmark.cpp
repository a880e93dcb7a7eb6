// Speed of the simulator, in seconds of processor time of one thread. Not a test: prints a table.
//
// Without arguments: hand-written programs. With a program's container and its machine: that program.
#include <sys/resource.h>

#include <Eigen/Core>
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <string>
#include <vector>

#include "isa/base/heap.hpp"
#include "isa/base/random.hpp"
#include "isa/binary.hpp"
#include "isa/convert.hpp"
#include "sim/simulate.hpp"
#include "sim/validate/kernel.hpp"
#include "sim/validate/matmul.hpp"

namespace {

using namespace systole;
using namespace systole::sim;

double seconds() {
  return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

std::size_t instructions(const isa::Program& program) {
  std::size_t count = 0;
  for (const auto& stream : program.streams) {
    count += stream.size();
  }
  return count;
}

// The best of some repeats.
struct Sample {
  double time = 0;
  std::size_t instructions = 0;
  double tensor_cycles = 0;
};

Sample run(const std::vector<isa::Program>& programs, const isa::Machine& machine,
           const Timing& timing, const Options& options, const Inputs& inputs = {},
           int repeats = 1) {
  Sample sample;
  double best = 1e9;
  for (int repeat = 0; repeat < repeats; ++repeat) {
    const double start = seconds();
    sample = {};
    for (const isa::Program& program : programs) {
      const Outcome outcome = simulate(program, machine, timing, inputs, options);
      if (outcome.status != Status::done) {
        std::printf("%s\n", outcome.faults.empty() ? "not done" : outcome.faults[0].text.c_str());
      }
      sample.instructions += instructions(program);
      sample.tensor_cycles +=
          static_cast<double>(outcome.report.total.count()) / timing.tensor_ticks;
    }
    best = std::min(best, seconds() - start);
  }
  sample.time = best;
  return sample;
}

void print(const std::string& name, const Sample& sample) {
  std::printf("%-52s %9zu instructions %8.3f s %7.2f M instructions/s %8.0f M tensor cycles/s\n",
              name.c_str(), sample.instructions, sample.time,
              static_cast<double>(sample.instructions) / sample.time / 1e6,
              sample.tensor_cycles / sample.time / 1e6);
  std::fflush(stdout);
}

Inputs random_inputs(const isa::Program& program) {
  Random random(1);
  Inputs inputs;
  for (const isa::HbmTensor& tensor : program.tensors) {
    if (tensor.role != isa::Role::input) {
      continue;
    }
    auto& array = inputs.arrays[tensor.name];
    array.resize(static_cast<std::size_t>(isa::storage_bytes(tensor)));
    const auto size = static_cast<std::size_t>(isa::size_of(tensor.dtype));
    for (std::size_t i = 0; i < array.size(); i += size) {
      isa::store_double(tensor.dtype, random.uniform() - 0.5, array.data() + i);
    }
  }
  return inputs;
}

// The products of one encoder layer of BERT-large over 512 tokens, 24 times.
std::vector<isa::Program> bert_large(const isa::Machine& machine) {
  std::vector<isa::Program> programs;
  for (int layer = 0; layer < 24; ++layer) {
    for (int i = 0; i < 4; ++i) {
      programs.push_back(
          blocked_product({1024, 512, 1024, isa::DType::bf16}, {1024, 512, 1024, 4}, machine));
    }
    programs.push_back(
        blocked_product({4096, 512, 1024, isa::DType::bf16}, {1024, 512, 1024, 4}, machine));
    programs.push_back(
        blocked_product({1024, 512, 4096, isa::DType::bf16}, {1024, 512, 1024, 4}, machine));
  }
  return programs;
}

// Rounds of ten instructions: a small load, four pairs of stationary load and multiply, an eviction. Two buffers, two banks.
isa::Program mixed_program(int rounds, const isa::Machine& machine) {
  using isa::DType;
  using isa::Engine;
  Kernel kernel("mixed", machine);
  const auto x = kernel.matrix("x", isa::Role::input, DType::bf16, 128, 1024);
  kernel.source("mixed");
  Counter loaded = kernel.counter();
  Counter multiplied = kernel.counter();
  Counter evicted = kernel.counter();
  for (int i = 0; i < rounds; ++i) {
    const std::int64_t buffer = i % 2 * 1024;
    kernel.load({x, 1024, 0, i % 2 * 512, 128, 512}, buffer, 0, {multiplied.at(i - 1)},
                loaded.signal());
    for (int k = 0; k < 4; ++k) {
      std::vector<isa::SemaphoreWait> waits;
      if (k == 0) {
        waits = {loaded.at(i + 1), evicted.at(i - 1)};
      }
      kernel.emit(Engine::tensor,
                  isa::LoadStationary{in_sbuf(DType::bf16, 128, 128, buffer + k * 256), 0},
                  std::move(waits));
      isa::Multiply op;
      op.moving = in_sbuf(DType::bf16, 128, 512, buffer);
      op.out = in_psum(128, 512, i % 2 * 2048);
      op.accumulate = k > 0;
      kernel.emit(Engine::tensor, op, {}, k == 3 ? multiplied.signal() : isa::SemaphoreId());
    }
    kernel.emit(Engine::vector,
                isa::Copy{in_psum(128, 512, i % 2 * 2048), in_sbuf(DType::f32, 128, 512, 8192)},
                {multiplied.now()}, evicted.signal());
  }
  return kernel.take();
}

// Largest memory that the process has had.
double peak_gigabytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1e6;
}

double eigen_product(int extent) {
  Eigen::MatrixXf a = Eigen::MatrixXf::Random(extent, extent);
  Eigen::MatrixXf b = Eigen::MatrixXf::Random(extent, extent);
  Eigen::MatrixXf c(extent, extent);
  const double start = seconds();
  c.noalias() = a * b;
  const double time = seconds() - start;
  std::printf("Eigen, %d^3 fp32, as this project is compiled: %.3f s (%g)\n", extent, time,
              static_cast<double>(c(0, 0)));
  return time;
}

struct Modes {
  Options time_only;
  Options checked;
  Options values;
  Options functional;

  Modes() {
    time_only.values = false;
    time_only.checks = false;
    checked = time_only;
    checked.checks = true;
    values = checked;
    values.values = true;
    functional = values;
    functional.timing = false;
    functional.checks = false;
  }
};

void print_programs(const std::string& name, const std::vector<isa::Program>& programs,
                    const std::string& machine_name, int repeats) {
  const isa::Machine machine = isa::read_machine(machine_name);
  const Timing timing = read_timing(machine_name);
  const Modes modes;
  const Sample plain = run(programs, machine, timing, modes.time_only, {}, repeats);
  print(name + ", time only", plain);
  const Sample checked = run(programs, machine, timing, modes.checked, {}, repeats);
  print(name + ", time and checks", checked);
  std::printf("checks cost a factor of %.2f; peak memory so far %.2f GB\n",
              checked.time / plain.time, peak_gigabytes());
}

void print_cube() {
  const isa::Machine machine = isa::read_machine("trn2");
  const Timing timing = read_timing("trn2");
  const Modes modes;
  std::vector<isa::Program> cube;
  cube.push_back(resident_product({2048, 2048, 2048, isa::DType::bf16}, {8, 4}, machine));
  print_programs("2048^3 bf16", cube, "trn2", 20);
  const Inputs inputs = random_inputs(cube[0]);
  print("2048^3 bf16, values, time and checks",
        run(cube, machine, timing, modes.values, inputs, 2));
  const Sample functional = run(cube, machine, timing, modes.functional, inputs, 2);
  print("2048^3 bf16, values alone", functional);
  std::printf("values alone over Eigen: %.2f\n", functional.time / eigen_product(2048));
}

}  // namespace

int main(int count, char** arguments) {
  prefer_large_pages();
  if (count == 3) {
    std::vector<isa::Program> one;
    one.push_back(isa::read_program(arguments[1]));
    print_programs(one[0].name, one, arguments[2], 10);
    return 0;
  }
  const isa::Machine machine = isa::read_machine("trn2");
  print_cube();
  print_programs("BERT-large products", bert_large(machine), "trn2", 5);
  std::vector<isa::Program> programs;
  programs.push_back(
      streamed_product({1024, 1024, 1024, isa::DType::bf16}, {1, 2, 4, 8, 100}, machine));
  print_programs("streamed 1024^3, 100 times", programs, "trn2", 5);
  for (const int rounds : {1000, 10'000, 100'000, 1'000'000}) {
    programs.clear();
    programs.push_back(mixed_program(rounds, machine));
    print_programs("mixed", programs, "trn2", rounds < 100'000 ? 10 : 1);
  }
  return 0;
}
